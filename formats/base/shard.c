/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/shard.h"

#include <string.h>

#include "base/text.h"

bool shard_parse(const char *text, struct shard *out, struct err *err)
{
	const char *slash = text ? strchr(text, '/') : NULL;
	uint64_t number, of;

	*out = (struct shard){0, 0};
	if (!text)
		return true;
	if (!slash || !text_number(span_of(text, (size_t)(slash - text)), &number) || !text_number(span_str(slash + 1), &of))
		return err_set(err, ERR_USAGE, "--shard %s: give the number of this share and how many there are, as 2/7", text);
	if (number < 1 || number > of || of > SHARDS_MAX)
		return err_set(err, ERR_USAGE, "--shard %s: shares count from 1/N to N/N, and N is at most %d", text, SHARDS_MAX);
	*out = (struct shard){(uint32_t)number, (uint32_t)of};
	return true;
}
