#include "tests/unit/exec/test_exec.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "tests/unit/exec/rig.h"

/* Each must exit 0. $OUT is a directory outside, with a file in it; the working directory holds
 * "file". */
static const char *const scripts[] = {
	/* the tree is read-only but for the working directory */
	"echo x >new && test \"$(cat new)\" = x && mkdir d && mv new d/ && rm -r d && chmod 600 "
	"file",
	"! touch $OUT/x && ! rm $OUT/file && ! chmod 600 $OUT/file && ! mv $OUT/file $OUT/g && ! "
	"ln -s x $OUT/l",
	"! touch /etc/x && ! touch /usr/x && ! touch /var/tmp/x && ! mkdir /x",
	"! ln $OUT/file here && test \"$(cat $OUT/file)\" = outside",
	"mkdir -p a/b && mv file a/b && mv a/b b && test -f b/file", /* moves between directories */
	"! mount -o remount,rw / && ! mount --bind /tmp $OUT && ! umount $PWD",
	"! chroot . true && ! pivot_root . .",
	/* fresh directories */
	"test -z \"$(ls -A /tmp)\" && touch /tmp/x && test \"$(stat -c %a /tmp)\" = 1777",
	"test \"$(ls -A /run)\" = sallyport && touch /run/x && test ! -e /run/dbus",
	"test \"$(stat -c %a /dev/shm)\" = 1777 && touch /dev/shm/x && test -z \"$(ls /dev/mqueue "
	"2>/dev/null)\"",
	/* devices */
	"echo x >/dev/null && test -z \"$(cat /dev/null)\" && test \"$(head -c 2 /dev/zero | wc "
	"-c)\" = 2",
	"test \"$(head -c 8 /dev/urandom | wc -c)\" = 8 && ! echo x 2>/dev/null >/dev/full",
	"echo x | cat /dev/stdin | grep -q x && echo x >/dev/stdout && echo x >/dev/stderr && test "
	"-L /dev/fd",
	"test $(ls /dev/pts | wc -l) = 1 && test -c /dev/ptmx && ! test -e /dev/vda && ! test -e "
	"/dev/kmsg && ! test -e /dev/mem",
	"! mknod node c 1 3 && ! mknod /dev/node c 1 3",
	"script -qec 'test -t 0 && tty' /dev/null </dev/null | grep -q /dev/pts/", /* its own pty
										      still can be
										      had */
	"! (: </dev/tty)", /* no terminal: the caller's is not its own */
	/* /proc */
	"test $(ls -d /proc/[0-9]* | wc -l) -lt 10 && test $(cat /proc/1/comm) = sallyport-init",
	"! echo 0 >/proc/sys/kernel/randomize_va_space && ! echo 9 "
	">/proc/sys/user/max_user_namespaces",
	"! echo x >/proc/sys/kernel/core_pattern && ! echo b >/proc/sysrq-trigger",
	"test $(cat /proc/sys/user/max_user_namespaces) = 0",
	"! head -c 1 /proc/1/environ && ! head -c 1 /proc/1/mem && ! ls /proc/1/root/ && ! "
	"readlink /proc/1/exe",
	"echo 5 >/proc/self/oom_score_adj && echo name >/proc/self/comm",
	/* /sys */
	"! touch /sys/fs/cgroup/x && ! mkdir /sys/fs/cgroup/x",
	/* who it is */
	"test $(hostname) = localhost && getent hosts $(hostname) >/dev/null && test $(id -u) = "
	"$UID_OUTSIDE && test $(id -g) = "
	"$GID_OUTSIDE",
	"test \"$(grep -c 'Cap.*:.*0000000000000000' /proc/self/status)\" = 5",
	"grep -q '^NoNewPrivs:.1$' /proc/self/status && grep -q '^Seccomp:.2$' /proc/self/status",
	"test $(ls /proc/self/fd | wc -l) = 4", /* 0-2, and ls's own */
	"test \"$TMPDIR\" = /tmp && test $SALLYPORT_ACTIVE = 1 && test -z \"$SSH_AUTH_SOCK\"",
	"test \"$(ulimit -c)\" = \"$CORE_OUTSIDE\"",
};

static char *limit_text(void)
{
	FILE *shell = popen("ulimit -c", "r");
	char text[32] = "";

	ck_assert_ptr_nonnull(shell);
	ck_assert_ptr_nonnull(fgets(text, sizeof(text), shell));
	ck_assert_int_eq(pclose(shell), 0);
	return mem_strndup(text, strcspn(text, "\n"));
}

static void make_file(const char *dir, const char *name, const char *text)
{
	auto_free char *path = mem_printf("%s/%s", dir, name);
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fd_write_all(fd, text, strlen(text)), 0);
}

START_TEST(looks_as_it_should)
{
	struct rig rig;

	rig_init(&rig, _i % RIG_USERS);
	rig_make(&rig, "file", "inside");
	make_file(rig.outside, "file", "outside");
	auto_free char *limit = limit_text();
	auto_free char *out = mem_printf("OUT=%s", rig.outside);
	auto_free char *uid = mem_printf("UID_OUTSIDE=%u", geteuid());
	auto_free char *gid = mem_printf("GID_OUTSIDE=%u", getegid());
	auto_free char *core = mem_printf("CORE_OUTSIDE=%s", limit);

	rig.config.env_set = (const char *const[]){ out, uid, gid, core, NULL };
	rig_ok(&rig, scripts[_i / RIG_USERS]);
	rig_done(&rig);
}
END_TEST

/* In the working directory: project/{.git/hooks,keys/key,policy,src}, with .git and policy
 * read-only and keys hidden. */
static const char *const attacks[] = {
	"echo x >project/src/x && echo x >project/x", /* the rest is writable */
	"! echo x >>project/policy && ! rm project/policy && ! mv project/policy p && ! chmod 600 "
	"project/policy",
	"! touch project/.git/x && ! rm -rf project/.git/hooks && ! rmdir project/.git/hooks",
	"! mv project/.git project/git && ! mv project project2",
	"! mv project project2 2>/dev/null; ! mkdir -p project/.git/hooks/deep",
	"! mv project/.git/hooks /tmp/h",
	"mkdir other && ! perl -e 'exit(syscall(316, -100, \"project\", -100, \"other\", 2) == 0 ? "
	"0 : 1)'", /* RENAME_EXCHANGE */
	"! ls project/keys && ! cat project/keys/key && ! chmod 777 project/keys && ! rmdir "
	"project/keys",
	"! mv project/keys project/k && ! touch project/keys/x && ! rm -rf project/keys",
	"! ln project/policy p && ! ln project/.git/config c",
	"test $(cat project/policy) = policy",
	"! umount project/.git && ! umount -l project/keys",
	"! rm -rf project; test -d project/.git/hooks && test -f project/policy",
};

START_TEST(protects_what_it_is_told_to)
{
	struct rig rig;

	rig_init(&rig, _i % RIG_USERS);
	rig_make(&rig, "project/.git/hooks", NULL);
	rig_make(&rig, "project/.git/config", "config");
	rig_make(&rig, "project/keys/key", "key");
	rig_make(&rig, "project/policy", "policy");
	rig_make(&rig, "project/src", NULL);
	auto_free char *git = mem_printf("%s/project/.git", rig.dir);
	auto_free char *policy = mem_printf("%s/project/policy", rig.dir);
	auto_free char *keys = mem_printf("%s/project/keys", rig.dir);

	rig.config.read_only = (const char *const[]){ git, policy, NULL };
	rig.config.hidden = (const char *const[]){ keys, NULL };
	rig_ok(&rig, attacks[_i / RIG_USERS]);
	ck_assert_str_eq(rig_read(&rig, "project/policy"), "policy");
	ck_assert_str_eq(rig_read(&rig, "project/keys/key"), "key");
	ck_assert_str_eq(rig_read(&rig, "project/.git/config"), "config");
	rig_done(&rig);
}
END_TEST

/* A file on stdin or stdout brings the host's writable mount along. */
static const struct {
	const char *script;
	int flags;
	const char *after; /* in the file */
} reopenings[] = {
	{ "echo pwned >/proc/self/fd/0", O_RDONLY, "victim" },
	{ "echo pwned >>/dev/stdin", O_RDONLY, "victim" },
	{ "exec 3<>/proc/self/fd/0 && echo pwned >&3", O_RDONLY, "victim" },
	{ ": >/proc/self/fd/0", O_RDONLY, "victim" },
	{ "truncate -s 0 /proc/self/fd/0", O_RDONLY, "victim" },
	{ "ln /proc/self/fd/0 stolen", O_RDONLY, "victim" },
	{ "rm \"$(readlink /proc/self/fd/0)\"", O_RDONLY, "victim" },
	{ "exec 0>&-; cat", O_RDONLY, "victim" },
	{ "cat >/dev/null", O_RDONLY, "victim" }, /* what it is for */
	{ "printf given >&0", O_RDWR, "givenm" }, /* and that: it was given so */
};

START_TEST(an_inherited_file_is_not_opened_again)
{
	struct rig rig;

	rig_init(&rig, _i % RIG_USERS);
	make_file(rig.outside, "file", "victim");
	auto_free char *path = mem_printf("%s/file", rig.outside);
	auto_close int fd = open(path, reopenings[_i / RIG_USERS].flags | O_CLOEXEC);

	ck_assert_int_eq(dup2(fd, STDIN_FILENO), STDIN_FILENO);
	rig_sh(&rig, reopenings[_i / RIG_USERS].script);

	char text[32] = "";
	auto_close int again = open(path, O_RDONLY | O_CLOEXEC);

	ck_assert_int_ge(read(again, text, sizeof(text) - 1), 0);
	ck_assert_str_eq(text, reopenings[_i / RIG_USERS].after);
	rig_done(&rig);
}
END_TEST

START_TEST(a_file_that_may_be_written_may_be_opened_again)
{
	struct rig rig;

	rig_init(&rig, _i);
	rig_make(&rig, "out", "");
	auto_free char *path = mem_printf("%s/out", rig.dir);
	auto_close int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	auto_close int before = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);

	ck_assert_int_eq(dup2(fd, STDOUT_FILENO), STDOUT_FILENO);
	rig_ok(&rig, "echo one; echo two >>/dev/stdout");
	ck_assert_int_eq(dup2(before, STDOUT_FILENO), STDOUT_FILENO);
	ck_assert_str_eq(rig_read(&rig, "out"), "one\ntwo\n");
	rig_done(&rig);
}
END_TEST

/* Working directories that lie where the command gets something fresh. */
static const struct {
	const char *template;
	const char *script;
	bool is_written;
} places[] = {
	{ "/tmp/sallyport-test-XXXXXX",
	  "test -f file && echo x >new && test \"$(ls -A /tmp)\" = \"$(basename $PWD)\"", true },
	{ "/dev/shm/sallyport-test-XXXXXX",
	  "test -f file && echo x >new && test \"$(ls -A /dev/shm)\" = \"$(basename $PWD)\"",
	  true },
	{ "/var/tmp/sallyport-test-XXXXXX", "test -f file && echo x >new", true },
};

START_TEST(works_wherever_it_stands)
{
	struct rig rig;
	char dir[64], mine[64];

	rig_init(&rig, _i % RIG_USERS);
	memcpy(mine, rig.dir, sizeof(mine));
	(void)snprintf(dir, sizeof(dir), "%s", places[_i / RIG_USERS].template);
	ck_assert_ptr_nonnull(mkdtemp(dir));
	memcpy(rig.dir, dir, sizeof(dir)); /* removed with what is in it */
	rig_make(&rig, "file", "x");
	rig_ok(&rig, places[_i / RIG_USERS].script);
	ck_assert_str_eq(rig_read(&rig, "new"), "x\n");
	(void)rmdir(mine);
	rig_done(&rig);
}
END_TEST

START_TEST(stands_in_places_it_may_not_write)
{
	static const char *const directories[] = { "/", "/proc", "/sys", "/usr", "/run", "/dev" };
	struct rig rig;

	rig_init(&rig, 1);
	for (size_t i = 0; i < ARRAY_SIZE(directories); i++) {
		auto_free char *want = mem_printf("%s\n", directories[i]);

		rig.config.cwd = directories[i];
		ck_assert_str_eq(rig_ok(&rig, "pwd; ! touch sys/x 2>/dev/null"), want);
	}
	rig_done(&rig);
}
END_TEST

START_TEST(writes_where_it_is_told_to)
{
	struct rig rig;

	rig_init(&rig, _i);
	auto_free char *out = mem_printf("OUT=%s", rig.outside);

	rig.config.env_set = (const char *const[]){ out, NULL };
	rig.config.writable = (const char *const[]){ rig.outside, NULL };
	rig_ok(&rig, "touch $OUT/x && touch here && ! mv $OUT/x . 2>/dev/null || test -e x");
	rig_done(&rig);
}
END_TEST

/* Needs mounts of our own around the sandbox: in namespaces of the test. */
static void write_proc(const char *path, const char *text)
{
	auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);

	ck_assert_int_eq(fd_write_all(fd, text, strlen(text)), 0);
}

/* A user namespace of our own, in which we are who we were: nobody unmapped may write to a new
 * tmpfs. */
static void become_mountable(void)
{
	auto_free char *users = mem_printf("%u %u 1", geteuid(), geteuid());
	auto_free char *groups = mem_printf("%u %u 1", getegid(), getegid());

	ck_assert_int_eq(unshare(CLONE_NEWUSER), 0);
	write_proc("/proc/self/setgroups", "deny");
	write_proc("/proc/self/uid_map", users);
	write_proc("/proc/self/gid_map", groups);
}

START_TEST(a_second_mount_inside_is_read_only_unless_named)
{
	struct rig rig;

	rig_init(&rig, 0);
	if (geteuid() != 0)
		become_mountable();
	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	rig_make(&rig, "disk", NULL);
	auto_free char *disk = mem_printf("%s/disk", rig.dir);

	ck_assert_int_eq(mount(rig.outside, disk, NULL, MS_BIND, NULL), 0);
	rig_make(&rig, "disk/deep/file", "x");
	rig_ok(&rig, "touch x && test -f disk/deep/file && ! touch disk/x && ! rm disk/deep/file");
	rig.config.writable = (const char *const[]){ disk, NULL };
	rig_ok(&rig, "touch x && touch disk/x && ! mv disk d && ! mv disk/x .; touch disk/y");
	ck_assert_int_eq(umount(disk), 0);
	rig_done(&rig);
}
END_TEST

/* A read-only mount does not keep anybody from connecting to a socket in it. */
START_TEST(the_hosts_sockets_are_out_of_reach)
{
	static const char client[] = "exec perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0); "
				     "exit(connect(S, sockaddr_un($ARGV[0])) ? 0 : 7)' ";
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	auto_close int inside = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct rig rig;

	rig_init(&rig, _i);
	(void)snprintf(name.sun_path, sizeof(name.sun_path), "%s/socket", rig.outside);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	ck_assert_int_eq(listen(fd, 5), 0);
	auto_free char *script = mem_printf("%s%s", client, name.sun_path);

	rig_sh(&rig, script);
	ck_assert_int_eq(rig.result.status, 7);
	/* Nor is one in the writable directory. */
	(void)snprintf(name.sun_path, sizeof(name.sun_path), "%s/socket", rig.dir);
	ck_assert_int_eq(bind(inside, (struct sockaddr *)&name, sizeof(name)), 0);
	ck_assert_int_eq(listen(inside, 5), 0);
	rig_sh(&rig, "exec perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0); exit(connect(S, "
		     "sockaddr_un(\"socket\")) ? 0 : 7)'");
	ck_assert_int_eq(rig.result.status, 7);
	/* Its own are. */
	rig_ok(&rig, "exec perl -MSocket -e 'socket(L, PF_UNIX, SOCK_STREAM, 0); bind(L, "
		     "sockaddr_un(\"own\")) && listen(L, 5) or exit 8; "
		     "socket(S, PF_UNIX, SOCK_STREAM, 0); exit(connect(S, sockaddr_un(\"own\")) ? "
		     "0 : 7)'");
	rig_done(&rig);
}
END_TEST

TCase *test_view(void)
{
	TCase *tcase = tcase_create("view");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, looks_as_it_should, 0, (int)ARRAY_SIZE(scripts) * RIG_USERS);
	tcase_add_loop_test(tcase, protects_what_it_is_told_to, 0,
			    (int)ARRAY_SIZE(attacks) * RIG_USERS);
	tcase_add_loop_test(tcase, an_inherited_file_is_not_opened_again, 0,
			    (int)ARRAY_SIZE(reopenings) * RIG_USERS);
	tcase_add_loop_test(tcase, a_file_that_may_be_written_may_be_opened_again, 0, RIG_USERS);
	tcase_add_loop_test(tcase, works_wherever_it_stands, 0,
			    (int)ARRAY_SIZE(places) * RIG_USERS);
	tcase_add_test(tcase, stands_in_places_it_may_not_write);
	tcase_add_loop_test(tcase, writes_where_it_is_told_to, 0, RIG_USERS);
	tcase_add_test(tcase, a_second_mount_inside_is_read_only_unless_named);
	tcase_add_loop_test(tcase, the_hosts_sockets_are_out_of_reach, 0, RIG_USERS);
	return tcase;
}
