#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "exec/exec_probe.h"
#include "exec/exec_sandbox.h"
#include "exec/probe/probe.h"
#include "exec/run/bait.h"
#include "exec/run/wire.h"
#include "exec/sandbox/plan.h"
#include "tests/unit/exec/rig.h"
#include "tests/unit/exec/test_exec.h"

/* What the probe reported, from on_probed(). */
static struct exec_probe seen;
static unsigned int seen_count;

static void on_probed(const struct exec_probe *probe, void *arg)
{
	seen = *probe;
	seen_count++;
}

static int listen_unix(const char *path)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(name.sun_path, sizeof(name.sun_path), "%s", path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	ck_assert_int_eq(listen(fd, 8), 0);
	return fd;
}

/* The same functions without a sandbox, in a process of their own. */
static void try_outside(const struct probe_setting *setting, struct exec_probe *ret)
{
	struct exec_probe *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = 0;

	ck_assert_ptr_ne(shared, MAP_FAILED);
	pid_t pid = fork();

	if (pid == 0) {
		probe_try(setting, shared);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	*ret = *shared;
	munmap(shared, sizeof(*shared));
}

/* Every way that does not depend on the machine is found open where it is open. */
START_TEST(outside_of_a_sandbox_the_ways_are_open)
{
	static const enum exec_way open_ways[] = {
		EXEC_WAY_TCP,     EXEC_WAY_ABSTRACT, EXEC_WAY_UNIX,
		EXEC_WAY_CONTROL, EXEC_WAY_OUTSIDE,  EXEC_WAY_PROTECTED,
		EXEC_WAY_HIDDEN,  EXEC_WAY_NETLINK,  EXEC_WAY_SET_USER_ID,
	};
	struct rig rig;
	struct plan plan = { 0 };
	struct bait bait = BAIT_NONE;
	struct err why = { 0 };

	rig_init(&rig, _i);
	auto_free char *path = mem_printf("%s/socket", rig.dir);
	auto_free char *folder = mem_printf("f%s", rig.outside);
	auto_free char *kept = mem_printf("k%s", rig.dir);
	auto_free char *hidden = mem_printf("d%s", rig.dir);
	auto_close int server = listen_unix(path);
	char *const mounts[] = { kept, hidden, NULL };
	char *const sockets[] = { path, NULL };

	paths_add(&plan.baits, folder);
	ck_assert_int_eq(bait_open(&bait, &plan, path, &why), 0);

	const struct probe_setting setting = { .mounts = mounts,
					       .sockets = sockets,
					       .baits = plan.baits.list };
	struct exec_probe probe = { 0 };

	try_outside(&setting, &probe);
	for (size_t i = 0; i < ARRAY_SIZE(open_ways); i++)
		ck_assert_msg(probe.ways[open_ways[i]] == EXEC_TRY_OPEN, "%s: %d",
			      exec_way_name(open_ways[i]), probe.ways[open_ways[i]]);
	for (int i = 0; i < EXEC_WAYS; i++)
		ck_assert_msg(probe.ways[i] != EXEC_TRY_NONE, "%s was not tried",
			      exec_way_name((enum exec_way)i));
	ck_assert(!exec_probe_holds(&probe));
	ck_assert_str_eq(exec_probe_grade(&probe), "failed");
	ck_assert_int_eq(rmdir(rig.outside), 0); /* nothing was left there */
	bait_close(&bait);
	paths_done(&plan.baits);
	rig_done(&rig);
}
END_TEST

START_TEST(inside_all_is_refused)
{
	struct rig rig;

	rig_init(&rig, _i);
	rig_make(&rig, ".git/config", "[core]\n");
	seen_count = 0;
	rig.config.on_probed = on_probed;
	ck_assert_str_eq(rig_ok(&rig, "echo started"), "started\n");
	auto_free char *text = exec_probe_text(&seen);

	ck_assert_uint_eq(seen_count, 1);
	ck_assert_msg(exec_probe_holds(&seen), "%s", text);
	ck_assert_str_eq(exec_probe_grade(&seen), "full");
	ck_assert_int_eq(seen.ways[EXEC_WAY_TCP], EXEC_TRY_REFUSED);
	ck_assert_int_eq(seen.ways[EXEC_WAY_UDP], EXEC_TRY_REFUSED);
	ck_assert_int_eq(seen.ways[EXEC_WAY_ABSTRACT], EXEC_TRY_REFUSED);
	ck_assert_int_eq(seen.ways[EXEC_WAY_OUTSIDE], EXEC_TRY_REFUSED);
	ck_assert_int_eq(rig.result.probe.ways[EXEC_WAY_BPF], EXEC_TRY_REFUSED);
	rig_done(&rig);
}
END_TEST

/* The hole is real: the sandbox permits the socket that is called the control socket. */
START_TEST(a_hole_starts_nothing)
{
	struct rig rig;
	static const char *const argv[] = { "touch", "started", NULL };

	rig_init(&rig, _i);
	auto_free char *path = mem_printf("%s/socket", rig.outside);
	auto_close int server = listen_unix(path);
	const char *const sockets[] = { path, NULL };

	seen_count = 0;
	rig.config.on_probed = on_probed;
	rig.config.control = path;
	rig.config.sockets = sockets;
	ck_assert(rig_start(&rig, argv));
	rig_wait(&rig);
	ck_assert_uint_eq(seen_count, 1);
	ck_assert_int_eq(seen.ways[EXEC_WAY_CONTROL], EXEC_TRY_OPEN);
	ck_assert_int_eq(rig.result.end, EXEC_PROCESS_NOT_STARTED);
	ck_assert_int_eq(rig.result.status, 125);
	ck_assert_ptr_nonnull(strstr(rig.result.why, "the gate's control socket (control)"));
	auto_free char *made = mem_printf("%s/started", rig.dir);

	ck_assert_int_eq(access(made, F_OK), -1);
	rig_done(&rig);
}
END_TEST

/* On the host's network a part of the ways is what the command is for. */
START_TEST(the_network_is_left_out)
{
	struct rig rig;
	struct err why = { 0 };

	rig_init(&rig, _i);
	const struct exec_sandbox_config config = {
		.mode = EXEC_MODE_WORKSPACE_WRITE,
		.network = EXEC_NETWORK_ENABLED,
		.cwd = rig.dir,
	};
	struct exec_sandbox *sandbox = exec_sandbox_new(&config, &why);

	seen_count = 0;
	rig.config.sandbox = sandbox;
	rig.config.on_probed = on_probed;
	ck_assert_str_eq(rig_ok(&rig, "echo started"), "started\n");
	ck_assert_uint_eq(seen_count, 1);
	ck_assert_str_eq(exec_probe_grade(&seen), "reduced");
	ck_assert_int_eq(seen.ways[EXEC_WAY_TCP], EXEC_TRY_NETWORK);
	ck_assert_int_eq(seen.ways[EXEC_WAY_PACKET], EXEC_TRY_REFUSED);
	ck_assert_int_eq(seen.ways[EXEC_WAY_OUTSIDE], EXEC_TRY_REFUSED);
	exec_sandbox_free(sandbox);
	rig_done(&rig);
}
END_TEST

static unsigned int refused_count;

static void on_refused(const struct exec_evidence *evidence, void *arg)
{
	refused_count++;
}

/* The gate is told of every refusal: the probe's are none. */
START_TEST(the_probe_leaves_no_evidence)
{
	struct rig rig;

	rig_init(&rig, 0);
	refused_count = 0;
	seen_count = 0;
	rig.config.on_probed = on_probed;
	rig.config.on_refused = on_refused;
	rig.config.tells_briefly = _i == 1;
	ck_assert_str_eq(rig_ok(&rig, "echo started"), "started\n");
	auto_free char *text = exec_probe_text(&seen);

	ck_assert_uint_eq(seen_count, 1);
	ck_assert_msg(exec_probe_holds(&seen), "%s", text);
	ck_assert_uint_eq(refused_count, 0);
	ck_assert_uint_eq(rig.result.refused, 0);
	rig_done(&rig);
}
END_TEST

TCase *test_probe(void)
{
	TCase *test = tcase_create("probe");

	tcase_set_timeout(test, 120);
	tcase_add_loop_test(test, outside_of_a_sandbox_the_ways_are_open, 0, RIG_USERS);
	tcase_add_loop_test(test, inside_all_is_refused, 0, RIG_USERS);
	tcase_add_loop_test(test, a_hole_starts_nothing, 0, RIG_USERS);
	tcase_add_loop_test(test, the_network_is_left_out, 0, RIG_USERS);
	tcase_add_loop_test(test, the_probe_leaves_no_evidence, 0, 2);
	return test;
}
