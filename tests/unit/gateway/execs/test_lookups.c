#include "gateway/execs/lookups.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "gateway/execs/execs.h"
#include "gateway/grants/live_requests.h"
#include "policies/policies_tools.h"
#include "tests/unit/gateway/fixture.h"

#define CROWD_PROCESSES 16
#define CROWD_THREADS   64
#define CROWD_WORK      (CROWD_PROCESSES * CROWD_THREADS) /* at least, in names read */

/* A child stands for pid 1 of a sandbox. What it starts is a crowd of processes and threads; the
 * connections are this one's own, made by the child. */
static struct {
	pid_t init;
	int listener, accepted, ready[2];
	uint16_t port, peer_port;
} stage;

static void *stage_thread(void *arg)
{
	for (;;)
		(void)pause();
	return arg;
}

static _Noreturn void stage_crowd(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, 65536);
	for (int i = 0; i < CROWD_THREADS; i++)
		(void)pthread_create(&thread, &attr, stage_thread, NULL);
	if (write(stage.ready[1], "", 1) != 1)
		_exit(1);
	for (;;)
		(void)pause();
}

static _Noreturn void stage_init(unsigned int processes)
{
	struct sockaddr_in name = { .sin_family = AF_INET,
				    .sin_port = htons(stage.port),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned int i = 0; i < processes; i++) {
		if (fork() == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			stage_crowd();
		}
	}
	if (fork() == 0) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (fd < 0 || connect(fd, (struct sockaddr *)&name, sizeof(name)) < 0 ||
		    write(stage.ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			(void)pause();
	}
	for (;;)
		(void)pause();
}

static void stage_open(unsigned int processes)
{
	struct sockaddr_in name = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(name);
	char byte;

	stage.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(stage.listener, (struct sockaddr *)&name, sizeof(name)), 0);
	ck_assert_int_eq(listen(stage.listener, 1), 0);
	ck_assert_int_eq(getsockname(stage.listener, (struct sockaddr *)&name, &len), 0);
	stage.port = ntohs(name.sin_port);
	ck_assert_int_eq(pipe(stage.ready), 0);
	stage.init = fork();
	ck_assert_int_ge(stage.init, 0);
	if (stage.init == 0)
		stage_init(processes);
	stage.accepted = accept4(stage.listener, (struct sockaddr *)&name, &len, SOCK_CLOEXEC);
	ck_assert_int_ge(stage.accepted, 0);
	stage.peer_port = ntohs(name.sin_port);
	for (unsigned int i = 0; i < processes + 1; i++)
		ck_assert_int_eq((int)read(stage.ready[0], &byte, 1), 1);
}

static void stage_close(void)
{
	(void)kill(-stage.init, SIGKILL);
	(void)waitpid(stage.init, NULL, 0);
	fd_close(stage.accepted);
	fd_close(stage.listener);
	fd_close(stage.ready[0]);
	fd_close(stage.ready[1]);
}

/* The exec is who is on the stage. */
static void stage_give(uint64_t id)
{
	static const char *const argv[] = { "sh", NULL };
	struct gateway_exec *exec = execs_find(fixture.gw, id);
	int sockets = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	gateway_exec_set_argv(fixture.gw, id, argv);
	exec->who = socket_owner_new(stage.init, sockets);
	exec->ports[0] = stage.port;
}

static void submit_from(struct fixture_request *request, const char *destination)
{
	struct policy_facts facts = fixture_facts(destination, FIXTURE_EXEC);

	facts.peer_port = stage.peer_port;
	facts.way = POLICY_WAY_CONNECT;
	*request = (struct fixture_request){ 0 };
	request->ticket = gateway_submit(fixture.client, &facts, fixture_on_verdict, request);
}

static char self[SOCKET_OWNER_PROGRAM_MAX];

static char *rule_by_self(const char *destination)
{
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	ck_assert_int_gt((int)n, 0);
	self[n] = '\0';
	return mem_printf("allow %s by %s\n", destination, self);
}

/* Reads in pieces, none of which is larger than it says, and finds the same. */
START_TEST(a_scan_is_read_in_pieces)
{
	struct socket_owner_want want = { 0 };
	struct socket_owner_found found;
	unsigned int pieces = 0;
	int r;

	stage_open(CROWD_PROCESSES);
	struct socket_owner *who = socket_owner_new(
		stage.init, socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
	struct socket_owner_scan *scan = socket_owner_scan_new(who);

	want.peer_port = stage.peer_port;
	want.port = stage.port;
	socket_owner_scan_add(scan, &want);
	while (socket_owner_scan_step(scan, LOOKUPS_WORK))
		pieces++;
	ck_assert_uint_ge(pieces, CROWD_WORK / LOOKUPS_WORK);
	ck_assert_ptr_eq(socket_owner_scan_take(scan, &found, &r), &want);
	ck_assert_int_eq(r, 0);
	free(rule_by_self("a.test"));
	ck_assert_str_eq(found.program, self);
	socket_owner_scan_free(scan);
	socket_owner_free(who);
	stage_close();
}
END_TEST

START_TEST(a_scan_that_is_cut_off_finds_nobody)
{
	struct socket_owner_want want = { 0 };
	struct socket_owner_found found;
	int r = 0;

	stage_open(0);
	struct socket_owner *who = socket_owner_new(
		stage.init, socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
	struct socket_owner_scan *scan = socket_owner_scan_new(who);

	want.peer_port = stage.peer_port;
	want.port = stage.port;
	socket_owner_scan_add(scan, &want);
	while (want.pid == 0)
		ck_assert(socket_owner_scan_step(scan, 1));
	/* It has been met, and there may be others. */
	ck_assert_ptr_eq(socket_owner_scan_take(scan, &found, &r), &want);
	ck_assert_int_eq(r, -ESRCH);
	ck_assert_str_eq(found.program, "");
	socket_owner_scan_free(scan);
	socket_owner_free(who);
	stage_close();
}
END_TEST

/* Something else that the loop has to do, in every turn, until the request has its verdict. */
static struct {
	struct loop_timer timer;
	struct fixture_request *request;
	unsigned int count;
	void (*once)(void);
} beat;

static void on_beat(void *arg)
{
	const struct waiter *waiter = (struct waiter *)beat.request->ticket;

	beat.count++;
	if (beat.once && waiter->lookup)
		take(beat.once)();
	if (beat.request->ticket)
		loop_defer(fixture.loop, &beat.timer, on_beat, NULL);
}

static void beat_on(struct fixture_request *request, void (*once)(void))
{
	beat.request = request;
	beat.once = once;
	loop_defer(fixture.loop, &beat.timer, on_beat, NULL);
}

static void note_order(struct fixture_request *request)
{
	const struct fixture_request *other = request->also_arg;

	/* It is still being looked for whose the other one is. */
	ck_assert_uint_eq(other->told, 0);
	ck_assert_ptr_nonnull(((struct waiter *)other->ticket)->lookup);
}

START_TEST(a_crowd_in_one_exec_holds_up_no_other)
{
	struct fixture_request slow, other = { .also = note_order, .also_arg = &slow };
	auto_free char *rule = rule_by_self("a.test");
	auto_free char *rules = mem_printf("%sallow b.test\n", rule);

	stage_open(CROWD_PROCESSES);
	fixture_open(rules);
	stage_give(FIXTURE_EXEC);
	submit_from(&slow, "https://a.test:443");
	beat_on(&slow, NULL);
	fixture_submit(&other, "https://b.test:443", FIXTURE_EXEC_TWO);
	fixture_settle();
	fixture_expect(&other, POLICY_ALLOW, POLICY_RULE_ALLOW);
	fixture_expect(&slow, POLICY_ALLOW, POLICY_RULE_ALLOW);
	ck_assert_uint_ge(beat.count, CROWD_WORK / LOOKUPS_WORK);
	fixture_close();
	stage_close();
}
END_TEST

/* Also in front of a question, which says who asks. */
START_TEST(a_crowd_holds_up_no_other_question)
{
	struct fixture_request slow, other = { 0 };

	stage_open(CROWD_PROCESSES);
	fixture_open(NULL);
	stage_give(FIXTURE_EXEC);
	submit_from(&slow, "https://a.test:443");
	fixture_submit(&other, "https://b.test:443", FIXTURE_EXEC_TWO);
	fixture_settle();
	ck_assert_uint_eq(fixture.approver.asked, 2);
	ck_assert_str_eq(fixture.approver.last.dst.host, "a.test"); /* the other one was first */
	free(rule_by_self("a.test"));
	ck_assert_str_eq(fixture.approver.last.program, self);
	ck_assert_str_eq(fixture.approver.last.chain, "test-gateway");
	gateway_withdraw(slow.ticket);
	gateway_withdraw(other.ticket);
	fixture_close();
	stage_close();
}
END_TEST

/* The answer for its program reaches a request whose program is looked up only then. */
START_TEST(a_question_ends_by_the_answer_that_decided_it)
{
	const struct approver_answer answer = { .action = POLICY_ALLOW,
						.scope = GATEWAY_SESSION,
						.by = "ana",
						.width = { .is_program = true } };
	struct fixture_request first, second;

	stage_open(1);
	fixture_open(NULL);
	stage_give(FIXTURE_EXEC);
	submit_from(&first, "https://a.test:443");
	fixture_settle();
	submit_from(&second, "https://a.test:443");
	fixture_settle();
	ck_assert_int_eq(gateway_answer(fixture.gw, fixture.approver.last.id, &answer, NULL), 0);
	ck_assert_uint_eq(fixture.approver.retracted, 0); /* who asked second is not known yet */
	fixture_settle();
	fixture_expect(&first, POLICY_ALLOW, POLICY_GRANTED_SESSION);
	fixture_expect(&second, POLICY_ALLOW, POLICY_GRANTED_SESSION);
	ck_assert_uint_eq(fixture.approver.retracted, 1);
	ck_assert_msg(strstr(fixture.approver.how, "allowed by ana, with https://a.test:443 by "),
		      "%s", fixture.approver.how);
	fixture_close();
	stage_close();
}
END_TEST

static void leave(void)
{
	gateway_withdraw(take(beat.request->ticket));
}

START_TEST(one_that_is_looked_up_may_leave)
{
	struct fixture_request slow, next;
	auto_free char *rule = rule_by_self("a.test");

	stage_open(CROWD_PROCESSES);
	fixture_open(rule);
	stage_give(FIXTURE_EXEC);
	submit_from(&slow, "https://a.test:443");
	beat_on(&slow, leave);
	fixture_settle();
	ck_assert_uint_eq(slow.told, 0);
	submit_from(&next, "https://a.test:443");
	fixture_settle();
	fixture_expect(&next, POLICY_ALLOW, POLICY_RULE_ALLOW);
	fixture_close();
	stage_close();
}
END_TEST

static void end_exec(void)
{
	gateway_exec_end(fixture.gw, FIXTURE_EXEC, 0);
}

START_TEST(an_exec_may_end_while_it_is_looked_at)
{
	struct fixture_request slow;
	auto_free char *rule = rule_by_self("a.test");

	stage_open(CROWD_PROCESSES);
	fixture_open(rule);
	stage_give(FIXTURE_EXEC);
	submit_from(&slow, "https://a.test:443");
	beat_on(&slow, end_exec);
	fixture_settle();
	fixture_expect(&slow, POLICY_DENY, POLICY_EXEC_ENDED);
	fixture_close();
	stage_close();
}
END_TEST

static void reload(const char *rules)
{
	auto_free char *text = mem_printf("version 1\n%s\n", rules);
	struct policy *policy = policy_new();

	ck_assert_int_eq(policy_load_text(policy, "<new>", text), 0);
	ck_assert_msg(policy_finish(policy) == 0, "%s", policy_errors(policy));
	gateway_reload(fixture.gw,
		       &(struct gateway_reload){
			       .image = -1, .policy = policy, .digest = "0123", .files = "<new>" });
	policy_free(fixture.policy);
	fixture.policy = policy;
}

static unsigned int cuts;

static void on_cut(const struct policy_verdict *verdict, void *arg)
{
	struct fixture_request *request = arg;
	struct gateway_report report = { .facts = fixture_facts("https://a.test:443", FIXTURE_EXEC),
					 .ticket = take(request->pass),
					 .verdict = request->verdict,
					 .closed = verdict->reason };

	cuts++;
	gateway_report(fixture.client, &report);
}

/* More than one turn looks at; each is looked up once, in one scan of them all. */
#define LIVE_COUNT 300

static struct fixture_request lives[LIVE_COUNT];

START_TEST(a_reload_looks_at_what_is_open_in_pieces)
{
	auto_free char *rule = rule_by_self("a.test");
	auto_free char *ours = mem_printf("default deny\n%s", rule);
	struct fixture_request other = { .also = NULL };

	stage_open(CROWD_PROCESSES);
	fixture_open("allow a.test");
	gateway_client_on_cut(fixture.client, on_cut);
	stage_give(FIXTURE_EXEC);
	for (size_t i = 0; i < LIVE_COUNT; i++)
		submit_from(&lives[i], "https://a.test:443");
	fixture_settle();
	for (size_t i = 0; i < LIVE_COUNT; i++)
		fixture_expect(&lives[i], POLICY_ALLOW, POLICY_RULE_ALLOW);
	reload(ours);
	/* No part of it runs inside the call, and new requests are served between its parts. */
	ck_assert_ptr_eq(fixture.gw->reviewing.next, TAILQ_FIRST(&fixture.gw->live.open));
	fixture_ask(&other, "https://b.test:443", FIXTURE_EXEC_TWO);
	fixture_expect(&other, POLICY_DENY, POLICY_DEFAULT_DENY);
	ck_assert_uint_eq(cuts, 0); /* it is the program that the rule names */
	ck_assert_ptr_null(fixture.gw->reviewing.next);
	reload("default deny\nallow a.test by /bin/false");
	fixture_settle();
	ck_assert_uint_eq(cuts, LIVE_COUNT);
	fixture_close();
	stage_close();
}
END_TEST

static void report_end(struct fixture_request *request)
{
	const struct gateway_report report = {
		.facts = fixture_facts("https://a.test:443", FIXTURE_EXEC),
		.ticket = take(request->pass),
		.verdict = request->verdict,
		.closed = POLICY_CLIENT_CLOSED,
	};

	gateway_report(fixture.client, &report);
}

static void expect_program_at_end(struct fixture_request *request, bool is_known)
{
	report_end(request);
	fixture_settle();
	auto_free char *record = fixture_record("closed");
	auto_free char *member = mem_printf("\"program\":\"%s\"", self);

	ck_assert_int_eq(strstr(record, member) != NULL, is_known);
}

static void note_not_waiting(struct fixture_request *request)
{
	const struct waiter *waiter = (struct waiter *)request->pass;

	ck_assert_ptr_null(waiter->program);
}

/* No rule and no answer needs it, so the verdict comes first. */
START_TEST(the_end_of_what_a_rule_allows_names_the_program)
{
	struct fixture_request request;

	free(rule_by_self("a.test"));
	stage_open(CROWD_PROCESSES);
	fixture_open("allow a.test");
	stage_give(FIXTURE_EXEC);
	submit_from(&request, "https://a.test:443");
	request.also = note_not_waiting;
	fixture_settle();
	fixture_expect(&request, POLICY_ALLOW, POLICY_RULE_ALLOW);
	expect_program_at_end(&request, true);
	fixture_close();
	stage_close();
}
END_TEST

/* The command chooses how many requests there are: they share scans, and a scan that nobody waits
 * for comes after a pause. */
START_TEST(many_allowed_requests_do_not_search_all_the_time)
{
	struct fixture_request request, asks;
	const struct waiter *waiter;
	unsigned int known = 0, scans = 0;

	stage_open(CROWD_PROCESSES);
	fixture_open("allow a.test");
	stage_give(FIXTURE_EXEC);
	for (size_t i = 0; i < LIVE_COUNT; i++)
		submit_from(&lives[i], "https://a.test:443");
	fixture_settle();
	for (size_t i = 0; i < LIVE_COUNT; i++)
		known += ((struct waiter *)lives[i].pass)->program != NULL;
	ck_assert_uint_eq(known, LOOKUPS_NOTED_MAX);
	/* The clock stands still, so what may be used in advance is used up soon. */
	do {
		submit_from(&request, "https://a.test:443");
		fixture_settle();
		waiter = (struct waiter *)request.pass;
	} while (waiter->program && ++scans < LOOKUPS_BURST_MS / LOOKUPS_PART_MS);
	ck_assert_uint_le(scans, LOOKUPS_BURST_MS / LOOKUPS_PART_MS / (CROWD_WORK / LOOKUPS_WORK));
	ck_assert_ptr_nonnull(waiter->lookup);
	/* What waits for its program does not wait for the pause. */
	submit_from(&asks, "https://b.test:443");
	fixture_settle();
	ck_assert_uint_eq(fixture.approver.asked, 1);
	free(rule_by_self("b.test"));
	ck_assert_str_eq(fixture.approver.last.program, self);
	gateway_withdraw(asks.ticket);
	submit_from(&request, "https://a.test:443");
	fixture_settle();
	waiter = (struct waiter *)request.pass;
	ck_assert_ptr_null(waiter->program);
	loop_advance(fixture.loop, 60000);
	fixture_settle();
	ck_assert_ptr_nonnull(waiter->program);
	fixture_close();
	stage_close();
}
END_TEST

Suite *suite_lookups(void)
{
	Suite *suite = suite_create("lookups");
	TCase *tcase = tcase_create("lookups");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, a_scan_is_read_in_pieces);
	tcase_add_test(tcase, a_scan_that_is_cut_off_finds_nobody);
	tcase_add_test(tcase, a_crowd_in_one_exec_holds_up_no_other);
	tcase_add_test(tcase, a_crowd_holds_up_no_other_question);
	tcase_add_test(tcase, a_question_ends_by_the_answer_that_decided_it);
	tcase_add_test(tcase, one_that_is_looked_up_may_leave);
	tcase_add_test(tcase, an_exec_may_end_while_it_is_looked_at);
	tcase_add_test(tcase, a_reload_looks_at_what_is_open_in_pieces);
	tcase_add_test(tcase, the_end_of_what_a_rule_allows_names_the_program);
	tcase_add_test(tcase, many_allowed_requests_do_not_search_all_the_time);
	suite_add_tcase(suite, tcase);
	return suite;
}
