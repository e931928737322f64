#include "tests/unit/gateway/fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "gateway/gateway_let_go.h"
#include "gateway/link/link_impl.h"
#include "gateway/link/link_server.h"
#include "gateway/link/local.h"
#include "gateway/link/ring.h"
#include "gateway/link/rings.h"
#include "policies/policies_image.h"
#include "policies/policies_tools.h"

#define FREE  "http://free.test:80"
#define RULES "allow http://free.test\nallow http://few.test connections 50000\n"
#define FIRST 32 /* the gateway decides so many before a worker may */

static struct {
	struct gateway_client *client;
	unsigned int cuts;
	struct policy_verdict cut;
} worker;

static void on_exec(uint64_t exec, int *fds, size_t count, void *arg)
{
}

static void on_cut(const struct policy_verdict *verdict, void *arg)
{
	worker.cuts++;
	worker.cut = *verdict;
}

static void submit(struct fixture_request *request, const char *destination, uint64_t exec)
{
	struct policy_facts facts = fixture_facts(destination, exec);

	memset(request, 0, sizeof(*request));
	request->ticket = gateway_submit(worker.client, &facts, fixture_on_verdict, request);
}

static void report(struct fixture_request *request, enum policy_reason closed)
{
	struct gateway_report said = {
		.facts = fixture_facts(FREE, FIXTURE_EXEC),
		.ticket = request->pass,
		.verdict = request->verdict,
		.closed = closed,
		.bytes_down = 7,
	};

	gateway_report(worker.client, &said);
}

/* A worker that has a ring, if the policy permits it: FIRST requests are behind it. */
static void rings_begin(void)
{
	struct fixture_request request;
	int pair[2];

	memset(&worker, 0, sizeof(worker));
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	ck_assert_int_eq(gateway_serve(fixture.gw, pair[0], 0, -1), 0);
	worker.client = gateway_client_connect(fixture.loop, pair[1], on_exec, NULL, NULL);
	gateway_client_decide_by(worker.client, fixture.policy);
	gateway_client_on_cut(worker.client, on_cut);
	for (unsigned int i = 0; i < FIRST; i++) {
		submit(&request, FREE, FIXTURE_EXEC);
		fixture_settle();
		fixture_expect(&request, POLICY_ALLOW, POLICY_RULE_ALLOW);
		report(&request, POLICY_DONE);
	}
	fixture_settle();
}

static void rings_open(const char *rules)
{
	fixture_open(rules);
	rings_begin();
}

static void rings_close(void)
{
	gateway_client_free(worker.client);
	fixture_settle();
	fixture_close();
}

/* The ring in the folder of segments; NULL: there is none. Returned owned. */
static char *ring_path(void)
{
	DIR *folder = opendir(fixture.segments);
	char *path = NULL;

	for (struct dirent *entry; folder && (entry = readdir(folder));) {
		if (strncmp(entry->d_name, "ring.", 5) == 0)
			path = mem_printf("%s/%s", fixture.segments, entry->d_name);
	}
	(void)closedir(folder);
	return path;
}

/* Lets one request go, before the gateway has seen it. */
static void let_go(struct fixture_request *request, const char *destination, uint64_t exec)
{
	submit(request, destination, exec);
	ck_assert_uint_eq(request->told, 0); /* never inside the call */
}

START_TEST(plain_requests_are_let_go_and_recorded)
{
	struct fixture_request request, few, other;

	rings_open(RULES);
	auto_free char *path = ring_path();

	ck_assert_ptr_nonnull(path);
	let_go(&request, FREE, FIXTURE_EXEC);
	submit(&few, "http://few.test:80", FIXTURE_EXEC);
	submit(&other, "http://other.test:80", FIXTURE_EXEC);
	fixture_settle();
	fixture_expect(&request, POLICY_ALLOW, POLICY_RULE_ALLOW);
	ck_assert_str_eq(request.verdict.rule, "<test>:3: allow http://free.test");
	fixture_expect(&few, POLICY_ALLOW, POLICY_RULE_ALLOW);
	ck_assert_uint_eq(other.told, 0); /* a question */
	report(&request, POLICY_DONE);
	report(&few, POLICY_DONE);
	loop_advance(fixture.loop, 10);
	fixture_settle();
	ck_assert_uint_eq(fixture_count_records("decision", "rule_allow"), FIRST + 2);
	ck_assert_uint_eq(fixture_count_records("closed", "done"), FIRST + 2);
	ck_assert_uint_eq(fixture.workers_gone, 0);
	rings_close();
}
END_TEST

START_TEST(a_gateway_that_is_busy_is_told_later)
{
	struct fixture_request requests[100];

	rings_open(RULES);
	for (size_t i = 0; i < 100; i++)
		let_go(&requests[i], FREE, FIXTURE_EXEC);
	for (size_t i = 0; i < 10; i++)
		loop_step(fixture.loop);
	for (size_t i = 0; i < 100; i++)
		fixture_expect(&requests[i], POLICY_ALLOW, POLICY_RULE_ALLOW);
	ck_assert_uint_eq(fixture.approver.heard[SINK_DECISION], FIRST);
	loop_advance(fixture.loop, 10);
	fixture_settle();
	ck_assert_uint_eq(fixture.approver.heard[SINK_DECISION], FIRST + 100);
	for (size_t i = 0; i < 100; i++)
		report(&requests[i], POLICY_DONE);
	rings_close();
}
END_TEST

/* A full ring holds the worker back: what does not fit is asked about. */
START_TEST(a_full_ring_loses_nothing)
{
	enum { MANY = 5000 };
	struct fixture_request *requests = mem_new_array(MANY, sizeof(*requests));

	rings_open(RULES);
	for (size_t i = 0; i < MANY; i++)
		let_go(&requests[i], FREE, FIXTURE_EXEC);
	for (size_t i = 0; i < 40; i++)
		loop_advance(fixture.loop, 10);
	fixture_settle();
	for (size_t i = 0; i < MANY; i++) {
		fixture_expect(&requests[i], POLICY_ALLOW, POLICY_RULE_ALLOW);
		report(&requests[i], POLICY_DONE);
	}
	for (size_t i = 0; i < 40; i++)
		loop_advance(fixture.loop, 10);
	fixture_settle();
	ck_assert_uint_eq(fixture.approver.heard[SINK_DECISION], FIRST + MANY);
	ck_assert_uint_eq(fixture.approver.heard[SINK_CLOSED], FIRST + MANY);
	ck_assert_uint_eq(fixture.workers_gone, 0);
	free(requests);
	rings_close();
}
END_TEST

/* The new policy cuts what the old one let go, also what the gateway had not read; the worker
 * decides nothing by the old one. */
START_TEST(a_new_policy_holds_at_once)
{
	static const char none[] = "version 1\ndefault deny\n";
	struct fixture_request before, after;
	struct policy *policy = policy_new();

	ck_assert_int_eq(policy_load_text_layer(policy, "<new>", none, POLICY_COMMAND_LINE), 0);
	ck_assert_int_eq(policy_finish(policy), 0);
	rings_open(RULES);
	let_go(&before, FREE, FIXTURE_EXEC);
	loop_step(fixture.loop);
	int image = policy_image_make(policy, NULL);

	ck_assert_int_ge(image, 0);
	gateway_reload(fixture.gw, &(struct gateway_reload){ .policy = policy, .image = image });
	submit(&after, FREE, FIXTURE_EXEC);
	fixture_settle();
	fixture_expect(&before, POLICY_ALLOW, POLICY_RULE_ALLOW);
	fixture_expect(&after, POLICY_DENY, POLICY_DEFAULT_DENY);
	ck_assert_uint_eq(worker.cuts, 1);
	ck_assert_int_eq(worker.cut.reason, POLICY_DENIED_SINCE);
	report(&before, POLICY_DENIED_SINCE);
	fixture_settle();
	ck_assert_uint_eq(fixture_count_records("closed", "policy_changed"), 1);
	ck_assert_uint_eq(fixture.workers_gone, 0);
	close(image);
	rings_close();
	policy_free(policy);
}
END_TEST

/* The ends of what it had let go may still come through the ring; they are recorded once. */
START_TEST(a_ring_is_emptied_also_when_the_gateway_decides)
{
	static const char asker[] =
		"version 1\nallow http://free.test\ndeny no.test from \"npm\"\n";
	struct fixture_request request;
	struct policy *policy = policy_new();
	uint64_t heads[4];

	ck_assert_int_eq(policy_load_text_layer(policy, "<new>", asker, POLICY_COMMAND_LINE), 0);
	ck_assert_int_eq(policy_finish(policy), 0);
	rings_open(RULES);
	auto_free char *path = ring_path();

	let_go(&request, FREE, FIXTURE_EXEC);
	fixture_settle();
	int image = policy_image_make(policy, NULL);

	gateway_reload(fixture.gw, &(struct gateway_reload){ .policy = policy, .image = image });
	fixture_settle();
	report(&request, POLICY_DONE);
	loop_advance(fixture.loop, 10);
	fixture_settle();
	ck_assert_uint_eq(fixture_count_records("closed", "done"), FIRST + 1);
	FILE *file = fopen(path, "r");

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fread(heads, sizeof(heads), 1, file), 1);
	(void)fclose(file);
	ck_assert_uint_eq(heads[2], heads[3]); /* kept, written */
	close(image);
	rings_close();
	policy_free(policy);
}
END_TEST

/* A worker's end alone; the gateway's is driven by hand. */
static void put_frame(int socket, const struct frame *frame, const int *fds, size_t count)
{
	ck_assert_int_eq(frame_link_send_on(socket, frame, fds, count), 0);
}

START_TEST(a_cut_may_come_before_the_verdict)
{
	struct fixture_request request;
	struct frame frame;
	int pair[2], fd;

	fixture_open(RULES);
	memset(&worker, 0, sizeof(worker));
	struct ring *ring = ring_new(fixture.segments, "ring.test", &fd);

	ck_assert_ptr_nonnull(ring);
	ring_set(ring, 1);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	worker.client = gateway_client_connect(fixture.loop, pair[1], on_exec, NULL, NULL);
	gateway_client_decide_by(worker.client, fixture.policy);
	gateway_client_on_cut(worker.client, on_cut);
	link_codec_put_hello(&frame);
	put_frame(pair[0], &frame, NULL, 0);
	link_codec_put_number(&frame, LINK_RING, 1);
	put_frame(pair[0], &frame, &fd, 1);
	fixture_settle();
	submit(&request, FREE, FIXTURE_EXEC);
	link_codec_put_cut(
		&frame, 1,
		&(struct policy_verdict){ .action = POLICY_DENY, .reason = POLICY_EXEC_ENDED });
	put_frame(pair[0], &frame, NULL, 0);
	fixture_settle();
	fixture_expect(&request, POLICY_DENY, POLICY_EXEC_ENDED);
	ck_assert_uint_eq(worker.cuts, 0);
	close(fd);
	close(pair[0]);
	ring_free(ring, true);
	rings_close();
}
END_TEST

/* Its worker has not heard that the exec has ended. */
START_TEST(what_an_ended_exec_lets_go_is_cut)
{
	struct fixture_request request;

	rings_open(RULES);
	gateway_exec_end(fixture.gw, FIXTURE_EXEC_TWO, 0);
	fixture_settle();
	submit(&request, FREE, FIXTURE_EXEC_TWO);
	loop_advance(fixture.loop, 10);
	fixture_settle();
	fixture_expect(&request, POLICY_ALLOW, POLICY_RULE_ALLOW);
	ck_assert_uint_eq(worker.cuts, 1);
	ck_assert_int_eq(worker.cut.reason, POLICY_EXEC_ENDED);
	report(&request, POLICY_EXEC_ENDED);
	fixture_settle();
	loop_advance(fixture.loop, 60000);
	ck_assert_uint_eq(fixture.workers_gone, 0); /* no cut is overdue */
	ck_assert_uint_eq(fixture_count_records("decision", "rule_allow"), FIRST + 1);
	ck_assert_uint_eq(fixture_count_records("closed", "exec_ended"), 1);
	rings_close();
}
END_TEST

/* It decides again only when it has heard that. */
START_TEST(the_end_of_an_exec_holds_at_once)
{
	struct fixture_request ended, other;

	rings_open(RULES);
	gateway_exec_end(fixture.gw, FIXTURE_EXEC_TWO, 0);
	fixture.gw->take_turn(fixture.gw);
	submit(&ended, FREE, FIXTURE_EXEC_TWO);
	fixture_settle();
	fixture_expect(&ended, POLICY_DENY, POLICY_EXEC_ENDED);
	let_go(&other, FREE, FIXTURE_EXEC);
	ck_assert_ptr_nonnull(other.ticket);
	loop_step(fixture.loop);
	fixture_expect(&other, POLICY_ALLOW, POLICY_RULE_ALLOW);
	ck_assert_uint_eq(fixture.approver.heard[SINK_DECISION], FIRST + 1); /* not asked */
	report(&other, POLICY_DONE);
	rings_close();
}
END_TEST

START_TEST(a_withdrawal_follows_into_the_ring)
{
	struct fixture_request request;

	rings_open(RULES);
	let_go(&request, FREE, FIXTURE_EXEC);
	gateway_withdraw(request.ticket);
	fixture_settle();
	loop_advance(fixture.loop, 10);
	fixture_settle();
	ck_assert_uint_eq(request.told, 0);
	ck_assert_uint_eq(fixture_count_records("decision", "rule_allow"), FIRST + 1);
	ck_assert_uint_eq(fixture.workers_gone, 0);
	rings_close();
}
END_TEST

static void free_client(struct fixture_request *self)
{
	gateway_client_free(worker.client);
	worker.client = NULL;
}

START_TEST(a_client_may_be_freed_in_its_callback)
{
	struct fixture_request requests[2];

	rings_open(RULES);
	let_go(&requests[0], FREE, FIXTURE_EXEC);
	let_go(&requests[1], FREE, FIXTURE_EXEC);
	requests[0].also = free_client;
	fixture_settle();
	ck_assert_uint_eq(requests[0].told, 1);
	ck_assert_uint_eq(requests[1].told, 0);
	ck_assert_uint_eq(fixture_count_records("decision", "rule_allow"), FIRST + 2);
	rings_close();
}
END_TEST

/* Rules about the requester: the worker does not know it. */
START_TEST(the_gateway_decides_by_other_policies)
{
	static const char *const rules[] = {
		"allow http://free.test\ndeny no.test from \"npm\"",
		"allow http://free.test\ndeny no.test by /usr/bin/curl",
	};

	rings_open(rules[_i]);
	auto_free char *path = ring_path();

	ck_assert_ptr_null(path);
	rings_close();
}
END_TEST

/* What the worker writes is trusted as little as what it sends. */
START_TEST(a_malformed_ring_ends_its_worker)
{
	static const uint64_t wrong[] = { 1, 15, RING_BYTES + 1, UINT64_MAX, 4096 };

	rings_open(RULES);
	auto_free char *path = ring_path();
	FILE *file = fopen(path, "r+");

	ck_assert_ptr_nonnull(file);
	uint64_t heads[4];

	ck_assert_uint_eq(fread(heads, sizeof(heads), 1, file), 1);
	heads[3] += wrong[_i]; /* written: nothing valid is there */
	ck_assert_int_eq(fseek(file, 24, SEEK_SET), 0);
	ck_assert_uint_eq(fwrite(&heads[3], 8, 1, file), 1);
	if (_i == 4) { /* the length of an entry */
		ck_assert_int_eq(fseek(file, 4096 + (long)(heads[2] % RING_BYTES) + 8, SEEK_SET),
				 0);
		ck_assert_uint_eq(fwrite("\xff\xff\xff\xff", 4, 1, file), 1);
	}
	ck_assert_int_eq(fclose(file), 0);
	rings_hold(fixture.gw);
	fixture_settle();
	ck_assert_uint_eq(fixture.workers_gone, 1);
	rings_close();
}
END_TEST

/* It shortens the file: an error, and no signal. */
START_TEST(a_cut_ring_ends_its_worker)
{
	rings_open(RULES);
	auto_free char *path = ring_path();

	ck_assert_int_eq(truncate(path, _i == 0 ? 0 : 16), 0);
	rings_hold(fixture.gw);
	fixture_settle();
	ck_assert_uint_eq(fixture.workers_gone, 1);
	/* The worker's own end has lost its memory. */
	gateway_client_free(worker.client);
	worker.client = NULL;
	rings_close();
}
END_TEST

/* What it has spent comes over the link, its report through the ring, which is read first. */
START_TEST(what_was_spent_may_be_read_after_the_report)
{
	struct fixture_request few;

	rings_open("allow http://free.test\nallow http://few.test download 1m\n");
	submit(&few, "http://few.test:80", FIXTURE_EXEC);
	fixture_settle();
	fixture_expect(&few, POLICY_ALLOW, POLICY_RULE_ALLOW);
	ck_assert_int_eq(
		gateway_spend(few.pass, &(struct gateway_spent){ .needs = { false, true } }), 0);
	report(&few, POLICY_DONE);
	loop_advance(fixture.loop, 10);
	fixture_settle();
	ck_assert_uint_eq(fixture.workers_gone, 0);
	ck_assert_uint_eq(fixture_count_records("closed", "done"), FIRST + 1);
	rings_close();
}
END_TEST

/* As if the run was killed. */
static void leave_a_ring(unsigned int count)
{
	int status;

	fixture_prepare(RULES);
	pid_t child = fork();

	if (child == 0) {
		fixture.config.run = "dead";
		fixture_start();
		rings_begin();
		for (unsigned int i = 0; i < count; i++) {
			struct fixture_request request;

			let_go(&request, FREE, FIXTURE_EXEC);
		}
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}

/* Its gate was killed, and it has not ended yet: nothing of the run is merged without its ring. */
START_TEST(a_ring_in_use_is_merged_later)
{
	leave_a_ring(5);
	auto_free char *path = ring_path();
	int fd = open(path, O_RDWR | O_CLOEXEC);

	ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), 0);
	fixture_start();
	ck_assert_uint_eq(fixture_count_records("killed", NULL), 0);
	close(fd);
	ck_assert_uint_eq(fixture_count_records("decision", "rule_allow"), FIRST + 5);
	ck_assert_uint_eq(fixture_count_records("killed", NULL), 1);
	ck_assert_int_ne(access(path, F_OK), 0);
	fixture_close();
}
END_TEST

/* Makes each write to @path fail: the gateway's descriptor of it becomes one for reading. */
static void fail_writes(const char *path)
{
	for (int fd = 3; fd < 64; fd++) {
		auto_free char *link = mem_printf("/proc/self/fd/%d", fd);
		char target[FIXTURE_PATH_MAX] = "";

		if (readlink(link, target, sizeof(target) - 1) > 0 && strcmp(target, path) == 0) {
			auto_close int own = open(path, O_RDONLY | O_CLOEXEC);

			ck_assert_int_eq(dup2(own, fd), fd);
			return;
		}
	}
	ck_abort_msg("%s is not open", path);
}

/* A worker that cannot be told to stop deciding is ended. */
START_TEST(a_ring_that_cannot_be_written_ends_its_worker)
{
	rings_open(RULES);
	auto_free char *path = ring_path();

	fail_writes(path);
	rings_hold(fixture.gw);
	fixture_settle();
	ck_assert_uint_eq(fixture.workers_gone, 1);
	rings_close();
}
END_TEST

/* A gateway that is freed has heard what its worker let go; the rest is said to nobody. */
START_TEST(a_worker_may_write_until_the_end)
{
	struct fixture_request request;

	rings_open(RULES);
	let_go(&request, FREE, FIXTURE_EXEC);
	fixture_settle();
	rings_hold(fixture.gw);
	local_cut_all(fixture.gw);
	report(&request, POLICY_DONE); /* as gateway_free() does it, and a moment too late */
	link_server_free_all(fixture.gw);
	auto_free char *path = ring_path();

	ck_assert_ptr_null(path);
	ck_assert_uint_eq(fixture_count_records("decision", "rule_allow"), FIRST + 1);
	rings_close();
}
END_TEST

/* The log fails, the worker ends, and its records are written later: no file is left. */
START_TEST(a_ring_is_removed_when_its_records_are_written_later)
{
	struct rlimit limit = { 0, RLIM_INFINITY };
	struct fixture_request let, denied;
	struct stat info;

	rings_open(RULES);
	auto_free char *ring = ring_path();
	auto_free char *segment = mem_printf("%s/", fixture.segments);
	DIR *folder = opendir(fixture.segments);

	for (struct dirent *entry; (entry = readdir(folder));) {
		if (entry->d_name[0] != '.' && strncmp(entry->d_name, "ring.", 5) != 0)
			mem_append(&segment, "%s", entry->d_name);
	}
	(void)closedir(folder);
	ck_assert_int_eq(stat(segment, &info), 0);
	limit.rlim_cur = (rlim_t)info.st_size + 100;
	(void)signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	let_go(&let, FREE, FIXTURE_EXEC);
	submit(&denied, "http://few.test:80", FIXTURE_EXEC);
	fixture_settle();
	fixture_expect(&denied, POLICY_DENY, POLICY_AUDIT_FAILED);
	gateway_client_free(worker.client);
	worker.client = NULL;
	fixture_settle();
	ck_assert_int_eq(access(ring, F_OK), 0);
	limit.rlim_cur = RLIM_INFINITY;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	loop_advance(fixture.loop, 2000);
	fixture_settle();
	ck_assert_uint_eq(fixture_count_records("decision", "rule_allow"), FIRST + 1);
	rings_close(); /* nothing is left in the folder */
}
END_TEST

Suite *suite_rings(void)
{
	Suite *suite = suite_create("rings");
	TCase *tcase = tcase_create("rings");

	tcase_add_test(tcase, plain_requests_are_let_go_and_recorded);
	tcase_add_test(tcase, a_gateway_that_is_busy_is_told_later);
	tcase_add_test(tcase, a_full_ring_loses_nothing);
	tcase_add_test(tcase, a_new_policy_holds_at_once);
	tcase_add_test(tcase, a_cut_may_come_before_the_verdict);
	tcase_add_test(tcase, what_an_ended_exec_lets_go_is_cut);
	tcase_add_test(tcase, a_withdrawal_follows_into_the_ring);
	tcase_add_test(tcase, a_client_may_be_freed_in_its_callback);
	tcase_add_loop_test(tcase, the_gateway_decides_by_other_policies, 0, 2);
	tcase_add_loop_test(tcase, a_malformed_ring_ends_its_worker, 0, 5);
	tcase_add_loop_test(tcase, a_cut_ring_ends_its_worker, 0, 2);
	tcase_add_test(tcase, what_was_spent_may_be_read_after_the_report);
	tcase_add_test(tcase, a_ring_in_use_is_merged_later);
	tcase_add_test(tcase, a_ring_that_cannot_be_written_ends_its_worker);
	tcase_add_test(tcase, a_worker_may_write_until_the_end);
	tcase_add_test(tcase, the_end_of_an_exec_holds_at_once);
	tcase_add_test(tcase, a_ring_is_emptied_also_when_the_gateway_decides);
	tcase_add_test(tcase, a_ring_is_removed_when_its_records_are_written_later);
	suite_add_tcase(suite, tcase);
	return suite;
}
