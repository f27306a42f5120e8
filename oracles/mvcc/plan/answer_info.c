/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mvcc/plan/answer_info.h"

#include <string.h>

/* "Rows matched: 2  Changed: 1  Warnings: 0" */
bool info_number(struct span info, const char *word, uint64_t *out)
{
	size_t len = strlen(word);

	for (size_t i = 0; info.ptr && i + len < info.len; i++) {
		if (memcmp(info.ptr + i, word, len) != 0)
			continue;
		*out = 0;
		for (i += len; i < info.len && (info.ptr[i] == ' ' || info.ptr[i] == ':'); i++) {
		}
		for (; i < info.len && info.ptr[i] >= '0' && info.ptr[i] <= '9'; i++)
			*out = *out * 10 + (uint64_t)(info.ptr[i] - '0');
		return true;
	}
	return false;
}
