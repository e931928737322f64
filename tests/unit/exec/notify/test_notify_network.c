#include "tests/unit/exec/test_exec.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "exec/exec_sandbox.h"
#include "tests/unit/exec/rig.h"
#include "tests/unit/exec/words.h"

/* Addresses that the host has a way to, and datagrams of the command have not. */

#define OURS "198.51.100.7" /* RFC 5737: of the network that the test makes for itself */

static struct {
	unsigned int count;
	enum exec_refused what;
	int error;
	char call[32], path[128];
} told;

static void on_refused(const struct exec_evidence *evidence, void *arg)
{
	told.count++;
	told.what = evidence->what;
	told.error = evidence->error;
	(void)snprintf(told.call, sizeof(told.call), "%s", evidence->call);
	(void)snprintf(told.path, sizeof(told.path), "%s", evidence->path);
}

static void write_to(const char *path, const char *text)
{
	auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fd_write_all(fd, text, strlen(text)), 0);
}

static void map_ourselves(uid_t uid, gid_t gid)
{
	auto_free char *users = mem_printf("%u %u 1", uid, uid);
	auto_free char *groups = mem_printf("%u %u 1", gid, gid);

	write_to("/proc/self/setgroups", "deny");
	write_to("/proc/self/uid_map", users);
	write_to("/proc/self/gid_map", groups);
}

/* A host whose only network is its own address. */
static void enter_network(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	struct sockaddr_in *address = (struct sockaddr_in *)(void *)&request.ifr_addr;
	uid_t uid = geteuid();
	gid_t gid = getegid();

	ck_assert_int_eq(unshare(CLONE_NEWNET | (uid == 0 ? 0 : CLONE_NEWUSER)), 0);
	if (uid != 0)
		map_ourselves(uid, gid);
	auto_close int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(ioctl(fd, SIOCSIFFLAGS, &request), 0);
	(void)snprintf(request.ifr_name, sizeof(request.ifr_name), "lo:1");
	*address = (struct sockaddr_in){ .sin_family = AF_INET };
	ck_assert_int_eq(inet_pton(AF_INET, OURS, &address->sin_addr), 1);
	ck_assert_int_eq(ioctl(fd, SIOCSIFADDR, &request), 0);
}

/* t: a TCP socket, d: one of UDP. A connection ends at the gate, a datagram nowhere. */
static const struct {
	const char *python, *call;
	bool is_hosts; /* the command is in the host's network */
	bool is_refused;
} calls[] = {
	{ "t.connect((A, 9))", "", false, false },
	{ "d.connect((A, 9))", "", false, false },
	{ "d.sendto(b\"x\", (A, 9))", "sendto", false, true },
	{ "d.sendmsg([b\"x\"], [], 0, (A, 9))", "sendmsg", false, true },
	{ "socket.socket(socket.AF_INET6, 2).sendto(b\"x\", (\"::ffff:\" + A, 9))", "sendto", false,
	  true },
	{ "n = ctypes.create_string_buffer(struct.pack(\"=HH4s8x\", 2, 0x900, "
	  "socket.inet_aton(A)))\n"
	  "h = struct.pack(\"QIxxxxQQQQIxxxxIxxxx\", ctypes.addressof(n), 16, 0, 0, 0, 0, 0, 0)\n"
	  "c = ctypes.CDLL(None, use_errno=True)\n"
	  "if c.sendmmsg(d.fileno(), h, 1, 0) < 0: raise OSError(ctypes.get_errno(), \"\")",
	  "sendmmsg", false, true },
	{ "d.sendto(b\"x\", (A, 9))", "", true, false },
	{ "t.connect((\"127.0.0.1\", 9))", "", false, false },
	{ "d.sendmsg([b\"x\"], [], 0, (\"127.9.9.9\", 9))", "", false, false },
	{ "d.sendto(b\"x\", (\"0.0.0.0\", 9))", "", false, false },
	{ "d.sendto(b\"x\", (A, 53))", "", false, false }, /* the gate answers */
	{ "socket.socketpair()[0].sendmsg([b\"x\"])", "", false, false },
	{ "d.sendto(b\"x\", (\"192.0.2.1\", 9))", "", false, false }, /* nor has the host a way */
};

START_TEST(address_outside_is_told)
{
	size_t row = (size_t)_i / RIG_USERS;
	struct exec_sandbox *sandbox = NULL;
	struct err why = { 0 };
	struct rig rig;

	memset(&told, 0, sizeof(told));
	enter_network();
	rig_init(&rig, _i % RIG_USERS);
	rig.config.on_refused = on_refused;
	if (calls[row].is_hosts)
		sandbox = words_sandbox("read-only+net", rig.dir, NULL, &why);
	rig.config.sandbox = sandbox;
	auto_free char *script =
		mem_printf("import ctypes, socket, struct\nA = \"%s\"\n"
			   "t = socket.socket(); d = socket.socket(socket.AF_INET, 2)\n"
			   "try: exec(\"\"\"%s\"\"\")\nexcept OSError as e: print(e.errno)\n",
			   OURS, calls[row].python);

	rig_make(&rig, "script", script);
	const char *text = rig_ok(&rig, "/usr/bin/python3 script");

	ck_assert_msg(told.count == calls[row].is_refused, "%s: %u told, %s %s; %s", script,
		      told.count, told.call, told.path, text);
	if (calls[row].is_refused) {
		ck_assert_str_eq(text, "111\n");
		ck_assert_int_eq(told.error, ECONNREFUSED);
		ck_assert_int_eq(told.what, EXEC_REFUSED_NETWORK);
		ck_assert_str_eq(told.call, calls[row].call);
		ck_assert_ptr_nonnull(strstr(told.path, OURS));
	}
	exec_sandbox_free(sandbox);
	rig_done(&rig);
}
END_TEST

/* Of the host, and later than the sandbox: when the command has made "ready". */
static _Noreturn void listen_later(const char *folder)
{
	auto_free char *ready = mem_printf("%s/ready", folder);
	auto_free char *go = mem_printf("%s/go", folder);
	struct sockaddr_un late = { .sun_family = AF_UNIX }, abstract = late;
	int path = socket(AF_UNIX, SOCK_STREAM, 0), name = socket(AF_UNIX, SOCK_STREAM, 0);

	for (int i = 0; i < 2000 && access(ready, F_OK) < 0; i++)
		(void)usleep(10000);
	(void)umask(0);
	(void)snprintf(late.sun_path, sizeof(late.sun_path), "%s/late", folder);
	(void)snprintf(abstract.sun_path + 1, sizeof(abstract.sun_path) - 1, "late");
	if (bind(path, (struct sockaddr *)&late, sizeof(late)) == 0 && listen(path, 5) == 0 &&
	    bind(name, (struct sockaddr *)&abstract, sizeof(abstract)) == 0 && listen(name, 5) == 0)
		(void)close(open(go, O_CREAT | O_WRONLY | O_CLOEXEC, 0666));
	(void)pause();
	_exit(1);
}

/* There the network namespace is the host's, and says of no socket whose it is. */
START_TEST(own_sockets_on_the_hosts_network)
{
	struct err why = { 0 };
	struct rig rig;

	enter_network();
	rig_init(&rig, _i);
	struct exec_sandbox *sandbox = words_sandbox("workspace-write+net", rig.dir, NULL, &why);
	pid_t host = fork();

	ck_assert_int_ge(host, 0);
	if (host == 0)
		listen_later(rig.dir);
	rig.config.sandbox = sandbox;
	rig_make(
		&rig, "script",
		"import os, socket, time\n"
		"def to(name): return socket.socket(socket.AF_UNIX).connect_ex(name)\n"
		"for name in 'mine', os.getcwd() + '/other', '\\0mine':\n"
		"    s = socket.socket(socket.AF_UNIX); s.bind(name); s.listen(); print(to(name))\n"
		"    if name[0] != '\\0': s.close(); print(to(name))\n"
		"open('ready', 'w').close()\n"
		"while not os.path.exists('go'): time.sleep(0.01)\n"
		"print(to('late'), to(os.getcwd() + '/late'), to('\\0late'.ljust(108, '\\0')) in "
		"(1, 13))\n");
	const char *text = rig_ok(&rig, "/usr/bin/python3 script");

	(void)kill(host, SIGKILL);
	(void)waitpid(host, NULL, 0);
	ck_assert_str_eq(text, "0\n111\n0\n111\n0\n13 13 True\n");
	exec_sandbox_free(sandbox);
	rig_done(&rig);
}
END_TEST

TCase *test_notify_network(void)
{
	TCase *tcase = tcase_create("notify-network");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, address_outside_is_told, 0, (int)ARRAY_SIZE(calls) * RIG_USERS);
	tcase_add_loop_test(tcase, own_sockets_on_the_hosts_network, 0, RIG_USERS);
	return tcase;
}
