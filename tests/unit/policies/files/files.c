#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "tests/unit/policies/policies_test.h"
#include "policies/policies_tools.h"

static char folder[64]; /* of this test: every test is a process of its own */

static void enter_folder(void)
{
	(void)umask(022);
	(void)snprintf(folder, sizeof(folder), "/tmp/test-policies.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
}

static void remove_folder(void)
{
	auto_free char *command = mem_printf("rm -rf '%s'", folder);

	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(system(command), 0);
}

static void write_file(const char *path, const char *text)
{
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fd_write_all(fd, text, strlen(text)), 0);
}

static void make_folder(const char *path)
{
	ck_assert_int_eq(mkdir(path, 0755), 0);
}

/* Loads "main.policy": returns what policy_load() said; the errors must have @words (NULL: there
 * are none). */
static int load_main(const char *words, size_t *ret_rules)
{
	struct policy *policy = policy_new();
	int r = policy_load(policy, "main.policy");

	if (r == 0)
		r = policy_finish(policy);
	if (words)
		ck_assert_msg(strstr(policy_errors(policy), words) != NULL, "wanted %s\ngot %s",
			      words, policy_errors(policy));
	else
		ck_assert_msg(r == 0, "%s", policy_errors(policy));
	ck_assert_int_eq(r == 0, policy_error_count(policy) == 0);
	if (ret_rules)
		*ret_rules = policy_rule_count(policy);
	policy_free(policy);
	return r;
}

START_TEST(a_file_is_read)
{
	struct policy *policy = policy_new();
	struct policy_verdict verdict;

	write_file("main.policy", "version 1\nallow a.test");
	auto_free char *path = mem_printf("%s/main.policy", folder);
	auto_free char *want = mem_printf("%s/main.policy:2: allow a.test", folder);

	ck_assert_int_eq(policy_load(policy, path), 0);
	ck_assert_int_eq(policy_finish(policy), 0);
	policies_test_decide(policy, "a.test", &verdict);
	ck_assert_str_eq(verdict.rule, want);
	policy_free(policy);
}
END_TEST

START_TEST(a_missing_file)
{
	ck_assert_int_eq(load_main("main.policy: error: cannot open", NULL), -ENOENT);
}
END_TEST

START_TEST(a_missing_folder)
{
	struct policy *policy = policy_new();

	ck_assert_int_eq(policy_load(policy, "nowhere/main.policy"), -ENOENT);
	ck_assert_uint_eq(policy_error_count(policy), 1);
	policy_free(policy);
}
END_TEST

START_TEST(nul_in_a_file)
{
	auto_close int fd = open("main.policy", O_WRONLY | O_CREAT, 0644);

	ck_assert_int_eq(fd_write_all(fd, "allow a.test\0\nallow b.test\n", 27), 0);
	ck_assert_int_eq(load_main("main.policy:1:13: error: the line contains a NUL byte", NULL),
			 -EINVAL);
}
END_TEST

START_TEST(others_can_write)
{
	write_file("main.policy", "allow a.test\n");
	ck_assert_int_eq(chmod("main.policy", 0664), 0);
	ck_assert_int_eq(load_main("main.policy: error: other users can write it (mode 664)", NULL),
			 -EPERM);
	ck_assert_int_eq(chmod("main.policy", 0646), 0);
	ck_assert_int_eq(load_main("main.policy: error: other users can write it (mode 646)", NULL),
			 -EPERM);
	ck_assert_int_eq(chmod("main.policy", 0600), 0);
	ck_assert_int_eq(load_main(NULL, NULL), 0);
}
END_TEST

START_TEST(others_can_write_the_folder)
{
	write_file("main.policy", "allow a.test\n");
	ck_assert_int_eq(chmod(".", 0777), 0);
	ck_assert_int_eq(load_main("other users can write its folder (mode 777)", NULL), -EPERM);
	ck_assert_int_eq(chmod(".", 01777), 0); /* sticky: nobody else can replace it */
	ck_assert_int_eq(load_main(NULL, NULL), 0);
}
END_TEST

START_TEST(another_owner)
{
	write_file("main.policy", "allow a.test\n");
	if (chown("main.policy", 65534, 65534) != 0) {
		/* Only root can give a file away: the owner check is then met by a file of root's,
		 * which is fine. */
		ck_assert_int_eq(errno, EPERM);
		return;
	}
	ck_assert_int_eq(load_main("belongs to another user (uid 65534)", NULL), -EPERM);
	ck_assert_int_eq(chown("main.policy", 0, 0), 0);
	ck_assert_int_eq(chown(".", 65534, 65534), 0);
	ck_assert_int_eq(load_main("its folder belongs to another user", NULL), -EPERM);
	ck_assert_int_eq(chown(".", 0, 0), 0);
}
END_TEST

START_TEST(not_a_regular_file)
{
	ck_assert_int_eq(mkfifo("main.policy", 0600), 0);
	ck_assert_int_eq(load_main("main.policy: error: it is not a regular file", NULL), -EINVAL);
	ck_assert_int_eq(unlink("main.policy"), 0);
	make_folder("main.policy");
	ck_assert_int_eq(load_main("main.policy: error: it is not a regular file", NULL), -EINVAL);
}
END_TEST

START_TEST(a_file_that_is_too_large)
{
	write_file("main.policy", "allow a.test\n");
	ck_assert_int_eq(truncate("main.policy", (off_t)POLICY_MAX_BYTES + 1),
			 0); /* sparse: takes no room */
	ck_assert_int_eq(load_main("main.policy: error: the file is larger than 256 MiB", NULL),
			 -E2BIG);
}
END_TEST

START_TEST(a_project_file_that_is_too_large)
{
	struct policy *policy = policy_new();

	write_file("main.policy", "allow a.test\n");
	ck_assert_int_eq(truncate("main.policy", ((off_t)4 << 20) + 1), 0);
	ck_assert_int_eq(policy_load_layer(policy, "main.policy", POLICY_PROJECT), -E2BIG);
	ck_assert_ptr_nonnull(strstr(policy_errors(policy),
				     "main.policy: error: the file is larger than 4 MiB, the "
				     "limit for a project's file"));
	policy_free(policy);
}
END_TEST

START_TEST(a_symbolic_link)
{
	make_folder("elsewhere");
	make_folder("here");
	write_file("elsewhere/real.policy", "allow a.test\n");
	write_file("here/real.policy", "allow a.test\n");
	ck_assert_int_eq(symlink("here/real.policy", "main.policy"), 0);
	ck_assert_int_eq(load_main(NULL, NULL), 0); /* stays below its folder */
	ck_assert_int_eq(unlink("main.policy"), 0);
	ck_assert_int_eq(symlink("../elsewhere/real.policy", "here/main.policy"), 0);
	ck_assert_int_eq(chdir("here"), 0);
	ck_assert_int_eq(
		load_main(
			"main.policy: error: cannot open it: the path leads outside of its folder",
			NULL),
		-EXDEV);
	ck_assert_int_eq(unlink("main.policy"), 0);
	ck_assert_int_eq(symlink("/etc/passwd", "main.policy"), 0);
	ck_assert_int_eq(load_main("the path leads outside of its folder", NULL), -EXDEV);
	ck_assert_int_eq(unlink("main.policy"), 0);
	ck_assert_int_eq(symlink("main.policy", "main.policy"), 0);
	ck_assert_int_eq(load_main("a symbolic link", NULL), -ELOOP);
}
END_TEST

START_TEST(includes)
{
	size_t rules;

	make_folder("sub");
	write_file("main.policy",
		   "version 1\ndefault ask\ninclude \"team.policy\"\ninclude \"sub/x.policy\"\n"
		   "expect deny c.test\nexpect allow a.test\nexpect allow b.test\n");
	write_file("team.policy", "version 1\nallow a.test\ndeny c.test\n");
	write_file("sub/x.policy", "allow b.test\ninclude \"y.policy\"\n");
	write_file("sub/y.policy", "allow c.test");
	ck_assert_int_eq(load_main(NULL, &rules), 0);
	ck_assert_uint_eq(rules, 4);
}
END_TEST

START_TEST(errors_in_includes_have_their_own_place)
{
	make_folder("sub");
	write_file("main.policy", "include \"sub/x.policy\"\nnope\n");
	write_file("sub/x.policy", "version 1\n include \"y.policy\"\n");
	write_file("sub/y.policy", "\n\nallow *.com\n");
	ck_assert_int_eq(
		load_main("sub/y.policy:3:7: error: the wildcard matches a public suffix", NULL),
		-EINVAL);
	ck_assert_int_eq(load_main("main.policy:2:1: error: unknown statement \"nope\"", NULL),
			 -EINVAL);
}
END_TEST

static const struct {
	const char *line, *words;
} escapes[] = {
	{ "include \"../outside.policy\"",
	  "main.policy:1:9: error: the include leads outside of the folder of this file" },
	{ "include \"sub/../../outside.policy\"",
	  "the include leads outside of the folder of this file" },
	{ "include \"..\"", "the include leads outside of the folder of this file" },
	{ "include \"/etc/passwd\"", "the path is absolute" },
	{ "include \"\"", "the include names no file" },
	{ "include \"missing.policy\"", "main.policy:1:9: error: cannot open: No such file" },
	{ "include \"sub\"", "main.policy:1:9: error: it is not a regular file" },
	{ "include \"sub/\"", "main.policy:1:9: error:" },
	{ "include \"link.policy\"",
	  "main.policy:1:9: error: cannot open it: the path leads outside of its folder" },
	{ "include \"absolute.policy\"",
	  "main.policy:1:9: error: cannot open it: the path leads outside of its folder" },
	{ "include \"out/outside.policy\"",
	  "main.policy:1:9: error: cannot open it: the path leads outside of its folder" },
	{ "include \"sub/up.policy\"",
	  "sub/up.policy:1:9: error: the include leads outside of the folder of this file" },
	{ "include \"loose.policy\"", "main.policy:1:9: error: other users can write it" },
	{ "include \"loose/x.policy\"",
	  "main.policy:1:9: error: other users can write its folder" },
	{ "include \"fifo\"", "main.policy:1:9: error: it is not a regular file" },
	{ "include \"main.policy\"", "main.policy:1:9: error: the include is circular" },
	{ "include \"back.policy\"", "back.policy:1:9: error: the include is circular" },
};

START_TEST(include_refused)
{
	write_file("outside.policy", "allow evil.test\n");
	make_folder("in");
	ck_assert_int_eq(chdir("in"), 0);
	make_folder("sub");
	make_folder("loose");
	write_file("sub/up.policy", "include \"../sub/up2.policy\"\n");
	write_file("loose/x.policy", "allow a.test\n");
	ck_assert_int_eq(chmod("loose", 0777), 0);
	write_file("loose.policy", "allow a.test\n");
	ck_assert_int_eq(chmod("loose.policy", 0666), 0);
	write_file("back.policy", "include \"main.policy\"\n");
	ck_assert_int_eq(symlink("../outside.policy", "link.policy"), 0);
	ck_assert_int_eq(symlink("/etc/passwd", "absolute.policy"), 0);
	ck_assert_int_eq(symlink("..", "out"), 0);
	ck_assert_int_eq(mkfifo("fifo", 0600), 0);
	write_file("main.policy", escapes[_i].line);
	ck_assert_int_lt(load_main(escapes[_i].words, NULL), 0);
}
END_TEST

/* As under a container's filter that does not know openat2(2) yet. For this test's process only. */
static void forbid_openat2(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = ARRAY_SIZE(filter), .filter = filter };

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static const struct {
	const char *line, *words; /* NULL: read */
} walks[] = {
	{ "include \"team.policy\"", NULL },
	{ "include \"sub/x.policy\"", NULL },
	{ "include \"./sub//x.policy\"", NULL },
	{ "include \"link.policy\"",
	  "cannot open it: it is a symbolic link, which may not be followed" },
	{ "include \"inner.policy\"",
	  "cannot open it: it is a symbolic link, which may not be followed" },
	{ "include \"out/outside.policy\"", "main.policy:1:9: error: cannot open" },
	{ "include \"missing.policy\"", "cannot open: No such file" },
	{ "include \"../outside.policy\"", "the include leads outside of the folder of this file" },
};

START_TEST(without_openat2_no_link_is_followed)
{
	write_file("outside.policy", "allow evil.test\n");
	make_folder("in");
	ck_assert_int_eq(chdir("in"), 0);
	make_folder("sub");
	write_file("team.policy", "allow a.test\n");
	write_file("sub/x.policy", "allow a.test\n");
	ck_assert_int_eq(symlink("../outside.policy", "link.policy"), 0);
	ck_assert_int_eq(symlink("team.policy", "inner.policy"), 0);
	ck_assert_int_eq(symlink("..", "out"), 0);
	write_file("main.policy", walks[_i].line);
	forbid_openat2();
	if (walks[_i].words)
		ck_assert_int_lt(load_main(walks[_i].words, NULL), 0);
	else
		ck_assert_int_eq(load_main(NULL, NULL), 0);
}
END_TEST

START_TEST(includes_have_a_depth)
{
	char name[32], line[64];

	write_file("main.policy", "include \"1.policy\"\n");
	for (int i = 1; i <= 9; i++) {
		(void)snprintf(name, sizeof(name), "%d.policy", i);
		(void)snprintf(line, sizeof(line), "include \"%d.policy\"\n", i + 1);
		write_file(name, i == 8 ? "allow a.test\n" : line);
	}
	ck_assert_int_eq(load_main(NULL, NULL), 0);
	write_file("8.policy", "include \"9.policy\"\n");
	write_file("9.policy", "allow a.test\n");
	ck_assert_int_eq(
		load_main("8.policy:1:9: error: includes are nested more than 8 deep", NULL),
		-EINVAL);
}
END_TEST

/* Each file includes the next twice: without "read once" it would be two to the power of the depth.
 */
START_TEST(a_file_is_read_once)
{
	size_t rules;

	write_file("main.policy",
		   "include \"a.policy\"\ninclude \"a.policy\"\ninclude \"./a.policy\"\n");
	write_file("a.policy", "allow a.test\ninclude \"b.policy\"\ninclude \"b.policy\"\n");
	write_file("b.policy", "allow b.test\n");
	ck_assert_int_eq(load_main(NULL, &rules), 0);
	ck_assert_uint_eq(rules, 2);
}
END_TEST

START_TEST(files_are_counted)
{
	auto_free char *text = mem_new(300 * 32);
	size_t len = 0;

	for (int i = 0; i < 300; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "%d.policy", i);
		write_file(name, "# nothing\n");
		len += (size_t)snprintf(text + len, 32, "include \"%s\"\n", name);
	}
	write_file("main.policy", text);
	ck_assert_int_eq(
		load_main("main.policy:256:9: error: the policy has more than 256 files", NULL),
		-EINVAL);
}
END_TEST

TCase *files_cases(void)
{
	TCase *cases = tcase_create("files");

	tcase_set_timeout(cases, 60);
	tcase_add_checked_fixture(cases, enter_folder, remove_folder);
	tcase_add_test(cases, a_file_is_read);
	tcase_add_test(cases, a_missing_file);
	tcase_add_test(cases, a_missing_folder);
	tcase_add_test(cases, nul_in_a_file);
	tcase_add_test(cases, others_can_write);
	tcase_add_test(cases, others_can_write_the_folder);
	tcase_add_test(cases, another_owner);
	tcase_add_test(cases, not_a_regular_file);
	tcase_add_test(cases, a_file_that_is_too_large);
	tcase_add_test(cases, a_project_file_that_is_too_large);
	tcase_add_test(cases, a_symbolic_link);
	tcase_add_test(cases, includes);
	tcase_add_test(cases, errors_in_includes_have_their_own_place);
	tcase_add_loop_test(cases, include_refused, 0, ARRAY_SIZE(escapes));
	tcase_add_loop_test(cases, without_openat2_no_link_is_followed, 0, ARRAY_SIZE(walks));
	tcase_add_test(cases, includes_have_a_depth);
	tcase_add_test(cases, a_file_is_read_once);
	tcase_add_test(cases, files_are_counted);
	return cases;
}
