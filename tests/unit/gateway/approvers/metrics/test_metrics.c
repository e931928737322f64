/* The counts, their text, and the server that hands them out. */
#include <check.h>
#include <errno.h>
#include <event2/buffer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "gateway/approvers/metrics/metrics.h"
#include "gateway/approvers/metrics/metrics_text.h"
#include "gateway/approvers/table.h"
#include "gateway/gateway_metrics.h"
#include "gateway/gateway_open.h"
#include "policies/policies_tools.h"

static char *text_of(const struct metrics_counts *counts, const char *version)
{
	const struct metrics_now now = { .version = version,
					 .connections = 3,
					 .grants = 2,
					 .workers = 1,
					 .is_recording = true,
					 .denied = 7,
					 .lost = 8 };
	struct evbuffer *out = evbuffer_new();

	ck_assert_ptr_nonnull(out);
	ck_assert_int_eq(metrics_text(out, counts, &now), 0);
	size_t len = evbuffer_get_length(out);
	char *text = mem_new(len + 1);

	ck_assert_int_eq(evbuffer_remove(out, text, len), (int)len);
	evbuffer_free(out);
	return text;
}

static void must_have(const char *text, const char *line)
{
	auto_free char *whole = mem_printf("\n%s\n", line);

	ck_assert_msg(strstr(text, whole) != NULL, "%s is not in:\n%s", line, text);
}

static void decide(struct metrics_counts *counts, const char *rule, enum policy_action action,
		   uint64_t ms)
{
	struct policy_verdict verdict = { .action = action };
	const struct policy_facts facts = { .dst = { .protocol = POLICY_HTTPS } };
	const struct sink_record record = {
		.event = SINK_DECISION,
		.facts = &facts,
		.verdict = &verdict,
		.reason = action == POLICY_ALLOW ? POLICY_RULE_ALLOW : POLICY_RULE_DENY,
		.duration_ms = ms,
	};

	(void)snprintf(verdict.rule, sizeof(verdict.rule), "%s", rule);
	metrics_counts_record(counts, &record);
}

START_TEST(values_of_labels_are_escaped)
{
	struct metrics_counts counts = { 0 };

	decide(&counts, "/home/a\"b\\c\nd/policy:3: deny x.test", POLICY_DENY, 0);
	auto_free char *text = text_of(&counts, "1.\"2\"");

	must_have(text, "sallyport_build_info{version=\"1.\\\"2\\\"\"} 1");
	must_have(text, "sallyport_rule_decisions_total{rule=\"/home/a\\\"b\\\\c\\nd/policy:3\","
			"verdict=\"deny\"} 1");
	metrics_counts_done(&counts);
}
END_TEST

START_TEST(parts_of_a_distribution_are_sums)
{
	static const uint64_t times[] = { 0, 1, 2, 10, 11, 100, 5000, 5001, 7200000 };
	struct metrics_counts counts = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		decide(&counts, "p:1: allow a.test", POLICY_ALLOW, times[i]);
	auto_free char *text = text_of(&counts, "1");

	must_have(text, "sallyport_decision_seconds_bucket{le=\"0.001\"} 2\n"
			"sallyport_decision_seconds_bucket{le=\"0.01\"} 4\n"
			"sallyport_decision_seconds_bucket{le=\"0.1\"} 6\n"
			"sallyport_decision_seconds_bucket{le=\"1\"} 6\n"
			"sallyport_decision_seconds_bucket{le=\"5\"} 7\n"
			"sallyport_decision_seconds_bucket{le=\"15\"} 8");
	must_have(text, "sallyport_decision_seconds_bucket{le=\"3600\"} 8\n"
			"sallyport_decision_seconds_bucket{le=\"+Inf\"} 9\n"
			"sallyport_decision_seconds_sum 7210.125\n"
			"sallyport_decision_seconds_count 9");
	metrics_counts_done(&counts);
}
END_TEST

/* The rule of a default has no place, and a path may look like one. */
START_TEST(rules_have_a_limit)
{
	static const char *const none[] = { "", "the default", ":4: x", "a: b", "x:: y" };
	struct metrics_counts counts = { 0 };
	char rule[64], line[128];

	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		decide(&counts, none[i], POLICY_ALLOW, 0);
	ck_assert_uint_eq(counts.rule_count, 0);
	for (int i = 1; i <= METRICS_RULES_MAX + 5; i++) {
		(void)snprintf(rule, sizeof(rule), "a: b:1/p:%d: deny %d.test", i, i);
		decide(&counts, rule, POLICY_DENY, 0);
		decide(&counts, rule, POLICY_ALLOW, 0);
	}
	auto_free char *text = text_of(&counts, "1");

	ck_assert_uint_eq(counts.rule_count, METRICS_RULES_MAX);
	must_have(text, "sallyport_rule_decisions_total{rule=\"a: b:1/p:1\",verdict=\"deny\"} 1");
	(void)snprintf(line, sizeof(line),
		       "sallyport_rule_decisions_total{rule=\"a: b:1/p:%d\",verdict=\"allow\"} 1",
		       METRICS_RULES_MAX);
	must_have(text, line);
	must_have(text, "sallyport_rule_decisions_total{rule=\"other\",verdict=\"deny\"} 5\n"
			"sallyport_rule_decisions_total{rule=\"other\",verdict=\"allow\"} 5");
	metrics_counts_done(&counts);
}
END_TEST

/* What was counted is counted, and what a command chooses is in no label. */
START_TEST(records_are_counted)
{
	const struct policy_verdict denied = { .action = POLICY_DENY };
	const struct sink_times times = { .count = 40 };
	const struct policy_facts facts = {
		.dst = { .host = "secret.test", .protocol = POLICY_TCP, .port = 7 }
	};
	const struct sink_record records[] = {
		{ .event = SINK_EXEC_START, .command = "secret command" },
		{ .event = SINK_DECISION,
		  .kind = "exec",
		  .verdict = &denied,
		  .reason = POLICY_RULE_DENY },
		{ .event = SINK_DECISION,
		  .kind = "secret kind",
		  .verdict = &denied,
		  .reason = POLICY_RULE_DENY },
		{ .event = SINK_DECISION,
		  .facts = &facts,
		  .verdict = &denied,
		  .reason = POLICY_DEFAULT_DENY,
		  .times = &times },
		{ .event = SINK_CLOSED,
		  .facts = &facts,
		  .reason = POLICY_DONE,
		  .bytes_up = 5,
		  .bytes_down = 70,
		  .duration_ms = 1500,
		  .dns_ms = 5,
		  .dial_ms = 251 },
		{ .event = SINK_DECISION,
		  .facts = &facts,
		  .verdict = &denied,
		  .reason = POLICY_CONNECT_TIMEOUT,
		  .dns_ms = 6,
		  .dial_ms = 10001 },
		{ .event = SINK_GRANTED, .cause = "secret grant" },
	};
	struct metrics_counts counts = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(records); i++)
		metrics_counts_record(&counts, &records[i]);
	auto_free char *text = text_of(&counts, "1");

	must_have(text, "sallyport_decisions_total{verdict=\"deny\",kind=\"exec\",reason=\"rule_"
			"deny\"} 1");
	must_have(text, "sallyport_decisions_total{verdict=\"deny\",kind=\"other\",reason=\"rule_"
			"deny\"} 1");
	must_have(text, "sallyport_decisions_total{verdict=\"deny\",kind=\"tcp\",reason=\"default_"
			"deny\"} 40");
	must_have(text, "sallyport_connections_total{kind=\"tcp\",reason=\"done\"} 1");
	must_have(text, "sallyport_bytes_total{direction=\"up\"} 5\n"
			"sallyport_bytes_total{direction=\"down\"} 70");
	must_have(text, "sallyport_connection_seconds_sum 1.500");
	must_have(text, "sallyport_dns_seconds_bucket{le=\"0.005\"} 1\n"
			"sallyport_dns_seconds_bucket{le=\"0.01\"} 2");
	must_have(text, "sallyport_dns_seconds_sum 0.011\n"
			"sallyport_dns_seconds_count 2");
	must_have(text, "sallyport_dial_seconds_bucket{le=\"0.25\"} 0\n"
			"sallyport_dial_seconds_bucket{le=\"0.5\"} 1");
	must_have(text, "sallyport_dial_seconds_bucket{le=\"10\"} 1\n"
			"sallyport_dial_seconds_bucket{le=\"+Inf\"} 2\n"
			"sallyport_dial_seconds_sum 10.252");
	must_have(text, "sallyport_records_total{event=\"exec_start\"} 1\n"
			"sallyport_records_total{event=\"decision\"} 4\n"
			"sallyport_records_total{event=\"closed\"} 1\n"
			"sallyport_records_total{event=\"granted\"} 1");
	must_have(text, "sallyport_connections_open 3");
	must_have(text, "sallyport_grants 2");
	must_have(text, "sallyport_workers 1");
	must_have(text, "sallyport_audit_writable 1");
	must_have(text, "sallyport_audit_denied_total 7");
	must_have(text, "sallyport_audit_dropped_total 8");
	ck_assert_ptr_null(strstr(text, "secret"));
	metrics_counts_done(&counts);
}
END_TEST

static const struct {
	enum policy_reason reason;
	const char *by, *source;
	bool is_answer;
} ends[] = {
	{ POLICY_GRANTED_ONCE, "ana on tty", "terminal", true },
	{ POLICY_DENIED_SESSION, "ana on web", "page", true },
	{ POLICY_GRANTED_ALWAYS, "ana on tty on approve", "approve", true },
	{ POLICY_ABORTED, "a link", "person", true },
	{ POLICY_GRANTED_EXEC, NULL, "person", true },
	{ POLICY_GRANTED_REVIEW, "the reviewer", "reviewer", true },
	{ POLICY_RULE_DENY, "", "policy", false },
	{ POLICY_PROMPT_TIMEOUT, "", "timeout", false },
	{ POLICY_NO_APPROVER, "", "nobody", false },
	{ POLICY_CLIENT_LEFT, "", "requester", false },
};

START_TEST(questions_are_counted)
{
	const struct policy_destination dst = { .protocol = POLICY_HTTP };
	const struct approver_end end = { .id = "1-1",
					  .action = POLICY_ALLOW,
					  .reason = ends[_i].reason,
					  .by = ends[_i].by,
					  .about = &dst,
					  .age_ms = 12000 };
	struct metrics_counts counts = { 0 };

	metrics_counts_asked(&counts);
	metrics_counts_asked(&counts);
	metrics_counts_ended(&counts, &end);
	auto_free char *text = text_of(&counts, "1");
	auto_free char *line = mem_printf("sallyport_questions_total{kind=\"http\",decision="
					  "\"allow\",source=\"%s\"} 1",
					  ends[_i].source);

	must_have(text, line);
	must_have(text, "sallyport_questions_waiting 1");
	must_have(text, ends[_i].is_answer ? "sallyport_answer_seconds_sum 12.000\n"
					     "sallyport_answer_seconds_count 1"
					   : "sallyport_answer_seconds_count 0");
	metrics_counts_done(&counts);
}
END_TEST

static struct {
	struct loop *loop;
	struct gateway *gw;
	struct policy *policy;
	struct sockaddr_storage address;
	socklen_t len;
} stage;

static void stage_open(void)
{
	const struct approver_ops *const table[] = { &metrics_approver, NULL };
	struct err why = { 0 };
	struct gateway_metrics metrics = { .fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0) };
	const struct gateway_config config = { .session = "test",
					       .run = "7f3a",
					       .version = "1.2.3",
					       .policy = stage.policy = policy_new(),
					       .metrics = &metrics };

	ck_assert_int_eq(policy_finish(stage.policy), 0);
	ck_assert_int_eq(listen(metrics.fd, 64), 0);
	stage.len = sizeof(stage.address);
	ck_assert_int_eq(getsockname(metrics.fd, (struct sockaddr *)&stage.address, &stage.len), 0);
	stage.loop = loop_new_fake();
	stage.gw = gateway_open_with(stage.loop, &config, table, &why);
	ck_assert_msg(stage.gw != NULL, "%s", why.text);
	ck_assert_int_eq(metrics.fd, -1);
}

static void stage_close(void)
{
	gateway_free(stage.gw);
	policy_free(stage.policy);
	loop_free(stage.loop);
}

static void settle(void)
{
	for (int i = 0; i < 20; i++)
		loop_step(stage.loop);
}

static int visit(const char *bytes)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(connect(fd, (struct sockaddr *)&stage.address, stage.len), 0);
	settle();
	if (bytes)
		ck_assert_int_eq(send(fd, bytes, strlen(bytes), MSG_NOSIGNAL),
				 (ssize_t)strlen(bytes));
	settle();
	return fd;
}

/* What @fd has got; "" at once if nothing came. Closes it. Returned owned. */
static char *answer(int fd)
{
	char *text = mem_new(65536);
	size_t len = 0;
	ssize_t got;

	do {
		settle();
		got = recv(fd, text + len, 65535 - len, MSG_DONTWAIT);
		len += got > 0 ? (size_t)got : 0;
	} while (got > 0);
	fd_close(fd);
	settle();
	return text;
}

/* Has the server closed it, without an answer? */
static bool is_closed(int fd)
{
	char byte;
	ssize_t got;

	settle();
	got = recv(fd, &byte, 1, MSG_DONTWAIT);
	return got == 0 || (got < 0 && errno == ECONNRESET);
}

static const struct {
	const char *request, *status;
} requests[] = {
	{ "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:9464\r\n\r\n", "HTTP/1.1 200 OK\r\n" },
	{ "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 200 OK\r\n" },
	{ "GET /metrics HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", "HTTP/1.1 200 OK\r\n" },
	{ "GET /metrics?a=b HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK\r\n" },
	{ "GET /metrics HTTP/1.1\r\nHost: evil.test\r\n\r\n", "HTTP/1.1 421 " },
	{ "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "HTTP/1.1 404 " },
	{ "GET /metrics/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "HTTP/1.1 404 " },
	{ "GET /metric HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "HTTP/1.1 404 " },
	{ "POST /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "HTTP/1.1 405 " },
	{ "HEAD /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "HTTP/1.1 405 " },
	{ "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 3\r\n\r\nabc",
	  "HTTP/1.1 400 " },
	{ "GET http://127.0.0.1/metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "HTTP/1.1 400 " },
	{ "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n", "HTTP/1.1 400 " },
	{ "nonsense\r\n\r\n", "HTTP/1.1 400 " },
};

START_TEST(a_request_gets_its_answer)
{
	stage_open();
	auto_free char *text = answer(visit(requests[_i].request));

	ck_assert_msg(strncmp(text, requests[_i].status, strlen(requests[_i].status)) == 0,
		      "%s got %s", requests[_i].request, text);
	ck_assert(!strstr(requests[_i].status, "200") ||
		  (strstr(text, "\r\nContent-Type: text/plain; version=0.0.4") &&
		   strstr(text, "\nsallyport_build_info{version=\"1.2.3\"} 1\n")));
	ck_assert(!strstr(requests[_i].status, "405") || strstr(text, "\r\nAllow: GET\r\n"));
	stage_close();
}
END_TEST

START_TEST(a_request_may_come_in_parts)
{
	static const char *const parts[] = { "T /metrics HT", "TP/1.1\r\nHost: 127.0", ".0.1\r\n",
					     "\r\n" };

	stage_open();
	int fd = visit("GE");

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		ck_assert_int_gt(send(fd, parts[i], strlen(parts[i]), MSG_NOSIGNAL), 0);
		settle();
	}
	auto_free char *text = answer(fd);

	ck_assert_ptr_nonnull(strstr(text, "HTTP/1.1 200 OK"));
	stage_close();
}
END_TEST

START_TEST(a_head_has_a_limit)
{
	char head[METRICS_HEAD_MAX_BYTES + 1];

	stage_open();
	memset(head, 'a', sizeof(head));
	memcpy(head, "GET /metrics HTTP/1.1\r\nX: ", strlen("GET /metrics HTTP/1.1\r\nX: "));
	head[sizeof(head) - 1] = '\0';
	auto_free char *text = answer(visit(head));

	ck_assert_msg(strncmp(text, "HTTP/1.1 431 ", 13) == 0, "%s", text);
	stage_close();
}
END_TEST

/* It has no more clients than that, and none of them can stay. */
START_TEST(clients_have_limits)
{
	int slow[METRICS_CLIENTS_MAX];

	stage_open();
	for (size_t i = 0; i < ARRAY_SIZE(slow); i++)
		slow[i] = visit(i % 2 ? "GET /met" : NULL);
	int more = visit(NULL);

	ck_assert(is_closed(more));
	fd_close(more);
	loop_advance(stage.loop, SERVED_REQUEST_MS - 1);
	ck_assert(!is_closed(slow[0]));
	loop_advance(stage.loop, 1);
	for (size_t i = 0; i < ARRAY_SIZE(slow); i++) {
		ck_assert(is_closed(slow[i]));
		fd_close(slow[i]);
	}
	auto_free char *text = answer(visit(requests[0].request));

	ck_assert_ptr_nonnull(strstr(text, "HTTP/1.1 200 OK"));
	stage_close();
}
END_TEST

/* It was answered and does not close: its place is free a moment later. */
START_TEST(a_client_that_lingers_is_closed)
{
	stage_open();
	struct approver *self = gateway_find_approver(stage.gw, &metrics_approver);
	int fd = visit(requests[0].request);

	ck_assert_uint_eq(self->clients.count, 1);
	loop_advance(stage.loop, SERVED_LINGER_MS);
	settle();
	ck_assert_uint_eq(self->clients.count, 0);
	fd_close(fd);
	fd = visit("GET /metrics"); /* and one that leaves without an answer */
	ck_assert_uint_eq(self->clients.count, 1);
	fd_close(fd);
	settle();
	ck_assert_uint_eq(self->clients.count, 0);
	(void)visit(NULL); /* open at the end */
	stage_close();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("metrics");
	TCase *text = tcase_create("text"), *server = tcase_create("server");

	tcase_add_test(text, values_of_labels_are_escaped);
	tcase_add_test(text, parts_of_a_distribution_are_sums);
	tcase_add_test(text, rules_have_a_limit);
	tcase_add_test(text, records_are_counted);
	tcase_add_loop_test(text, questions_are_counted, 0, ARRAY_SIZE(ends));
	tcase_add_loop_test(server, a_request_gets_its_answer, 0, ARRAY_SIZE(requests));
	tcase_add_test(server, a_request_may_come_in_parts);
	tcase_add_test(server, a_head_has_a_limit);
	tcase_add_test(server, clients_have_limits);
	tcase_add_test(server, a_client_that_lingers_is_closed);
	suite_add_tcase(suite, text);
	suite_add_tcase(suite, server);
	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
