/* check: the part of Check that a few unit tests need, for programs of another machine, for which
 * no library is there. A case runs when it is added; the first failure ends the program. */
#pragma once

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef const char TCase; /* its name */

#define START_TEST(name) static void name(int _i)
#define END_TEST

#define tcase_create(text)          (text)
#define tcase_add_test(tcase, test) tcase_add_loop_test(tcase, test, 0, 1)
#define tcase_add_loop_test(tcase, test, from, to)                                                 \
	do {                                                                                       \
		for (int case_ = (from); case_ < (int)(to); case_++)                               \
			test(case_);                                                               \
		(void)printf("%s: %s: %d\n", tcase, #test, (int)(to) - (from));                    \
	} while (0)

#define ck_assert_msg(holds, ...)                                                                  \
	do {                                                                                       \
		if (!(holds)) {                                                                    \
			(void)printf("%s:%d: %s: ", __FILE__, __LINE__, #holds);                   \
			(void)printf(__VA_ARGS__);                                                 \
			(void)printf("\n");                                                        \
			exit(EXIT_FAILURE);                                                        \
		}                                                                                  \
	} while (0)
#define ck_assert(holds) ck_assert_msg(holds, "%s", "")
#define ck_assert_is(a, how, b)                                                                    \
	ck_assert_msg((a)how(b), "%" PRIdMAX " and %" PRIdMAX, (intmax_t)(a), (intmax_t)(b))
#define ck_assert_int_eq(a, b)  ck_assert_is(a, ==, b)
#define ck_assert_int_ne(a, b)  ck_assert_is(a, !=, b)
#define ck_assert_uint_eq(a, b) ck_assert_is(a, ==, b)
#define ck_assert_uint_gt(a, b) ck_assert_is(a, >, b)
