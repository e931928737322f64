#include "tests/unit/seccomp/test_seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/mem.h"
#include "seccomp/seccomp_calls.h"
#include "seccomp/seccomp_command.h"
#include "seccomp/seccomp_told.h"
#include "tests/unit/seccomp/bpf.h"

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#endif

#define PASS      SECCOMP_RET_ALLOW
#define TELL(how) (SECCOMP_RET_USER_NOTIF | (uint32_t)(how) << SECCOMP_TOLD_SHIFT)

static uint32_t answer(uint32_t number, const uint64_t args[6])
{
	struct bpf_call call = { .arch = NATIVE, .number = number };

	memcpy(call.args, args, sizeof(call.args));
	return bpf_run(seccomp_told, seccomp_told_len, &call);
}

static const struct {
	uint32_t number;
	uint64_t args[6];
	enum seccomp_told told; /* NOTHING: allowed, and nobody is told */
} rows[] = {
	{ SYS_read, { 0 }, SECCOMP_TOLD_NOTHING },
	{ SYS_sendmsg, { 0 }, SECCOMP_TOLD_ADDRESS },
	{ SYS_sendmsg, { 3, 1, MSG_NOSIGNAL | MSG_DONTROUTE | MSG_CONFIRM }, SECCOMP_TOLD_ADDRESS },
	{ SYS_sendmmsg, { 0 }, SECCOMP_TOLD_ADDRESS },
	{ 463, { 0 }, SECCOMP_TOLD_CHANGE }, /* setxattrat */
	{ 464, { 0 }, SECCOMP_TOLD_NOTHING },
	{ 465, { 0 }, SECCOMP_TOLD_NOTHING },
	{ 466, { 0 }, SECCOMP_TOLD_CHANGE },
	{ 469, { 0 }, SECCOMP_TOLD_CHANGE }, /* file_setattr */
	{ SYS_openat, { 0, 0, O_RDONLY }, SECCOMP_TOLD_READ },
	{ SYS_openat, { 0, 0, O_RDONLY | O_CLOEXEC | O_DIRECTORY }, SECCOMP_TOLD_READ },
	{ SYS_openat, { 0, 0, O_WRONLY }, SECCOMP_TOLD_CHANGE },
	{ SYS_openat, { 0, 0, O_RDWR }, SECCOMP_TOLD_CHANGE },
	{ SYS_openat, { 0, 0, O_RDONLY | O_CREAT }, SECCOMP_TOLD_MAKE },
	{ SYS_openat, { 0, 0, O_RDONLY | O_TRUNC }, SECCOMP_TOLD_CHANGE },
	{ SYS_openat, { 0, 0, O_TMPFILE | O_WRONLY }, SECCOMP_TOLD_CHANGE },
	{ SYS_openat, { 0, 0, UINT64_C(1) << 32 }, SECCOMP_TOLD_READ },
	{ SYS_fchmodat, { 0, 0, 0755 }, SECCOMP_TOLD_CHANGE },
	{ SYS_openat, { 0, 0, 01, 02755 }, SECCOMP_TOLD_CHANGE },
	{ SYS_mkdirat, { 0 }, SECCOMP_TOLD_MAKE },
	{ SYS_unlinkat, { 0 }, SECCOMP_TOLD_CHANGE },
	{ SYS_utimensat, { 0, 1 }, SECCOMP_TOLD_CHANGE },
	{ SYS_utimensat, { 0, 0 }, SECCOMP_TOLD_NOTHING },
	{ SYS_connect, { 0 }, SECCOMP_TOLD_ADDRESS },
	{ SYS_sendto, { 0, 0, 0, 0, 1, 110 }, SECCOMP_TOLD_ADDRESS },
	{ SYS_sendto, { 0, 0, 0, 0, 0, 1 }, SECCOMP_TOLD_ADDRESS },
	{ SYS_sendto, { 0, 0, 0, 0, 1, UINT64_C(1) << 32 }, SECCOMP_TOLD_NOTHING },
	{ SYS_sendto, { 0 }, SECCOMP_TOLD_NOTHING },
	{ SYS_execve, { 0 }, SECCOMP_TOLD_PROGRAM },
	{ SYS_execveat, { 0 }, SECCOMP_TOLD_PROGRAM },
	{ SYS_exit_group, { 0 }, SECCOMP_TOLD_END },
	{ SYS_exit_group, { 1 }, SECCOMP_TOLD_END },
#ifdef __x86_64__
	{ SYS_chmod, { 0, 0755 }, SECCOMP_TOLD_CHANGE },
	{ SYS_open, { 0, O_WRONLY }, SECCOMP_TOLD_CHANGE },
	{ SYS_open, { 0, O_RDONLY }, SECCOMP_TOLD_READ },
	{ SYS_creat, { 0 }, SECCOMP_TOLD_MAKE },
	{ SYS_rename, { 0 }, SECCOMP_TOLD_MAKE },
#endif
};

START_TEST(told_answers)
{
	uint32_t want = rows[_i].told == SECCOMP_TOLD_NOTHING ? PASS : TELL(rows[_i].told);
	struct seccomp_call call;

	ck_assert_msg(answer(rows[_i].number, rows[_i].args) == want, "row %d: %#x", _i,
		      answer(rows[_i].number, rows[_i].args));
	seccomp_look_up((int)rows[_i].number, rows[_i].args, &call);
	if (rows[_i].told != SECCOMP_TOLD_NOTHING) {
		ck_assert_int_eq(call.told, rows[_i].told);
		ck_assert_int_eq(call.error, 0);
		ck_assert(call.name[0] != '\0');
	} else { /* not used; the answer is the safe one */
		ck_assert_int_eq(call.told, SECCOMP_TOLD_DENIAL);
		ck_assert_int_eq(call.error, ENOSYS);
	}
}
END_TEST

/* As strict as the other filter, whatever the call: what that refuses is refused here, or told of
 * as a denial with the same errno, which is also what the supervisor finds; nothing else is. */
START_TEST(nothing_denied_is_let_through)
{
	static const uint64_t values[] = { 0,          1,          2,          3,
					   16,         40,         0x5412,     0x10000000,
					   0x40000000, 0x7e020000, UINT64_MAX, 0x100000001 };
	size_t denials = 0;

	for (uint32_t number = 0; number < 1024; number++)
		for (size_t i = 0; i < ARRAY_SIZE(values) * ARRAY_SIZE(values); i++) {
			uint64_t a = values[i % ARRAY_SIZE(values)];
			uint64_t b = values[i / ARRAY_SIZE(values)];
			struct bpf_call call = { NATIVE, number, { a, b, a, b, a, b } };
			uint32_t plain = bpf_run(seccomp_command, seccomp_command_len, &call);
			uint32_t told = answer(number, call.args);
			bool is_told = (told & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_USER_NOTIF;
			struct seccomp_call what;

			if (!is_told) {
				ck_assert_msg(told == plain, "call %u: %#x, not %#x", number, told,
					      plain);
				continue;
			}
			seccomp_look_up((int)number, call.args, &what);
			ck_assert_uint_eq(what.told,
					  (told & SECCOMP_RET_DATA) >> SECCOMP_TOLD_SHIFT);
			ck_assert_uint_eq((uint32_t)what.error, told & SECCOMP_TOLD_ERRNO);
			if (what.told == SECCOMP_TOLD_ADDRESS) {
				ck_assert_uint_eq(plain, told); /* whatever is wished */
			} else if (plain == PASS) {
				ck_assert_int_ne(what.told, SECCOMP_TOLD_DENIAL);
				ck_assert_int_eq(what.error, 0);
			} else {
				denials++;
				ck_assert_int_eq(what.told, SECCOMP_TOLD_DENIAL);
				ck_assert_uint_eq(plain, SECCOMP_RET_ERRNO | (uint32_t)what.error);
			}
		}
	ck_assert_uint_gt(denials, 1000);
}
END_TEST

START_TEST(foreign_abi_kills_too)
{
	for (uint32_t number = 0; number < 500; number++) {
		struct bpf_call call = { .arch = AUDIT_ARCH_I386, .number = number };

		ck_assert_uint_eq(bpf_run(seccomp_told, seccomp_told_len, &call),
				  SECCOMP_RET_KILL_PROCESS);
	}
}
END_TEST

TCase *test_told(void)
{
	TCase *tcase = tcase_create("told");

	tcase_add_loop_test(tcase, told_answers, 0, ARRAY_SIZE(rows));
	tcase_add_test(tcase, nothing_denied_is_let_through);
	tcase_add_test(tcase, foreign_abi_kills_too);
	return tcase;
}
