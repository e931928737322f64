#include "tests/unit/base/test_base.h"
#include "base/process/user.h"

START_TEST(root_is_found)
{
	struct user user = { .uid = 1 };

	ck_assert(user_find(0, &user));
	ck_assert_str_eq(user.name, "root");
	ck_assert_int_eq(user.home[0], '/');
	ck_assert(user_find_named("root", &user));
	ck_assert_uint_eq(user.uid, 0);
}
END_TEST

/* The users that /etc/passwd does not have: those of a container, or of other name services. */
START_TEST(others_are_not)
{
	struct user user = { .uid = 7 };

	ck_assert(!user_find(4000000001, &user));
	ck_assert(!user_find_named("nobody-at-all", &user));
	ck_assert(!user_find_named("", &user));
	ck_assert_uint_eq(user.uid, 7);
}
END_TEST

TCase *test_user(void)
{
	TCase *cases = tcase_create("user");

	tcase_add_test(cases, root_is_found);
	tcase_add_test(cases, others_are_not);
	return cases;
}
