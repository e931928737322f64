#include "tests/unit/exec/test_exec.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "exec/notify/refusal.h"
#include "tests/unit/exec/rig.h"

static const struct {
	uint32_t step;
	int32_t value;
	const char *detail;
	int code;
	const char *want;
} steps[] = {
	{ WIRE_STEP_IDS, EPERM, "/proc/self/uid_map", -EPERM,
	  "cannot make the sandbox: mapping user and group ids failed: /proc/self/uid_map: "
	  "Operation not "
	  "permitted; " },
	{ WIRE_STEP_CWD, EACCES, "/a", -EACCES,
	  "cannot make the sandbox: entering the working directory failed: /a: Permission denied" },
	{ WIRE_STEP_WRITABLE, EACCES, "/a", -EACCES,
	  "; the sandbox has only the rights of this user" },
	{ WIRE_STEP_LANDLOCK, ENOSYS, "", -ENOSYS, "use a pipe" },
	{ WIRE_STEP_LISTENERS, ENOMEM, "", -ENOMEM,
	  "opening the gate's ports failed: Cannot allocate memory" },
	/* what only a broken or hostile init would send */
	{ WIRE_STEPS, EPERM, "", -EPERM, "an unknown step failed" },
	{ UINT32_MAX, 0, "", -EPROTO, "an unknown step failed" },
	{ WIRE_STEP_CWD, -5, "", -EPROTO, "Protocol error" },
	{ WIRE_STEP_CWD, INT32_MAX, "", -EPROTO, "Protocol error" },
	{ WIRE_STEP_CWD, ENOENT, "\x1b[2Ja\n\x80", -ENOENT, "\\x1b[2Ja\\x0a\\x80" },
};

START_TEST(says_which_step_and_why)
{
	struct wire_message message = { .type = WIRE_FAILED,
					.step = steps[_i].step,
					.value = steps[_i].value };
	struct err why = { 0 };

	memcpy(message.detail, steps[_i].detail, strlen(steps[_i].detail));
	ck_assert_int_eq(refusal_of_step(&why, &message), steps[_i].code);
	ck_assert_msg(strstr(why.text, steps[_i].want), "%s", why.text);
}
END_TEST

START_TEST(has_words_for_every_step)
{
	for (uint32_t step = 0; step < WIRE_STEPS; step++) {
		struct wire_message message = { .step = step, .value = EINVAL };
		struct err why = { 0 };

		(void)refusal_of_step(&why, &message);
		ck_assert_ptr_null(strstr(why.text, "unknown"));
	}
}
END_TEST

START_TEST(a_detail_without_end_is_cut)
{
	struct wire_message message = { .step = WIRE_STEP_CWD, .value = ENOENT };
	struct err why = { 0 };

	memset(message.detail, 'x', sizeof(message.detail));
	(void)refusal_of_step(&why, &message);
	ck_assert_uint_lt(strlen(why.text), 400);
}
END_TEST

static const struct {
	int error;
	const char *want;
} clones[] = {
	{ EPERM, "user namespaces" },
	{ ENOSYS, "Linux 5.12" },
	{ EUSERS, "namespaces are nested too deep" },
	{ EAGAIN, "ulimit -u" },
	{ EINVAL, "built without" },
	{ ENOSPC, "too many namespaces" },
	{ ENOMEM, "nothing was run" },
};

START_TEST(says_why_no_namespace)
{
	struct err why = { 0 };

	ck_assert_int_eq(refusal_of_clone(&why, clones[_i].error), -clones[_i].error);
	ck_assert_msg(strstr(why.text, clones[_i].want), "%s", why.text);
	ck_assert_ptr_nonnull(strstr(why.text, strerror(clones[_i].error)));
}
END_TEST

static void write_file(const char *path, const char *text)
{
	auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

/* In a user namespace of our own, so that the limit is ours to set. */
START_TEST(names_the_limit_that_is_zero)
{
	struct rig rig;

	rig_init(&rig, _i);
	auto_free char *uids = mem_printf("%u %u 1", geteuid(), geteuid());
	auto_free char *gids = mem_printf("%u %u 1", getegid(), getegid());

	ck_assert_int_eq(unshare(CLONE_NEWUSER), 0);
	write_file("/proc/self/uid_map", uids);
	write_file("/proc/self/setgroups", "deny");
	write_file("/proc/self/gid_map", gids);
	write_file("/proc/sys/user/max_user_namespaces", "0");
	ck_assert(!rig_start(&rig, (const char *const[]){ "true", NULL }));
	ck_assert_msg(strstr(rig.text, "sysctl user.max_user_namespaces="), "%s", rig.text);
	ck_assert_uint_eq(rig.egress_count, 0);
	rig_done(&rig);
}
END_TEST

TCase *test_refusal(void)
{
	TCase *tcase = tcase_create("refusal");

	tcase_add_loop_test(tcase, says_which_step_and_why, 0, ARRAY_SIZE(steps));
	tcase_add_test(tcase, has_words_for_every_step);
	tcase_add_test(tcase, a_detail_without_end_is_cut);
	tcase_add_loop_test(tcase, says_why_no_namespace, 0, ARRAY_SIZE(clones));
	tcase_add_loop_test(tcase, names_the_limit_that_is_zero, 0, RIG_USERS);
	return tcase;
}
