/* Flows: which datagrams are sent, wait and are dropped, and whom an answer is given. */
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "proxy/connection.h"
#include "proxy/flow.h"
#include "tests/unit/proxy/rig.h"

#define TEXT_MAX 65536

/* A client with flows, and a server of datagrams. */
struct fixture {
	struct rig rig;
	struct flows flows;
	int server;
	uint16_t port;
	struct sockaddr_in peer;  /* of the last datagram at the server */
	char key, text[TEXT_MAX]; /* of the last answer */
	size_t answers, refusals;
};

static void deliver(const struct flow *flow, char *bytes, size_t len)
{
	struct fixture *fixture = container_of(flow->flows, struct fixture, flows);

	ck_assert_uint_lt(len, sizeof(fixture->text));
	memcpy(fixture->text, bytes, len);
	fixture->text[len] = '\0';
	fixture->key = (char)flow->key[0];
	fixture->answers++;
}

static void refuse(const struct flow *flow)
{
	container_of(flow->flows, struct fixture, flows)->refusals++;
}

static void begin(struct fixture *fixture)
{
	struct sockaddr_in name = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(name);

	memset(fixture, 0, sizeof(*fixture));
	rig_init(&fixture->rig);
	fixture->flows = (struct flows){ .way = LIST_FIRST(&fixture->rig.proxy->ways),
					 .by = POLICY_WAY_CAPTURED,
					 .deliver = deliver,
					 .refuse = refuse };
	fixture->server = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(fixture->server, (struct sockaddr *)&name, len), 0);
	ck_assert_int_eq(getsockname(fixture->server, (struct sockaddr *)&name, &len), 0);
	fixture->port = ntohs(name.sin_port);
}

static void end(struct fixture *fixture)
{
	flow_close_all(&fixture->flows, POLICY_EXEC_ENDED);
	ck_assert_uint_eq(fixture->flows.count, 0);
	ck_assert_uint_eq(fixture->flows.held_bytes, 0);
	fd_close(fixture->server);
	rig_done(&fixture->rig);
}

static void take_bytes(struct fixture *fixture, const char *key, const char *host,
		       const void *bytes, size_t len)
{
	struct socks5_request dst = { .host_len = strlen(host), .port = fixture->port };

	memcpy(dst.host, host, dst.host_len + 1);
	flow_take(&fixture->flows, (const uint8_t *)key, strlen(key), &dst, bytes, len);
	rig_settle(&fixture->rig);
}

static void take_text(struct fixture *fixture, const char *key, const char *host, const char *text)
{
	take_bytes(fixture, key, host, text, strlen(text));
}

static void expect(struct fixture *fixture, const char *text)
{
	static char bytes[TEXT_MAX];
	socklen_t len = sizeof(fixture->peer);
	ssize_t n = recvfrom(fixture->server, bytes, sizeof(bytes) - 1, MSG_DONTWAIT,
			     (struct sockaddr *)&fixture->peer, &len);

	ck_assert_int_eq(n, (ssize_t)strlen(text));
	ck_assert_mem_eq(bytes, text, strlen(text));
}

static void expect_nothing(struct fixture *fixture)
{
	char byte;

	ck_assert_int_lt(recv(fixture->server, &byte, 1, MSG_DONTWAIT), 0);
}

static void send_back(struct fixture *fixture, int from, const struct sockaddr_in *to,
		      const char *text)
{
	ck_assert_int_eq(
		sendto(from, text, strlen(text), 0, (const struct sockaddr *)to, sizeof(*to)),
		(ssize_t)strlen(text));
	rig_settle(&fixture->rig);
}

/* Two clients of one server; a stranger is not heard. */
START_TEST(answers_go_to_their_flow)
{
	struct fixture fixture;

	begin(&fixture);
	take_text(&fixture, "1", "a.test", "one");
	expect(&fixture, "one");
	struct sockaddr_in first = fixture.peer;

	take_text(&fixture, "2", "a.test", "two");
	expect(&fixture, "two");
	struct sockaddr_in second = fixture.peer;

	ck_assert_uint_ne(first.sin_port, second.sin_port);
	send_back(&fixture, fixture.server, &first, "first");
	ck_assert_int_eq(fixture.key, '1');
	ck_assert_str_eq(fixture.text, "first");
	send_back(&fixture, fixture.server, &second, "second");
	ck_assert_int_eq(fixture.key, '2');
	ck_assert_str_eq(fixture.text, "second");
	int stranger = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	send_back(&fixture, stranger, &first, "stranger");
	fd_close(stranger);
	ck_assert_uint_eq(fixture.answers, 2);
	ck_assert_uint_eq(fixture.rig.submits, 2);
	ck_assert_int_eq(fixture.rig.asked.way, POLICY_WAY_CAPTURED);
	ck_assert_int_eq(fixture.rig.asked.dst.protocol, POLICY_UDP);
	flow_close_all(&fixture.flows, POLICY_EXEC_ENDED);
	ck_assert_int_eq(rig_report(&fixture.rig, 2)->closed, POLICY_EXEC_ENDED);
	end(&fixture);
}
END_TEST

START_TEST(four_wait_for_the_decision)
{
	static const char *const texts[] = { "1", "2", "3", "4", "5", "6" };
	struct fixture fixture;

	begin(&fixture);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		take_text(&fixture, "k", "held.test", texts[i]);
	ck_assert_uint_eq(fixture.rig.submits, 1);
	expect_nothing(&fixture);
	ck_assert_uint_eq(LIST_FIRST(&fixture.flows.list)->dropped, 2);
	rig_answer(&fixture.rig, POLICY_ALLOW, POLICY_RULE_ALLOW);
	rig_settle(&fixture.rig);
	for (size_t i = 0; i < LIMITS_FLOW_HELD; i++)
		expect(&fixture, texts[i]);
	expect_nothing(&fixture);
	ck_assert_uint_eq(fixture.flows.held_bytes, 0);
	take_text(&fixture, "k", "held.test", "later");
	expect(&fixture, "later");
	end(&fixture);
}
END_TEST

/* Of all flows of a client. */
START_TEST(held_bytes_are_limited)
{
	static const char large[60000];
	struct fixture fixture;

	begin(&fixture);
	for (size_t i = 0; i < LIMITS_FLOW_HELD; i++)
		take_bytes(&fixture, "k", "held.test", large, sizeof(large));
	ck_assert_uint_eq(fixture.flows.held_bytes, LIMITS_FLOW_HELD * sizeof(large));
	struct gateway_ticket *first = fixture.rig.held;

	take_bytes(&fixture, "other", "held.test", large, sizeof(large));
	ck_assert_uint_eq(fixture.flows.held_bytes, LIMITS_FLOW_HELD * sizeof(large));
	take_text(&fixture, "other", "held.test", "small");
	ck_assert_uint_eq(fixture.flows.held_bytes,
			  LIMITS_FLOW_HELD * sizeof(large) + strlen("small"));
	rig_answer(&fixture.rig, POLICY_ALLOW, POLICY_RULE_ALLOW);
	rig_settle(&fixture.rig);
	expect(&fixture, "small");
	fixture.rig.held = first;
	rig_answer(&fixture.rig, POLICY_DENY, POLICY_DENIED_ONCE);
	rig_settle(&fixture.rig);
	ck_assert_uint_eq(fixture.flows.held_bytes, 0);
	expect_nothing(&fixture);
	end(&fixture);
}
END_TEST

START_TEST(refused_for_a_minute)
{
	struct fixture fixture;

	begin(&fixture);
	take_text(&fixture, "k", "denied.test", "1");
	take_text(&fixture, "k", "denied.test", "2");
	loop_advance(fixture.rig.loop, LIMITS_FLOW_MS - 1);
	take_text(&fixture, "k", "denied.test", "3");
	ck_assert_uint_eq(fixture.rig.submits, 1);
	ck_assert_uint_eq(fixture.refusals, 3);
	loop_advance(fixture.rig.loop, 1);
	take_text(&fixture, "k", "denied.test", "4");
	ck_assert_uint_eq(fixture.rig.submits, 2);
	ck_assert_uint_eq(fixture.refusals, 4);
	expect_nothing(&fixture);
	end(&fixture);
}
END_TEST

START_TEST(silence_ends_it)
{
	struct fixture fixture;

	begin(&fixture);
	take_text(&fixture, "k", "a.test", "one");
	expect(&fixture, "one");
	loop_advance(fixture.rig.loop, LIMITS_FLOW_MS - 1);
	take_text(&fixture, "k", "a.test", "two");
	loop_advance(fixture.rig.loop, LIMITS_FLOW_MS - 1);
	send_back(&fixture, fixture.server, &fixture.peer, "answer"); /* counts, too */
	loop_advance(fixture.rig.loop, LIMITS_FLOW_MS - 1);
	rig_settle(&fixture.rig);
	ck_assert_uint_eq(fixture.flows.count, 1);
	loop_advance(fixture.rig.loop, 1);
	rig_settle(&fixture.rig);
	ck_assert_uint_eq(fixture.flows.count, 0);
	ck_assert_int_eq(rig_report(&fixture.rig, 1)->closed, POLICY_IDLE);
	end(&fixture);
}
END_TEST

/* A cut ends the flow; the next datagram is decided again. */
START_TEST(cut)
{
	struct fixture fixture;

	begin(&fixture);
	take_text(&fixture, "k", "a.test", "one");
	expect(&fixture, "one");
	rig_cut(&fixture.rig);
	rig_settle(&fixture.rig);
	ck_assert_uint_eq(fixture.flows.count, 0);
	send_back(&fixture, fixture.server, &fixture.peer, "late");
	ck_assert_uint_eq(fixture.answers, 0);
	take_text(&fixture, "k", "a.test", "two");
	expect(&fixture, "two");
	ck_assert_uint_eq(fixture.rig.submits, 2);
	end(&fixture);
}
END_TEST

START_TEST(number_is_limited)
{
	struct fixture fixture;
	char key[16];

	begin(&fixture);
	for (int i = 0; i < LIMITS_FLOWS_MAX + 2; i++) {
		(void)snprintf(key, sizeof(key), "%d", i);
		take_text(&fixture, key, "denied.test", "x");
	}
	ck_assert_uint_eq(fixture.flows.count, LIMITS_FLOWS_MAX);
	ck_assert_uint_eq(fixture.rig.submits, LIMITS_FLOWS_MAX);
	ck_assert_int_eq(rig_report(&fixture.rig, 1)->closed, POLICY_OVERLOADED);
	loop_advance(fixture.rig.loop, LIMITS_FLOW_MS);
	take_text(&fixture, "new", "a.test", "x"); /* those that were refused make room */
	expect(&fixture, "x");
	ck_assert_uint_eq(fixture.flows.count, 1);
	end(&fixture);
}
END_TEST

TCase *test_flow(void)
{
	TCase *tcase = tcase_create("flow");

	tcase_add_test(tcase, answers_go_to_their_flow);
	tcase_add_test(tcase, four_wait_for_the_decision);
	tcase_add_test(tcase, held_bytes_are_limited);
	tcase_add_test(tcase, refused_for_a_minute);
	tcase_add_test(tcase, silence_ends_it);
	tcase_add_test(tcase, cut);
	tcase_add_test(tcase, number_is_limited);
	return tcase;
}
