/* UDP ASSOCIATE: which datagrams belong to it, and the head of the answers. */
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "tests/unit/proxy/rig.h"

#define HEAD_MAX 32

/* An association, as its client sees it, and a server of datagrams. */
struct fixture {
	struct rig rig;
	struct policy *policy; /* with a rule about udp */
	int control, client, server;
	struct sockaddr_in relay, peer;
	uint8_t head[HEAD_MAX]; /* of datagrams for the server */
	size_t head_len;
};

static int open_udp(struct sockaddr_in *ret)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(*ret);

	*ret = (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	ck_assert_int_eq(bind(fd, (struct sockaddr *)ret, len), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)ret, &len), 0);
	return fd;
}

/* As init does. */
static void give_socket(struct fixture *fixture)
{
	char asked = 0;
	int fd = open_udp(&fixture->relay);

	rig_settle(&fixture->rig);
	ck_assert_int_eq(recv(fixture->rig.inner, &asked, 1, MSG_DONTWAIT), 1);
	ck_assert_int_eq(asked, 'u');
	ck_assert_int_eq(fd_send(fixture->rig.inner, &asked, 1, &fd, 1), 0);
	fd_close(fd);
}

static void begin(struct fixture *fixture)
{
	struct sockaddr_in name;
	uint8_t reply[10] = { 5, 0, 0, 1, 127, 0, 0, 1 };

	memset(fixture, 0, sizeof(*fixture));
	rig_init(&fixture->rig);
	fixture->policy = policy_new();
	policy_load_text(fixture->policy, "<test>", "version 1\nallow udp://*:*\n");
	ck_assert_int_eq(policy_finish(fixture->policy), 0);
	fixture->rig.config.policy = fixture->policy;
	fixture->server = open_udp(&name);
	fixture->client = open_udp(&fixture->peer);
	memcpy(fixture->head, "\0\0\0\3\6a.test", 11);
	memcpy(fixture->head + 11, &name.sin_port, 2);
	fixture->head_len = 13;
	fixture->control = rig_connect(&fixture->rig, RIG_SOCKS);
	rig_send_bytes(&fixture->rig, fixture->control, "\5\1\0\5\3\0\1\0\0\0\0\0\0", 13);
	rig_expect_bytes(&fixture->rig, fixture->control, "\5\0", 2);
	give_socket(fixture);
	memcpy(reply + 8, &fixture->relay.sin_port, 2);
	rig_expect_bytes(&fixture->rig, fixture->control, reply, sizeof(reply));
}

static void end(struct fixture *fixture)
{
	rig_close(&fixture->rig, fixture->control);
	rig_settle(&fixture->rig);
	fd_close(fixture->client);
	fd_close(fixture->server);
	rig_done(&fixture->rig);
	policy_free(fixture->policy);
}

static void send_from(struct fixture *fixture, int client, size_t head_len, const char *text)
{
	uint8_t bytes[HEAD_MAX + 64];
	size_t len = head_len + strlen(text);

	memcpy(bytes, fixture->head, head_len);
	memcpy(bytes + head_len, text, strlen(text));
	ck_assert_int_eq(sendto(client, bytes, len, 0, (struct sockaddr *)&fixture->relay,
				sizeof(fixture->relay)),
			 (ssize_t)len);
	rig_settle(&fixture->rig);
}

static void expect(struct fixture *fixture, int fd, const void *want, size_t len)
{
	uint8_t bytes[HEAD_MAX + 64];
	socklen_t name_len = sizeof(fixture->peer);

	ck_assert_int_eq(recvfrom(fd, bytes, sizeof(bytes), MSG_DONTWAIT,
				  (struct sockaddr *)&fixture->peer, &name_len),
			 (ssize_t)len);
	ck_assert_mem_eq(bytes, want, len);
}

START_TEST(answers_have_the_head)
{
	struct fixture fixture;
	uint8_t want[HEAD_MAX];

	begin(&fixture);
	send_from(&fixture, fixture.client, fixture.head_len, "one");
	expect(&fixture, fixture.server, "one", 3);
	ck_assert_int_eq(fixture.rig.asked.way, POLICY_WAY_SOCKS5);
	ck_assert_int_eq(fixture.rig.asked.dst.protocol, POLICY_UDP);
	ck_assert_uint_ne(fixture.rig.asked.peer_port, 0); /* of the program that asked for it */
	ck_assert_int_eq(sendto(fixture.server, "two", 3, 0, (struct sockaddr *)&fixture.peer,
				sizeof(fixture.peer)),
			 3);
	rig_settle(&fixture.rig);
	memcpy(want, fixture.head, fixture.head_len);
	memcpy(want + fixture.head_len, "two", 3);
	expect(&fixture, fixture.client, want, fixture.head_len + 3);
	rig_close(&fixture.rig, fixture.control);
	fixture.control = rig_connect(&fixture.rig, RIG_SOCKS);
	rig_settle(&fixture.rig);
	ck_assert_int_eq(rig_report(&fixture.rig, 1)->closed, POLICY_CLIENT_CLOSED);
	end(&fixture);
}
END_TEST

/* The first socket is the client. What is dropped is one record, at the end. */
START_TEST(others_are_dropped)
{
	struct fixture fixture;
	struct sockaddr_in name;

	begin(&fixture);
	send_from(&fixture, fixture.client, fixture.head_len, "one");
	expect(&fixture, fixture.server, "one", 3);
	int other = open_udp(&name);

	send_from(&fixture, other, fixture.head_len, "stranger");
	send_from(&fixture, fixture.client, 3, "");
	fixture.head[2] = 1; /* a fragment */
	send_from(&fixture, fixture.client, fixture.head_len, "part");
	fd_close(other);
	ck_assert_int_lt(recv(fixture.server, fixture.head, 1, MSG_DONTWAIT), 0);
	ck_assert_uint_eq(fixture.rig.submits, 1);
	rig_close(&fixture.rig, fixture.control);
	fixture.control = rig_connect(&fixture.rig, RIG_SOCKS);
	rig_settle(&fixture.rig);
	const struct gateway_report *report = rig_report(&fixture.rig, 2);

	ck_assert_int_eq(report->closed, POLICY_MALFORMED);
	ck_assert_int_eq(strncmp(report->cause, "3 datagrams were dropped", 24), 0);
	end(&fixture);
}
END_TEST

TCase *test_association(void)
{
	TCase *tcase = tcase_create("association");

	tcase_add_test(tcase, answers_have_the_head);
	tcase_add_test(tcase, others_are_dropped);
	return tcase;
}
