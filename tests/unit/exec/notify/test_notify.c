#include "tests/unit/exec/test_exec.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "exec/exec_sandbox.h"
#include "tests/unit/exec/rig.h"
#include "tests/unit/exec/words.h"

/* What was refused to a command, from what refused it. */

#define TOLD_MAX 300

static struct {
	enum exec_refused what;
	int error;
	char call[32], path[512], program[EXEC_PROGRAM_MAX];
} told[TOLD_MAX];
static size_t told_count;

static void on_refused(const struct exec_evidence *evidence, void *arg)
{
	ck_assert_uint_lt(told_count, TOLD_MAX);
	ck_assert_int_gt(evidence->pid, 0);
	told[told_count].what = evidence->what;
	told[told_count].error = evidence->error;
	(void)snprintf(told[told_count].call, sizeof(told[0].call), "%s", evidence->call);
	(void)snprintf(told[told_count].path, sizeof(told[0].path), "%s", evidence->path);
	(void)snprintf(told[told_count].program, sizeof(told[0].program), "%s", evidence->program);
	told_count++;
}

static void init(struct rig *rig, int user)
{
	rig_init(rig, user);
	told_count = 0;
	rig->config.on_refused = on_refused;
}

static const char *all_told(void)
{
	static char text[4096];
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < told_count && len < sizeof(text) - 600; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%d %d %s %s; ",
					(int)told[i].what, told[i].error, told[i].call,
					told[i].path);
	return text;
}

#define PYTHON_CALL(arguments)                                                                     \
	"OUT=$OUT /usr/bin/python3 -c 'import ctypes, os, sys\n"                                   \
	"P = os.environ[\"OUT\"].encode() + b\"/there\"\n"                                         \
	"sys.exit(ctypes.CDLL(None).syscall(" arguments ") != 0)'"

/* What is tried, where OUT is a directory that is not the command's, KEPT one that stays read-only
 * in its own, and HIDDEN one that it may not see. */
static const struct {
	const char *script;
	enum exec_refused what;
	int error;
	const char *call, *path; /* behind OUT, KEPT or HIDDEN, which is its first word */
} refusals[] = {
	{ ": >$OUT/new", EXEC_REFUSED_WRITE, EROFS, "openat", "OUT/new" },
	{ ": >>$OUT/there", EXEC_REFUSED_WRITE, EROFS, "openat", "OUT/there" },
	{ "cd $OUT; : >new", EXEC_REFUSED_WRITE, EROFS, "openat", "OUT/new" },
	{ "cd $OUT/sub; : >../new", EXEC_REFUSED_WRITE, EROFS, "openat", "OUT/new" },
	{ "ln -s $OUT link; : >link/new", EXEC_REFUSED_WRITE, EROFS, "openat", "OUT/new" },
	{ "ln -s $OUT/there link; : >link", EXEC_REFUSED_WRITE, EROFS, "openat", "OUT/there" },
	{ "mkdir $OUT/new", EXEC_REFUSED_WRITE, EROFS, "mkdir", "OUT/new" },
	{ "mkdir -p $OUT/new/deep", EXEC_REFUSED_WRITE, EROFS, "mkdir", "OUT/new" },
	{ "rm $OUT/there", EXEC_REFUSED_WRITE, EROFS, "unlinkat", "OUT/there" },
	{ "rmdir $OUT/sub", EXEC_REFUSED_WRITE, EROFS, "rmdir", "OUT/sub" },
	{ "mv $OUT/there .", EXEC_REFUSED_WRITE, EROFS, "renameat2", "OUT/there" },
	{ "ln -s x $OUT/new", EXEC_REFUSED_WRITE, EROFS, "symlinkat", "OUT/new" },
	{ "chmod 600 $OUT/there", EXEC_REFUSED_WRITE, EROFS, "fchmodat", "OUT/there" },
	{ "touch -d 2001-01-01 $OUT/there", EXEC_REFUSED_WRITE, EROFS, "openat", "OUT/there" },
	{ "mkfifo $OUT/new", EXEC_REFUSED_WRITE, EROFS, "mknodat", "OUT/new" },
	{ ": >$KEPT/new", EXEC_REFUSED_WRITE, EROFS, "openat", "KEPT/new" },
	{ "rm $KEPT/there", EXEC_REFUSED_WRITE, EROFS, "unlinkat", "KEPT/there" },
	{ ": >$HIDDEN/there", EXEC_REFUSED_WRITE, EACCES, "openat", "HIDDEN/there" },
	{ "cat $HIDDEN/there", EXEC_REFUSED_READ, EACCES, "openat", "HIDDEN/there" },
	{ "cd kept/..; cat hidden/there", EXEC_REFUSED_READ, EACCES, "openat", "HIDDEN/there" },
	/* Through links of the kernel's own. */
	{ ": >/proc/self/root$OUT/new", EXEC_REFUSED_WRITE, EROFS, "openat", "OUT/new" },
	{ "cd $OUT; : >/proc/self/cwd/new", EXEC_REFUSED_WRITE, EROFS, "openat", "OUT/new" },
	{ "cd $OUT; : >/proc/$$/cwd/sub/../new", EXEC_REFUSED_WRITE, EROFS, "openat", "OUT/new" },
	{ "exec 9<$OUT; : >/proc/self/fd/9/new", EXEC_REFUSED_WRITE, EROFS, "openat", "OUT/new" },
	{ "exec 9<$OUT; : >/dev/fd/9/new", EXEC_REFUSED_WRITE, EROFS, "openat", "OUT/new" },
	{ "exec 9<$OUT/there; : >>/dev/fd/9", EXEC_REFUSED_WRITE, EROFS, "openat", "OUT/there" },
	{ "ln -s /proc/self/root l; : >l$OUT/new", EXEC_REFUSED_WRITE, EROFS, "openat", "OUT/new" },
	{ "ln -s /proc/thread-self/cwd l; cd $OUT/sub; : >$OLDPWD/l/../new", EXEC_REFUSED_WRITE,
	  EROFS, "openat", "OUT/new" },
	{ "cat /proc/self/root$HIDDEN/there", EXEC_REFUSED_READ, EACCES, "openat", "HIDDEN/there" },
	{ "cat /proc/1/root$HIDDEN/there", EXEC_REFUSED_READ, EACCES, "openat", "HIDDEN/there" },
	{ "cat /proc/self/cwd/hidden/there", EXEC_REFUSED_READ, EACCES, "openat", "HIDDEN/there" },
	{ "cat /proc/thread-self/cwd/hidden/there", EXEC_REFUSED_READ, EACCES, "openat",
	  "HIDDEN/there" },
	/* Attributes, by calls that libraries do not know yet. */
	{ PYTHON_CALL("463, -100, P, 0, b\"user.x\", b\"\", 16"), EXEC_REFUSED_WRITE, EROFS,
	  "setxattrat", "OUT/there" },
	{ PYTHON_CALL("466, -100, P, 0, b\"user.x\""), EXEC_REFUSED_WRITE, EROFS, "removexattrat",
	  "OUT/there" },
};

static void fill(struct rig *rig, char *kept, char *hidden)
{
	auto_free char *there = mem_printf("%s/there", rig->outside);
	auto_free char *sub = mem_printf("%s/sub", rig->outside);
	auto_close int fd = open(there, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(mkdir(sub, 0755), 0);
	rig_make(rig, "kept/there", "x");
	rig_make(rig, "hidden/there", "x");
	(void)snprintf(kept, 128, "%s/kept", rig->dir);
	(void)snprintf(hidden, 128, "%s/hidden", rig->dir);
}

START_TEST(refusal_is_told)
{
	size_t row = (size_t)_i / RIG_USERS;
	char kept[128], hidden[128], want[256];
	const char *const kept_list[] = { kept, NULL }, *const hidden_list[] = { hidden, NULL };
	const char *rest = strchr(refusals[row].path, '/');
	struct rig rig;

	init(&rig, _i % RIG_USERS);
	fill(&rig, kept, hidden);
	rig.config.read_only = kept_list;
	rig.config.hidden = hidden_list;
	rig.config.tells_reads = true;
	auto_free char *script = mem_printf("exec 2>&1; OUT=%s KEPT=%s HIDDEN=%s; %s || exit 1",
					    rig.outside, kept, hidden, refusals[row].script);
	const char *text = rig_sh(&rig, script);

	ck_assert_msg(rig.result.status != 0, "%s worked: %s", script, text);
	(void)snprintf(want, sizeof(want), "%s%s",
		       refusals[row].path[0] == 'O'   ? rig.outside
		       : refusals[row].path[0] == 'K' ? kept
						      : hidden,
		       rest);
	ck_assert_msg(told_count == 1, "%s: %zu told: %s", script, told_count, all_told());
	ck_assert_msg(told[0].what == refusals[row].what && told[0].error == refusals[row].error &&
			      strcmp(told[0].path, want) == 0,
		      "%s: %s, not %s", script, all_told(), want);
	ck_assert_msg(strcmp(told[0].call, refusals[row].call) == 0, "%s: %s", script, all_told());
	ck_assert_uint_ge(rig.result.refused, 1);
	rig_done(&rig);
}
END_TEST

#define ROOTS "split read /usr read /bin read /lib read /lib64 write %s read %s/sub"

/* Where nothing is to be seen but what was named: what the host has there is not there. */
static const struct {
	const char *script;
	enum exec_refused what;
	int error;
	const char *path; /* behind OUT */
} absences[] = {
	{ "cat $OUT/there", EXEC_REFUSED_READ, ENOENT, "/there" },
	{ "cat $OUT/sub/../there", EXEC_REFUSED_READ, ENOENT, "/there" },
	{ ": >$OUT/new", EXEC_REFUSED_WRITE, EROFS, "/new" },
	{ ": >$OUT/sub/new", EXEC_REFUSED_WRITE, EROFS, "/sub/new" },
	{ "cat $OUT/nowhere $OUT/sub/nowhere; ! : >$OUT/nowhere/x", 0, 0, NULL },
	{ "ls $OUT/sub; echo x >here; cat here /bin/sh >/dev/null", 0, 0, NULL },
};

START_TEST(what_is_not_shown_is_told)
{
	size_t row = (size_t)_i / RIG_USERS;
	char kept[128], hidden[128], want[256];
	struct err why = { 0 };
	struct rig rig;

	init(&rig, _i % RIG_USERS);
	fill(&rig, kept, hidden);
	auto_free char *words = mem_printf(ROOTS, rig.dir, rig.outside);
	struct exec_sandbox *sandbox = words_sandbox(words, rig.dir, NULL, &why);
	auto_free char *script =
		mem_printf("exec 2>&1; OUT=%s; %s || true", rig.outside, absences[row].script);

	ck_assert_msg(sandbox != NULL, "%s", why.text);
	rig.config.sandbox = sandbox;
	rig.config.tells_reads = true;
	(void)rig_sh(&rig, script);
	size_t ours = 0;

	/* Programs look for more: their configuration, the names of the time zones. */
	for (size_t i = 0; i < told_count; i++) {
		if (strncmp(told[i].path, "/var/tmp/", 9) != 0)
			continue;
		ours++;
		(void)snprintf(want, sizeof(want), "%s%s", rig.outside,
			       absences[row].path ? absences[row].path : "");
		ck_assert_msg(told[i].what == absences[row].what &&
				      told[i].error == absences[row].error &&
				      strcmp(told[i].path, want) == 0,
			      "%s: %s", script, all_told());
	}
	ck_assert_msg(ours == (absences[row].path != NULL), "%s: %s", script, all_told());
	exec_sandbox_free(sandbox);
	rig_done(&rig);
}
END_TEST

/* Nothing of this was refused by the sandbox, whatever it says. */
static const char *const innocent[] = {
	"echo Permission denied; echo Operation not permitted >&2; exit 1",
	"true",
	"echo x >f; mkdir -p d/e; mv f d; ln -s d l; chmod 600 d/f; touch d/f; rm -r d l",
	"echo x >/tmp/f; rm /tmp/f; echo x >/dev/null; : >/dev/shm/x",
	"mkdir -p $PWD/a/b/c",
	"cat /etc/passwd /proc/self/status",
	"cat /nowhere/at/all",
	"echo x >/nowhere/at/all",
	"rm -f /usr/nowhere /etc/nowhere",
	"mkdir /usr /etc",
	"ls /root/x",
	"head -c1 /dev/zero; echo x >/dev/full",
	"exec 3<>/dev/null; echo x >&3",
};

START_TEST(nothing_is_made_up)
{
	const char *script = innocent[_i / RIG_USERS];
	struct rig rig;

	init(&rig, _i % RIG_USERS);
	rig.config.tells_reads = true;
	(void)rig_sh(&rig, script);
	ck_assert_msg(told_count == 0, "%s: %s", script, all_told());
	ck_assert_uint_eq(rig.result.refused, 0);
	rig_done(&rig);
}
END_TEST

/* Calls that the filter refuses, to whom, with what; made by python, which names no path. */
static const struct {
	long number;
	const char *args, *name;
	int error;
} denied_calls[] = {
	{ SYS_mount, "0, 0, 0, 0, 0", "mount", EPERM },
	{ SYS_chroot, "0", "chroot", EPERM },
	{ SYS_bpf, "0, 0, 0", "bpf", EPERM },
	{ SYS_unshare, "0x10000000", "unshare", EPERM },
	{ SYS_socket, "40, 1, 0", "socket", EAFNOSUPPORT },
	{ SYS_socket, "16, 3, 12", "socket", EPROTONOSUPPORT },
	{ SYS_ioctl, "-1, 0x5412, 0", "ioctl", EPERM },
};

START_TEST(refused_call_is_told)
{
	size_t row = (size_t)_i / RIG_USERS;
	struct rig rig;

	init(&rig, _i % RIG_USERS);
	auto_free char *script = mem_printf("/usr/bin/python3 -c 'import ctypes, sys\n"
					    "libc = ctypes.CDLL(None, use_errno=True)\n"
					    "r = libc.syscall(%ld, %s)\n"
					    "print(r, ctypes.get_errno())'",
					    denied_calls[row].number, denied_calls[row].args);
	auto_free char *want = mem_printf("-1 %d\n", denied_calls[row].error);
	const char *text = rig_ok(&rig, script);

	ck_assert_str_eq(text, want);
	ck_assert_msg(told_count == 1, "%s", all_told());
	ck_assert_int_eq(told[0].what, EXEC_REFUSED_CALL);
	ck_assert_int_eq(told[0].error, denied_calls[row].error);
	ck_assert_str_eq(told[0].call, denied_calls[row].name);
	ck_assert_str_eq(told[0].path, "");
	rig_done(&rig);
}
END_TEST

/* A call that tests a kernel feature is not evidence, although it fails. */
START_TEST(probes_are_not_told)
{
	struct rig rig;

	init(&rig, _i);
	ck_assert_str_eq(rig_ok(&rig, "/usr/bin/python3 -c 'import ctypes\n"
				      "libc = ctypes.CDLL(None, use_errno=True)\n"
				      "for call in 425, 426, 427, 435:\n"
				      "    libc.syscall(call, 0, 0, 0, 0)\n"
				      "    print(ctypes.get_errno())'"),
			 "38\n38\n38\n38\n");
	ck_assert_msg(told_count == 0, "%s", all_told());
	rig_done(&rig);
}
END_TEST

static int listen_at(const char *path)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(name.sun_path, sizeof(name.sun_path), "%s", path);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	ck_assert_int_eq(listen(fd, 5), 0);
	return fd;
}

static const char *const callers[] = {
	"c.connect(P)",
	"d.sendto(b\"x\", P)",
	"d.sendmsg([b\"x\"], [], 0, P)",
	"os.chdir(os.path.dirname(P)); c.connect(\"there.socket\")",
};

/* A socket of the host: in the command's own directory (covered), and in /tmp (not there). */
START_TEST(host_socket_is_told)
{
	const char *caller = callers[_i / RIG_USERS / 2];
	bool is_in_tmp = _i / RIG_USERS % 2;
	char folder[] = "/tmp/sallyport-test-XXXXXX";
	struct rig rig;

	init(&rig, _i % RIG_USERS);
	if (is_in_tmp)
		ck_assert_ptr_nonnull(mkdtemp(folder));
	/* To go there it has to be there inside, too. */
	auto_free char *path = mem_printf("%s/there.socket", is_in_tmp ? folder : rig.dir);
	auto_close int fd = listen_at(path);
	auto_free char *folder_inside = mem_printf("mkdir -p %s; ", is_in_tmp ? folder : rig.dir);
	auto_free char *script = mem_printf("%s/usr/bin/python3 -c 'import socket, os\n"
					    "c = socket.socket(socket.AF_UNIX)\n"
					    "d = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
					    "P = \"%s\"\ntry: %s\n"
					    "except OSError as e: print(e.errno)'",
					    folder_inside, path, caller);
	const char *text = rig_ok(&rig, script);

	(void)unlink(path);
	if (is_in_tmp)
		(void)rmdir(folder);
	ck_assert_msg(told_count == 1, "%s: %s", script, all_told());
	ck_assert_int_eq(told[0].what, EXEC_REFUSED_SOCKET);
	ck_assert_str_eq(told[0].path, path);
	ck_assert_int_eq(told[0].error, (int)strtol(text, NULL, 10));
	rig_done(&rig);
}
END_TEST

START_TEST(own_sockets_are_not_told)
{
	struct rig rig;

	init(&rig, _i);
	(void)rig_ok(&rig, "/usr/bin/python3 -c 'import socket\n"
			   "for path in \"mine\", \"/tmp/mine\", \"\\0mine\":\n"
			   "    s = socket.socket(socket.AF_UNIX); s.bind(path); s.listen()\n"
			   "    c = socket.socket(socket.AF_UNIX); c.connect(path)\n"
			   "c = socket.socket(socket.AF_UNIX)\n"
			   "print(c.connect_ex(\"/nowhere\"), c.connect_ex(\"/run/nowhere\"))'");
	ck_assert_msg(told_count == 0, "%s", all_told());
	rig_done(&rig);
}
END_TEST

/* More than are told are counted, and one that comes again is told once. */
START_TEST(evidence_has_an_end)
{
	struct rig rig;

	init(&rig, 0);
	auto_free char *subshells =
		mem_printf("i=0; while [ $i -lt %d ]; do (: >%s/$i); (: >%s/same); i=$((i+1)); "
			   "done 2>/dev/null; exit 0",
			   EXEC_EVIDENCE_MAX + 10, rig.outside, rig.outside);
	(void)rig_ok(&rig, subshells);
	ck_assert_uint_eq(told_count, EXEC_EVIDENCE_MAX);
	ck_assert_uint_eq(rig.result.refused, 2 * (EXEC_EVIDENCE_MAX + 10));
	rig_done(&rig);
}
END_TEST

/* The kernel lets one supervisor listen. */
START_TEST(a_second_listener_is_refused_with_words)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { .len = 1, .filter = &allow };
	struct rig rig;

	init(&rig, 1); /* an ordinary user: nobody else may be needed to load a filter */
	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_ge(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
				 SECCOMP_FILTER_FLAG_NEW_LISTENER, &program),
			 0);
	(void)rig_sh(&rig, "echo ran");
	ck_assert_str_eq(rig.text, "");
	ck_assert_int_eq(rig.result.end, EXEC_PROCESS_NOT_STARTED);
	ck_assert_int_eq(rig.result.status, 125);
	ck_assert_msg(strstr(rig.result.why, "receives the reports of system calls") != NULL, "%s",
		      rig.result.why);
	/* Nor is there a wall around its sockets without one. */
	rig.config.on_refused = NULL;
	(void)rig_sh(&rig, "echo ran");
	ck_assert_str_eq(rig.text, "");
	ck_assert_int_eq(rig.result.status, 125);
	rig_done(&rig);
}
END_TEST

/* Told briefly: only of names that cannot be created in folders that are read-only. */
static const struct {
	const char *script;
	bool is_told;
} brief[] = {
	{ ": >$OUT/new", true },
	{ "cd $OUT/sub; : >../new", true },
	{ "cd $OUT; mkdir new", true },
	{ "ln -s $OUT link; : >link/new", true },
	{ "ln -s x $OUT/new", true },
	{ "mv file $OUT/new", true },
	{ ": >>$OUT/there", true },
	{ ": >new; mkdir sub; mv new sub/; ln -s x y; cat $OUT/there", false },
	{ "cat $OUT/missing; mkdir $OUT/sub/missing/deep", false },
	{ "rm $OUT/there; chmod 600 $OUT/there; touch -c $OUT/there", false },
	{ "touch -d 2001-01-01 /dev/null; : >/tmp/x", false },
	{ "cp /bin/true s; chmod 4755 s", false },
};

START_TEST(brief_refusal_is_told)
{
	size_t row = (size_t)_i / RIG_USERS;
	char kept[128], hidden[128];
	struct rig rig;

	init(&rig, _i % RIG_USERS);
	fill(&rig, kept, hidden);
	rig_make(&rig, "file", "x");
	rig.config.tells_briefly = true;
	auto_free char *script =
		mem_printf("exec 2>&1; OUT=%s; %s", rig.outside, brief[row].script);
	const char *text = rig_sh(&rig, script);

	ck_assert_msg((told_count > 0) == brief[row].is_told, "%s: %s; told: %s", script, text,
		      all_told());
	for (size_t i = 0; i < told_count; i++) {
		ck_assert_int_eq(told[i].what, EXEC_REFUSED_WRITE);
		ck_assert_int_eq(told[i].error, EROFS);
		ck_assert_msg(strncmp(told[i].path, rig.outside, strlen(rig.outside)) == 0, "%s",
			      told[i].path);
		ck_assert_str_ne(told[i].program, "");
	}
	rig_done(&rig);
}
END_TEST

TCase *test_notify(void)
{
	TCase *tcase = tcase_create("notify");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, refusal_is_told, 0, (int)ARRAY_SIZE(refusals) * RIG_USERS);
	tcase_add_loop_test(tcase, brief_refusal_is_told, 0, (int)ARRAY_SIZE(brief) * RIG_USERS);
	tcase_add_loop_test(tcase, what_is_not_shown_is_told, 0,
			    (int)ARRAY_SIZE(absences) * RIG_USERS);
	tcase_add_loop_test(tcase, nothing_is_made_up, 0, (int)ARRAY_SIZE(innocent) * RIG_USERS);
	tcase_add_loop_test(tcase, refused_call_is_told, 0,
			    (int)ARRAY_SIZE(denied_calls) * RIG_USERS);
	tcase_add_loop_test(tcase, probes_are_not_told, 0, RIG_USERS);
	tcase_add_loop_test(tcase, host_socket_is_told, 0,
			    (int)ARRAY_SIZE(callers) * RIG_USERS * 2);
	tcase_add_loop_test(tcase, own_sockets_are_not_told, 0, RIG_USERS);
	tcase_add_test(tcase, evidence_has_an_end);
	tcase_add_test(tcase, a_second_listener_is_refused_with_words);
	return tcase;
}
