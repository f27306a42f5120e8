/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints random statements, separated by NUL:  sql_generate COUNT SEED [--mode=SQL_MODE] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random_tree.h"

int main(int argc, char **argv)
{
	struct sql_options opt = sql_options_default();
	struct arena arena = ARENA_INIT;
	struct buf out = BUF_INIT;

	if (argc < 3) {
		fprintf(stderr, "usage: sql_generate COUNT SEED [--mode=MODE]\n");
		return 2;
	}
	if (argc > 3 && strncmp(argv[3], "--mode=", 7) == 0)
		opt.mode = sql_mode_flags(span_str(argv[3] + 7));
	for (long i = 0; i < atol(argv[1]); i++) {
		struct random_tree r = {&arena, opt, strtoull(argv[2], NULL, 10) + (uint64_t)i, 5};

		sql_print(rt_stmt(&r), &opt, &out);
		fwrite(out.data, 1, out.len + 1, stdout);
		buf_clear(&out);
		arena_clear(&arena);
	}
	buf_release(&out);
	arena_release(&arena);
	return 0;
}
