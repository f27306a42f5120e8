/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The language of workload models, on arbitrary bytes.  What was read survives printing and reading again. */
#include "base/bug.h"
#include "workload/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf first = BUF_INIT, second = BUF_INIT;
	struct model m, again;
	struct err err;

	if (!model_parse(&m, span_of(data, size), "fuzz", &err)) {
		CHECK(err.code != ERR_NONE && err.text[0]);
		return 0;
	}
	model_print(&m, &first);
	CHECK(model_parse(&again, buf_span(&first), "fuzz", &err));
	model_print(&again, &second);
	CHECK(span_eq(buf_span(&first), buf_span(&second)));
	buf_release(&first);
	buf_release(&second);
	return 0;
}
