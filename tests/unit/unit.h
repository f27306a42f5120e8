/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The main function of a Check program: a table of test functions in, TAP on standard output.
 *
 *	START_TEST(something_holds) { ck_assert(...); } END_TEST
 *	UNIT_MAIN("module", something_holds, another)
 *
 * CK_FORK=no runs without forking, for a debugger or valgrind.
 */
#ifndef UNIT_H
#define UNIT_H

#include <check.h>
#include <stdlib.h>

/* An assertion for inner loops: ck_assert writes to a file each time it is passed. */
#define UNIT_REQUIRE(cond)                                                                         \
	do {                                                                                       \
		if (!(cond))                                                                       \
			ck_abort_msg("%s", #cond);                                                 \
	} while (0)

static int unit_run(const char *name, const TTest *const *tests, size_t count)
{
	Suite *suite = suite_create(name);
	SRunner *runner = srunner_create(suite);
	int failed;

	for (size_t i = 0; i < count; i++) {
		TCase *tcase = tcase_create(tests[i]->name);

		tcase_set_timeout(tcase, 280);
		tcase_add_test(tcase, tests[i]);
		suite_add_tcase(suite, tcase);
	}
	srunner_set_tap(runner, "-");
	srunner_run_all(runner, CK_SILENT);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#define UNIT_MAIN(name, ...)                                                                     \
	int main(void)                                                                           \
	{                                                                                        \
		const TTest *const tests[] = {__VA_ARGS__};                                      \
		return unit_run(name, tests, sizeof(tests) / sizeof(tests[0]));                  \
	}

#endif
