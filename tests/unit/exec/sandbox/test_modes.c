#include "tests/unit/exec/test_exec.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "exec/exec_sandbox.h"
#include "tests/unit/exec/rig.h"
#include "tests/unit/exec/words.h"

/* What it takes to run a shell where nothing else can be read. */
#define SYSTEM "read /usr read /bin read /lib read /lib64"

/* % is the working directory: a/b/c/file, a/file, secret/key, secret/open/file, policy, link -> a;
 * @ is one outside, with a file in it. Each script must exit 0. */
static const struct {
	const char *sandbox, *script;
} runs[] = {
	/* read-only: nothing of the host's, and a /tmp of its own */
	{ "read-only", "! touch new && ! rm a/file && ! mv a z && ! chmod 700 a && ! touch @/x" },
	{ "read-only", "test $(cat a/file) = a && test $(cat @/file) = outside" },
	{ "read-only", "test -z \"$(ls -A /tmp)\" && echo x >/tmp/x && test $TMPDIR = /tmp" },
	{ "read-only", "echo x >/dev/null && echo x >/dev/shm/x && ! touch /etc/x && ! touch /x" },
	{ "read-only", "! ln -s x l && ! mkdir d && ! ln a/file /tmp/f" },
	{ "read-only deny %/secret", "test -f a/file && ! cat secret/key && ! ls secret" },
	{ "read-only deny %/policy", "! cat policy && ! cat /proc/self/cwd/policy" },
	/* workspace-write */
	{ "workspace-write -tmp", "touch new && rm -r a && ! touch @/x && ! touch /etc/x" },
	{ "workspace-write -tmp", "test -z \"$(ls -A /tmp)\" && touch /tmp/x" },
	{ "workspace-write -tmp read %/a", "touch x && test $(cat a/file) = a && ! touch a/x && "
					   "! mv a z && ! rm -r a/b && ! ln a/file f" },
	{ "workspace-write -tmp read %/policy",
	  "! echo x >>policy && ! rm policy && ! mv secret/key policy && ! mv policy p" },
	{ "workspace-write -tmp deny %/secret",
	  "! cat secret/key && ! mv secret s && ! rm -rf secret && ! chmod 777 secret && ! mkdir "
	  "secret/x && touch x" },
	{ "workspace-write -tmp deny %/policy",
	  "! cat policy && ! echo x >>policy && ! rm policy && ! mv a/file policy && ! ln policy p "
	  "&& ! chmod 777 policy && ! cat /proc/self/cwd/policy" },
	{ "workspace-write -tmp deny %/a/b/c",
	  "! ls a/b/c && ! mv a z && ! mv a/b z && ! mv a/b/c z && touch a/b/x && touch a/x" },
	{ "workspace-write -tmp deny %/a/b/c",
	  "mkdir z; ! perl -e 'exit(syscall(316, -100, \"a\", -100, \"z\", 2) == 0 ? 0 : 1)'" },
	{ "workspace-write -tmp deny %/a/b", "exec 9<a && ! cat /proc/self/fd/9/b/c/file && ! ls "
					     "/proc/self/fd/9/b" },
	/* split: the most specific path */
	{ "split read / write %/a", "touch a/x && ! touch x && ! mv a z" },
	{ "split read / write %/a deny %/a/b", "touch a/x && ! ls a/b && ! mv a/b a/d" },
	{ "split read / write %/a read %/a/b write %/a/b/c",
	  "touch a/x a/b/c/x && ! touch a/b/x && ! mv a/b/c a/b/d && ! mv a/b a/d" },
	{ "split read / write %/a deny %/a/b write %/a/b/c",
	  "touch a/x a/b/c/x && test -f a/b/c/file && ! ls a/b && ! touch a/b/x && ! chmod 755 a/b "
	  "&& ! mv a/b/c a/z && ! mv a/b z" },
	{ "split read / deny %/secret read %/secret/open",
	  "! ls secret && ! cat secret/key && test $(cat secret/open/file) = open && ! touch "
	  "secret/open/x" },
	{ "split read / deny %/secret write %/secret/open/file",
	  "echo x >secret/open/file && test $(cat secret/open/file) = x && ! rm secret/open/file "
	  "&& "
	  "! mv secret/open/file /tmp/ && ! touch secret/open/y" },
	{ "split read / write %/a deny %/a/b write %/a/b/c deny %/a/b/c/file",
	  "touch a/b/c/x && ! cat a/b/c/file && ! rm a/b/c/file && ! mv a/b/c a/b/d" },
	{ "split read / write %/policy", "echo x >policy && ! rm policy && ! touch x" },
	{ "split read / write %/link", "touch a/x" }, /* its target is the user's choice */
	{ "split read / write %/absent", "! touch absent && test -f a/file" },
	{ "split read / deny /tmp", "test -z \"$(ls -A /tmp)\"" },
	{ "split read / read /tmp", "! touch /tmp/x" },
	{ "split read / deny /absent", "true" },
	{ "split read / deny %/secret/absent", "true" },
	/* the host's tree as it is */
	{ "split write /", "touch @/x x && rm a/file && ! echo 9 >/proc/sys/vm/swappiness" },
	{ "split write / deny %/secret",
	  "touch @/x && ! cat secret/key && ! mv secret s && ! mv % %z && ! mv /var/tmp /var/t" },
	{ "split write / read @", "touch x && ! touch @/x && ! mv @ @z && test -f @/file" },
	{ "external", "touch @/x x && test $(cat /proc/1/comm) = sallyport-init" },
	{ "external deny %/secret", "touch @/x && ! cat secret/key && ! ls secret" },
	{ "danger-full-access deny %/secret", "touch @/x && ! cat secret/key && ! mv secret s" },
	/* nothing but what is named */
	{ "split " SYSTEM " write %/a", "cd % && test \"$(echo *)\" = a && touch a/x" },
	{ "split " SYSTEM " write %/a",
	  "! test -e @/file && ! test -e /etc/passwd && ! test -e /proc/1/root/etc/passwd && ! ls "
	  "/var/lib" },
	{ "split " SYSTEM " write %/a", "! touch /x && ! mkdir /etc && ! touch %/x && ! rmdir %/a "
					"&& ! chmod 777 / && ! mv /usr /u" },
	{ "split " SYSTEM " read %/a", "! touch %/a/x && touch /tmp/x && touch /run/x && echo "
				       ">/dev/null && test -d /proc/self" },
	{ "split " SYSTEM " write %/a deny %/a/b",
	  "touch %/a/x && ! ls %/a/b && ! mv %/a/b %/a/z" },
	{ "split " SYSTEM " read %/policy", "test $(cat %/policy) = policy && ! echo x >%/policy" },
	{ "split deny / " SYSTEM " write %", "touch %/x && ! test -e /etc/passwd" },
	{ "split " SYSTEM " write %/a",
	  "cd /.. && ! test -e etc && ! test -e var/lib && ! ls /../home" },
};

static char *fill_in(const struct rig *rig, const char *text)
{
	char *out = mem_new(8192);
	size_t len = 0;

	for (; *text && len < 8000; text++)
		if (*text == '%' || *text == '@')
			len += (size_t)snprintf(out + len, 64, "%s",
						*text == '%' ? rig->dir : rig->outside);
		else
			out[len++] = *text;
	return out;
}

static void make_world(struct rig *rig, int user)
{
	rig_init(rig, user);
	auto_free char *link = mem_printf("%s/link", rig->dir);
	auto_free char *outside = mem_printf("../%s/file", strrchr(rig->outside, '/') + 1);

	rig_make(rig, "a/b/c/file", "deep");
	rig_make(rig, "a/file", "a");
	rig_make(rig, "secret/key", "key");
	rig_make(rig, "secret/open/file", "open");
	rig_make(rig, "policy", "policy");
	rig_make(rig, outside, "outside");
	ck_assert_int_eq(symlink("a", link), 0);
	ck_assert_int_eq(setenv("TMPDIR", rig->outside, 1), 0);
}

/* Returned owned; the rig keeps the pointer. */
static struct exec_sandbox *set_sandbox(struct rig *rig, const char *words)
{
	auto_free char *text = fill_in(rig, words);
	struct err why = { 0 };
	struct exec_sandbox *sandbox = words_sandbox(text, rig->dir, NULL, &why);

	ck_assert_msg(sandbox != NULL, "%s", why.text);
	rig->config.sandbox = sandbox;
	return sandbox;
}

START_TEST(is_held_to_its_sandbox)
{
	struct rig rig;
	int at = _i / RIG_USERS;

	make_world(&rig, _i % RIG_USERS);
	struct exec_sandbox *sandbox = set_sandbox(&rig, runs[at].sandbox);
	auto_free char *script = fill_in(&rig, runs[at].script);

	/* A working directory that can be seen everywhere. */
	if (strstr(runs[at].sandbox, SYSTEM))
		rig.config.cwd = "/";
	rig_ok(&rig, script);
	ck_assert_str_eq(rig_read(&rig, "secret/key"), "key");
	exec_sandbox_free(sandbox);
	rig_done(&rig);
}
END_TEST

/* The proxy's socket by a path: if there is one, and never in a directory of the host. */
static const struct {
	const char *sandbox;
	bool has_door;
} doors[] = {
	{ "read-only", true }, { "split " SYSTEM " write %", true }, { "read-only+net", false },
	{ "external", false }, { "split read / write /run", false },
};

START_TEST(has_a_door_of_its_own)
{
	struct rig rig;

	make_world(&rig, 0);
	struct exec_sandbox *sandbox = set_sandbox(&rig, doors[_i].sandbox);
	bool was_there = access(EXEC_DOOR, F_OK) == 0;

	rig_ok(&rig,
	       doors[_i].has_door ? "test -S $SALLYPORT_SOCKET" : "test -z \"$SALLYPORT_SOCKET\"");
	ck_assert_int_eq(access(EXEC_DOOR, F_OK) == 0, was_there);
	exec_sandbox_free(sandbox);
	rig_done(&rig);
}
END_TEST

static const struct {
	const char *sandbox, *hidden, *why;
} refusals[] = {
	{ "workspace-write deny %/absent", NULL, NULL },
	{ "workspace-write read %/a/absent/x", NULL, "%/a/absent/x does not exist" },
	{ "split write / deny /absent", NULL, NULL },
	{ "workspace-write deny %/link", NULL, "%/link: a symbolic link" },
	{ "workspace-write deny %/link/b", NULL, "%/link/b: a symbolic link" },
	{ "workspace-write read %/link/b", NULL, "%/link/b: a symbolic link" },
	{ "split write / deny %/link/b", NULL, "%/link/b: a symbolic link" },
	{ "split read / write /proc", NULL, "/proc cannot be writable" },
	{ "split read / write /sys/fs", NULL, "/sys/fs cannot be writable" },
	{ "split read / write /dev", NULL, "/dev cannot be writable" },
	{ "split " SYSTEM, NULL, "does not show the working directory" },
	{ "workspace-write", "%", "the gate keeps its own files in %" },
	{ "split read / write %/a/b", "%/a", "the gate keeps its own files in %/a" },
	{ "split " SYSTEM " read %", "%/a", NULL },
	{ "split " SYSTEM " read %/a/b write %", "%/a", "the gate keeps its own files in %/a" },
	{ "read-only", "%/a", NULL },
	{ "external", "%/absent", NULL },
};

START_TEST(refuses_what_it_cannot_hold)
{
	struct rig rig;

	make_world(&rig, 0);
	struct exec_sandbox *sandbox = set_sandbox(&rig, refusals[_i].sandbox);
	auto_free char *hidden = fill_in(&rig, refusals[_i].hidden ? refusals[_i].hidden : "");
	const char *const hide[] = { hidden, NULL };

	if (refusals[_i].hidden)
		rig.config.hidden = hide;
	bool is_started = rig_start(&rig, (const char *const[]){ "true", NULL });

	ck_assert_msg(is_started == (refusals[_i].why == NULL), "%s", rig.text);
	if (!is_started) {
		auto_free char *why = fill_in(&rig, refusals[_i].why);

		ck_assert_msg(strstr(rig.text, why), "%s", rig.text);
	} else {
		rig_wait(&rig);
	}
	exec_sandbox_free(sandbox);
	rig_done(&rig);
}
END_TEST

/* In every mode that confines anything. */
static const char *const confined[] = { "read-only",
					"workspace-write",
					"split write /",
					"split read / write %",
					"split " SYSTEM " write %",
					"external",
					"external+net deny %/secret",
					"danger-full-access deny %/secret",
					"read-only+net" };

START_TEST(the_gates_own_is_out_of_reach)
{
	struct rig rig;

	make_world(&rig, _i % RIG_USERS);
	rig_make(&rig, "gate/deep/control", "x");
	auto_free char *hidden = fill_in(&rig, "%/gate/deep");
	auto_free char *policy = fill_in(&rig, "%/policy");
	struct exec_sandbox *sandbox = set_sandbox(&rig, confined[_i / RIG_USERS]);

	rig.config.hidden = (const char *const[]){ hidden, NULL };
	rig.config.read_only = (const char *const[]){ policy, NULL };
	rig_ok(&rig, "! ls gate/deep && ! cat gate/deep/control && ! mv gate g && ! rm -rf gate");
	rig_ok(&rig, "! echo x >>policy && ! rm policy && ! mv a/file policy");
	/* Nor by what every mode forbids. */
	rig_ok(&rig,
	       "! mount -t tmpfs x /mnt && ! umount gate/deep && ! chroot . true && ! unshare "
	       "-U true && grep -q '^CapEff:.0*$' /proc/self/status");
	ck_assert_str_eq(rig_read(&rig, "gate/deep/control"), "x");
	ck_assert_str_eq(rig_read(&rig, "policy"), "policy");
	exec_sandbox_free(sandbox);
	rig_done(&rig);
}
END_TEST

/* The host's network, or one of its own. */
static const struct {
	const char *sandbox;
	bool is_host;
} networks[] = {
	{ "read-only", false },
	{ "workspace-write", false },
	{ "external", false },
	{ "split write /", false },
	{ "read-only+net", true },
	{ "workspace-write+net", true },
	{ "split+net " SYSTEM " write %", true },
	{ "external+net", true },
	{ "external+net deny %/secret", true },
	{ "danger-full-access", true },
	{ "danger-full-access deny %/secret", true },
};

static const char connect_to[] =
	"exec perl -e 'use Socket; socket(S, PF_INET, SOCK_STREAM, 0); "
	"exit(connect(S, sockaddr_in($ARGV[0], INADDR_LOOPBACK)) ? 0 : 7)' ";

START_TEST(has_the_network_it_was_given)
{
	struct sockaddr_in name = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(name);
	auto_close int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int at = _i / RIG_USERS;
	struct rig rig;

	ck_assert_int_eq(bind(listener, (struct sockaddr *)&name, len), 0);
	ck_assert_int_eq(listen(listener, 8), 0);
	ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&name, &len), 0);
	make_world(&rig, _i % RIG_USERS);
	struct exec_sandbox *sandbox = set_sandbox(&rig, networks[at].sandbox);
	auto_free char *script = mem_printf("%s%u", connect_to, ntohs(name.sin_port));

	setenv("http_proxy", "http://proxy.test:3128", 1);
	rig_sh(&rig, script);
	ck_assert_int_eq(rig.result.end, EXEC_PROCESS_EXITED);
	ck_assert_int_eq(rig.result.status, networks[at].is_host ? 0 : 7);
	ck_assert_uint_eq(rig.egress_count, networks[at].is_host ? 0 : 1);
	rig_ok(&rig, networks[at].is_host ? "test $http_proxy = http://proxy.test:3128 && test -z "
					    "\"$NO_PROXY$ALL_PROXY\""
					  : "test $http_proxy = http://127.0.0.1:61128");
	exec_sandbox_free(sandbox);
	rig_done(&rig);
}
END_TEST

static const char reach[] = "exec perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0); "
			    "exit(connect(S, sockaddr_un($ARGV[0])) ? 0 : 7)' -- ";

/* A name in the file system, or with '@' in front an abstract one. */
static int listen_at(const char *path)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t len = strlen(path);

	memcpy(name.sun_path, path, len);
	if (path[0] == '@')
		name.sun_path[0] = '\0';
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&name,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)),
			 0);
	ck_assert_int_eq(listen(fd, 5), 0);
	return fd;
}

START_TEST(a_socket_is_reached_when_it_was_opened)
{
	static const char *const modes[] = { "read-only",     "workspace-write",
					     "split write /", "split " SYSTEM " write %",
					     "external",      "read-only+net" };
	struct rig rig;

	make_world(&rig, _i % RIG_USERS);
	auto_free char *path = mem_printf("%s/socket", rig.outside);
	auto_close int fd = listen_at(path);
	auto_free char *script = mem_printf("%s%s", reach, path);
	struct exec_sandbox *closed = set_sandbox(&rig, modes[_i / RIG_USERS]);
	struct err why = { 0 };
	struct exec_sandbox *open = exec_sandbox_add_socket(closed, path, &why);

	rig_sh(&rig, script);
	ck_assert_int_eq(rig.result.status, 7);
	rig.config.sandbox = open;
	rig_ok(&rig, script);
	exec_sandbox_free(closed);
	exec_sandbox_free(open);
	rig_done(&rig);
}
END_TEST

/* The kernel has no other wall around them in the host's network. */
START_TEST(abstract_sockets_are_out_of_reach)
{
	static const char *const modes[] = { "read-only", "read-only+net",
					     "external+net deny %/secret" };
	auto_free char *name = mem_printf("@sallyport-test-%d", getpid());
	auto_close int fd = listen_at(name);
	auto_free char *script = mem_printf("name='%s'; exec perl -MSocket -e '"
					    "$n = $ARGV[0]; $n =~ s/^@/\\0/; socket(S, PF_UNIX, "
					    "SOCK_STREAM, 0); exit(connect(S, pack(\"S a*\", "
					    "AF_UNIX, $n)) ? 0 : 7)' -- \"$name\"",
					    name);
	struct rig rig;

	make_world(&rig, _i % RIG_USERS);
	struct exec_sandbox *sandbox = set_sandbox(&rig, modes[_i / RIG_USERS]);

	rig_sh(&rig, script);
	ck_assert_msg(rig.result.status == 7, "status %d: %s", rig.result.status, rig.text);
	exec_sandbox_free(sandbox);
	sandbox = set_sandbox(&rig, "danger-full-access");
	rig_ok(&rig, script); /* or the test would hold of anything */
	exec_sandbox_free(sandbox);
	rig_done(&rig);
}
END_TEST

START_TEST(the_hosts_tmp_is_in_or_out)
{
	struct rig rig;
	char dir[] = "/tmp/sallyport-test-XXXXXX";

	make_world(&rig, _i);
	ck_assert_ptr_nonnull(mkdtemp(dir));
	auto_free char *script = mem_printf("touch %s/x", dir);
	auto_free char *made = mem_printf("%s/x", dir);
	struct err why = { 0 };
	struct exec_sandbox *in = words_sandbox("workspace-write", rig.dir, rig.outside, &why);
	struct exec_sandbox *out =
		words_sandbox("workspace-write -tmp -tmpdir", rig.dir, rig.outside, &why);

	rig.config.sandbox = out;
	rig_sh(&rig, script);
	ck_assert_int_ne(rig.result.status, 0);
	rig_ok(&rig, "test $TMPDIR = /tmp");
	rig.config.sandbox = in;
	rig_ok(&rig, script);
	ck_assert_int_eq(unlink(made), 0);
	auto_free char *want = mem_printf("test $TMPDIR = %s && touch $TMPDIR/x", rig.outside);

	rig_ok(&rig, want);
	exec_sandbox_free(in);
	exec_sandbox_free(out);
	ck_assert_int_eq(rmdir(dir), 0);
	rig_done(&rig);
}
END_TEST

static void link_names(const char *from, const char *to)
{
	ck_assert_int_eq(link(from, to), 0);
}

/* Hard links: those where the command works, and beside what is denied, are covered with it; of any
 * other it is said that it is there. */
START_TEST(other_names_are_covered)
{
	struct rig rig;

	make_world(&rig, _i % RIG_USERS);
	bool is_left = _i / RIG_USERS % 2;
	auto_free char *key = fill_in(&rig, "%/secret/key");
	auto_free char *beside = fill_in(&rig, "%/secret/open/key");
	auto_free char *deep = fill_in(&rig, "%/a/b/key");
	auto_free char *outer = fill_in(&rig, "@/key");
	auto_free char *second = fill_in(&rig, "@/second");
	auto_free char *third = fill_in(&rig, "%/a/third");
	auto_free char *far = mem_printf("/var/tmp/sallyport-far-%d", getpid());
	auto_free char *warning = mem_printf(
		"warning    %s has %d names (hard links), and the command may see 1", second, 3);

	rig_make(&rig, "second", "second");
	auto_free char *made = fill_in(&rig, "%/second");

	ck_assert_int_eq(rename(made, second), 0);
	link_names(key, beside);
	link_names(key, deep);
	link_names(key, outer);
	link_names(second, third);
	if (is_left)
		link_names(second, far);
	struct exec_sandbox *sandbox =
		set_sandbox(&rig, "workspace-write -tmp -tmpdir deny %/secret/key deny @");

	rig.config.argv = (const char *const[]){ "true", NULL };
	auto_free char *plan = exec_plan_text(&rig.config, NULL);

	ck_assert_msg((strstr(plan, warning) != NULL) == is_left, "%s: %s", warning, plan);
	ck_assert_msg((strstr(plan, "warning") != NULL) == is_left, "%s", plan);
	auto_free char *script =
		mem_printf("for f in %s %s %s %s; do ! cat $f && ! mv $f x && ! rm "
			   "-f $f || exit 1; done; ! mv a/b z && ! mv a z",
			   key, beside, deep, third);

	rig_ok(&rig, script);
	if (is_left)
		ck_assert_int_eq(unlink(far), 0);
	exec_sandbox_free(sandbox);
	rig_done(&rig);
}
END_TEST

START_TEST(the_plan_says_it)
{
	static const struct {
		const char *sandbox, *line;
	} lines[] = {
		{ "read-only deny %/secret", "sandbox    read-only\n" },
		{ "read-only deny %/secret", "deny       %/secret\n" },
		{ "read-only deny %/secret", "hidden     %/secret\n" },
		{ "read-only", "read-only  /\n" },
		{ "read-only+net", "network    the host's network, without the gate\n" },
		{ "read-only+net", "namespaces user mount pid ipc uts cgroup\n" },
		{ "danger-full-access", "namespaces none (the command is not confined)\n" },
		{ "external", "writable   /\n" },
		{ "external", "read-only  /sys\n" },
		{ "external", "filters    seccomp\n" },
		{ "split deny %/secret read %/secret/open read /usr write %", "empty      /\n" },
		{ "split read / deny %/secret read %/secret/open", "readable   %/secret/open\n" },
		{ "split read / write %/a/absent", "missing    %/a/absent\n" },
		{ "workspace-write", "writable   /tmp\n" },
	};
	struct rig rig;

	make_world(&rig, 0);
	rig.config.argv = (const char *const[]){ "true", NULL };
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct exec_sandbox *sandbox = set_sandbox(&rig, lines[i].sandbox);
		auto_free char *text = exec_plan_text(&rig.config, NULL);
		auto_free char *line = fill_in(&rig, lines[i].line);

		ck_assert_msg(strstr(text, line), "%s is not in %s", line, text);
		exec_sandbox_free(sandbox);
	}
	rig_done(&rig);
}
END_TEST

TCase *test_modes(void)
{
	TCase *tcase = tcase_create("modes");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, is_held_to_its_sandbox, 0, (int)ARRAY_SIZE(runs) * RIG_USERS);
	tcase_add_loop_test(tcase, has_a_door_of_its_own, 0, ARRAY_SIZE(doors));
	tcase_add_loop_test(tcase, refuses_what_it_cannot_hold, 0, ARRAY_SIZE(refusals));
	tcase_add_loop_test(tcase, the_gates_own_is_out_of_reach, 0,
			    (int)ARRAY_SIZE(confined) * RIG_USERS);
	tcase_add_loop_test(tcase, has_the_network_it_was_given, 0,
			    (int)ARRAY_SIZE(networks) * RIG_USERS);
	tcase_add_loop_test(tcase, a_socket_is_reached_when_it_was_opened, 0, 6 * RIG_USERS);
	tcase_add_loop_test(tcase, abstract_sockets_are_out_of_reach, 0, 3 * RIG_USERS);
	tcase_add_loop_test(tcase, the_hosts_tmp_is_in_or_out, 0, RIG_USERS);
	tcase_add_loop_test(tcase, other_names_are_covered, 0, 2 * RIG_USERS);
	tcase_add_test(tcase, the_plan_says_it);
	return tcase;
}
