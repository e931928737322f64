#include "tests/unit/proxy/rig.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gateway/gateway_drain.h"
#include "base/fd.h"

/* Loopback delivers inside the call that sends, so a few turns of the loop suffice; the rest is
 * patience with a busy machine. */
#define STEPS_MAX    2000
#define STEPS_SETTLE 30

struct gateway_client {
	struct rig *rig;
};

struct gateway_ticket {
	struct rig *rig;
	struct policy_facts facts;
	gateway_verdict_fn done;
	void *arg;
	struct loop_timer task;
	struct policy_verdict verdict;
	bool is_live;
	struct gateway_lease lease;
	struct gateway_spent spent; /* as it said last */
	bool is_asking;
};

void rig_cut(struct rig *rig)
{
	struct policy_verdict verdict = { .action = POLICY_DENY, .reason = POLICY_DENIED_SINCE };

	(void)snprintf(verdict.rule, sizeof(verdict.rule), "test.policy:9: deny a.test");
	ck_assert_ptr_nonnull(rig->live);
	rig->on_cut(&verdict, rig->live->arg);
}

static void on_answer(void *arg)
{
	struct gateway_ticket *ticket = arg;
	struct policy_verdict verdict = ticket->verdict;
	gateway_verdict_fn done = ticket->done;
	void *done_arg = ticket->arg;
	struct rig *rig = ticket->rig;

	if (verdict.action == POLICY_ALLOW) {
		ticket->is_live = true;
		rig->live = ticket;
		rig->live_count++;
	} else {
		free(ticket);
	}
	done(&verdict, done_arg);
	if (rig->cuts_at_once && rig->live)
		rig_cut(rig);
}

static void end_live(struct gateway_ticket *ticket)
{
	loop_timer_stop(&ticket->task);
	ticket->rig->live_count--;
	if (ticket->rig->live == ticket)
		ticket->rig->live = NULL;
	free(ticket);
}

void gateway_client_on_cut(struct gateway_client *client, gateway_cut_fn on_cut)
{
	client->rig->on_cut = on_cut;
}

void gateway_client_drained(struct gateway_client *client)
{
	client->rig->drains++;
}

void gateway_client_on_lease(struct gateway_client *client, gateway_lease_fn on_lease)
{
	client->rig->on_lease = on_lease;
}

/* As the gateway's accounts do, for one at a time. */
static void on_spent(void *arg)
{
	struct gateway_ticket *ticket = arg;
	struct rig *rig = ticket->rig;

	for (int way = 0; way < GATEWAY_WAYS; way++) {
		uint64_t share = rig->lease < rig->left[way] ? rig->lease : rig->left[way];

		rig->left[way] -= share;
		ticket->lease.may[way] += share;
		ticket->lease.is_over[way] = ticket->spent.needs[way] &&
					     ticket->lease.may[way] == ticket->spent.bytes[way];
	}
	ticket->is_asking = false;

	struct gateway_lease lease = ticket->lease;

	if (!rig->limits.upload)
		lease.may[GATEWAY_UP] = UINT64_MAX;
	if (!rig->limits.download)
		lease.may[GATEWAY_DOWN] = UINT64_MAX;
	rig->on_lease(&lease, ticket->arg);
}

int gateway_spend(struct gateway_ticket *ticket, const struct gateway_spent *spent)
{
	struct rig *rig = ticket->rig;

	ck_assert(ticket->is_live);
	for (int way = 0; way < GATEWAY_WAYS; way++) {
		bool is_limited = way ? rig->limits.download : rig->limits.upload;

		ck_assert(!is_limited || spent->bytes[way] <= ticket->lease.may[way]);
		if (!is_limited || !spent->is_return)
			continue;
		rig->left[way] += ticket->lease.may[way] - spent->bytes[way];
		ticket->lease.may[way] = spent->bytes[way];
	}
	rig->returns += spent->is_return;
	if (spent->is_return)
		return 0;
	ck_assert(!ticket->is_asking); /* one question at a time */
	rig->asks++;
	ticket->is_asking = true;
	ticket->spent = *spent;
	if (!rig->keeps_leases)
		loop_defer(rig->loop, &ticket->task, on_spent, ticket);
	return 0;
}

void rig_recall(struct rig *rig)
{
	struct gateway_lease recall = { .is_recall = true };

	ck_assert_ptr_nonnull(rig->live);
	rig->on_lease(&recall, rig->live->arg);
}

static void answer(struct gateway_ticket *ticket, enum policy_action action,
		   enum policy_reason reason)
{
	struct rig *rig = ticket->rig;

	ticket->verdict.action = action;
	ticket->verdict.reason = reason;
	ticket->verdict.promise = rig->promise ? rig->promise : ticket->facts.carries;
	if (action == POLICY_ALLOW)
		ticket->verdict.limits = rig->limits;
	loop_defer(rig->loop, &ticket->task, on_answer, ticket);
}

struct gateway_ticket *gateway_submit(struct gateway_client *client,
				      const struct policy_facts *facts, gateway_verdict_fn done,
				      void *arg)
{
	struct gateway_ticket *ticket = mem_new(sizeof(*ticket));
	struct rig *rig = client->rig;

	ticket->rig = rig;
	ticket->facts = *facts;
	ticket->done = done;
	ticket->arg = arg;
	rig->submits++;
	rig->asked = *facts;
	if (!strcmp(facts->dst.host, "denied.test")) {
		(void)snprintf(ticket->verdict.rule, sizeof(ticket->verdict.rule),
			       "test.policy:3: deny denied.test");
		(void)snprintf(ticket->verdict.because, sizeof(ticket->verdict.because),
			       "it is \"bad\"");
		answer(ticket, POLICY_DENY, POLICY_RULE_DENY);
	} else if (!strcmp(facts->dst.host, "held.test")) {
		rig->held = ticket;
	} else {
		answer(ticket, POLICY_ALLOW, rig->reason ? rig->reason : POLICY_RULE_ALLOW);
	}
	return ticket;
}

void gateway_withdraw(struct gateway_ticket *ticket)
{
	if (!ticket)
		return;
	ck_assert(!ticket->is_live); /* what was allowed is reported */
	ticket->rig->withdrawals++;
	if (ticket->rig->held == ticket)
		ticket->rig->held = NULL;
	loop_timer_stop(&ticket->task);
	free(ticket);
}

void gateway_report(struct gateway_client *client, const struct gateway_report *report)
{
	struct rig *rig = client->rig;

	ck_assert_uint_lt(rig->report_count, RIG_REPORTS_MAX);
	rig->reports[rig->report_count++] = *report;
	if (report->ticket)
		end_live(report->ticket);
}

void rig_answer(struct rig *rig, enum policy_action action, enum policy_reason reason)
{
	struct gateway_ticket *ticket = rig->held;

	ck_assert_ptr_nonnull(ticket);
	rig->held = NULL;
	answer(ticket, action, reason);
}

static uint16_t port_of(int fd)
{
	struct sockaddr_in name;
	socklen_t len = sizeof(name);

	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&name, &len), 0);
	return ntohs(name.sin_port);
}

static int listen_loopback(uint16_t *ret_port)
{
	struct sockaddr_in name = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	ck_assert_int_eq(listen(fd, 128), 0);
	*ret_port = port_of(fd);
	return fd;
}

static void init_policy(struct rig *rig)
{
	static const char *const names[] = { "a.test", "b.test", "held.test", "denied.test" };
	static const struct addr loopback = { AF_INET, { 127, 0, 0, 1 } };

	rig->policy = policy_new();
	policy_load_text(rig->policy, "<test>", "version 1\nallow **.test\n");
	ck_assert_msg(policy_finish(rig->policy) == 0, "%s", policy_errors(rig->policy));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		rig->mappings[i] = (struct proxy_mapping){ names[i], loopback };
	rig->config = (struct proxy_config){
		.policy = rig->policy,
		.resolves = rig->mappings,
		.resolve_count = ARRAY_SIZE(names),
		.dns_addr = loopback,
		.dns_port = rig->dead,
		.published = &rig->published,
		.published_count = 1,
	};
}

void rig_init(struct rig *rig)
{
	rig_init_service(rig, NULL);
}

static void init_service(struct rig *rig, const struct proxy_service *service)
{
	rig->service = *service;
	rig->service.listeners[rig->service.listener_count++] =
		listen_loopback(&rig->ports[RIG_SERVICE]);
	rig->config.service = &rig->service;
}

void rig_init_service(struct rig *rig, const struct proxy_service *service)
{
	int pair[2], http, socks, dead;

	memset(rig, 0, sizeof(*rig));
	rig->loop = loop_new_fake();
	rig->server = listen_loopback(&rig->port);
	dead = listen_loopback(&rig->dead);
	fd_close(dead);
	rig->published =
		(struct proxy_published){ listen_loopback(&rig->ports[RIG_PUBLISHED]), rig->port };
	init_policy(rig);
	if (service)
		init_service(rig, service);
	rig->client = mem_new(sizeof(*rig->client));
	rig->client->rig = rig;
	rig->proxy = proxy_new(rig->loop, rig->client, &rig->config, NULL);
	ck_assert_ptr_nonnull(rig->proxy);
	http = listen_loopback(&rig->ports[RIG_HTTP]);
	socks = listen_loopback(&rig->ports[RIG_SOCKS]);
	ck_assert_int_eq(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	rig->inner = pair[0];
	const int fds[PROXY_FDS] = { http, socks, -1, -1, pair[1] };

	ck_assert_int_eq(proxy_open(rig->proxy, RIG_EXEC, fds), 0);
}

void rig_done(struct rig *rig)
{
	proxy_close(rig->proxy, RIG_EXEC);
	rig_settle(rig);
	ck_assert_ptr_null(rig->held);
	ck_assert_uint_eq(rig->live_count, 0);
	proxy_free(rig->proxy);
	free(rig->client);
	policy_free(rig->policy);
	fd_close(rig->server);
	fd_close(rig->inner);
	loop_free(rig->loop);
}

static const char *expansion(const struct rig *rig, const char *key, size_t len, uint16_t *ret_port)
{
	static const char *const hosts[][2] = {
		{ "a", "a.test" },       { "b", "b.test" },    { "denied", "denied.test" },
		{ "held", "held.test" }, { "gone", "a.test" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
		if (strlen(hosts[i][0]) != len || memcmp(hosts[i][0], key, len) != 0)
			continue;
		*ret_port = strcmp(hosts[i][0], "gone") ? rig->port : rig->dead;
		return hosts[i][1];
	}
	return NULL;
}

char *rig_expand(const struct rig *rig, const char *text)
{
	size_t size = strlen(text) + 4096, at = 0;
	char *out = mem_new(size);

	while (*text) {
		const char *close = *text == '{' ? strchr(text, '}') : NULL;
		uint16_t port;
		const char *host =
			close ? expansion(rig, text + 1, (size_t)(close - text - 1), &port) : NULL;

		ck_assert_uint_lt(at + 64, size);
		if (!host) {
			out[at++] = *text++;
			continue;
		}
		at += (size_t)snprintf(out + at, size - at, "%s:%u", host, port);
		text = close + 1;
	}
	return out;
}

void rig_settle(struct rig *rig)
{
	for (int i = 0; i < STEPS_SETTLE; i++)
		loop_step(rig->loop);
}

int rig_connect(struct rig *rig, enum rig_way way)
{
	struct sockaddr_in name = { .sin_family = AF_INET,
				    .sin_port = htons(rig->ports[way]),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	ck_assert_int_ge(fd, 0);
	/* Each send is a segment: a cut is where the test puts it. */
	ck_assert_int_eq(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	ck_assert_int_eq(fd_set_nonblocking(fd, true), 0);
	return fd;
}

int rig_accept(struct rig *rig)
{
	for (int i = 0; i < STEPS_MAX; i++) {
		int fd = accept4(rig->server, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0)
			return fd;
		loop_step(rig->loop);
		(void)sched_yield();
	}
	ck_abort_msg("nobody connected to the server");
}

bool rig_is_undialled(struct rig *rig)
{
	int fd;

	rig_settle(rig);
	fd = accept4(rig->server, NULL, NULL, SOCK_CLOEXEC);
	fd_close(fd);
	return fd < 0;
}

void rig_send_bytes(struct rig *rig, int fd, const void *bytes, size_t len)
{
	const char *at = bytes;

	for (int i = 0; len && i < STEPS_MAX; i++) {
		ssize_t sent = send(fd, at, len, MSG_NOSIGNAL);

		ck_assert_msg(sent >= 0 || errno == EAGAIN, "send: %s", strerror(errno));
		if (sent > 0) {
			at += sent;
			len -= (size_t)sent;
		}
		loop_step(rig->loop);
	}
	ck_assert_uint_eq(len, 0);
}

void rig_send(struct rig *rig, int fd, const char *text)
{
	auto_free char *bytes = rig_expand(rig, text);

	rig_send_bytes(rig, fd, bytes, strlen(bytes));
}

/* One read, with as many turns of the loop as it needs: as recv(). */
static ssize_t patient_recv(struct rig *rig, int fd, char *bytes, size_t max)
{
	for (int i = 0; i < STEPS_MAX; i++) {
		ssize_t got = recv(fd, bytes, max, 0);

		if (got >= 0 || errno != EAGAIN)
			return got;
		loop_step(rig->loop);
		(void)sched_yield();
	}
	errno = EAGAIN;
	return -1;
}

void rig_expect_bytes(struct rig *rig, int fd, const void *bytes, size_t len)
{
	auto_free char *got = mem_new(len + 1);
	size_t have = 0;

	while (have < len) {
		ssize_t more = patient_recv(rig, fd, got + have, len - have);

		if (more <= 0)
			break;
		have += (size_t)more;
	}
	if (have == len && !memcmp(got, bytes, len))
		return;
	ck_abort_msg("expected %zu bytes:\n%.*s\ngot %zu:\n%s", len, (int)len, (const char *)bytes,
		     have, got);
}

void rig_expect(struct rig *rig, int fd, const char *text)
{
	auto_free char *bytes = rig_expand(rig, text);

	rig_expect_bytes(rig, fd, bytes, strlen(bytes));
}

char *rig_read(struct rig *rig, int fd, const char *end)
{
	char *text = mem_new(RIG_TEXT_MAX);
	size_t len = 0;

	while (len + 1 < RIG_TEXT_MAX && !(end && strstr(text, end))) {
		ssize_t got = patient_recv(rig, fd, text + len, end ? 1 : RIG_TEXT_MAX - 1 - len);

		if (got == 0 && !end)
			return text;
		ck_assert_msg(got > 0, "waiting for \"%s\", got \"%s\"", end ? end : "the end",
			      text);
		len += (size_t)got;
	}
	return text;
}

void rig_expect_end(struct rig *rig, int fd, bool is_reset)
{
	char bytes[256] = "";
	ssize_t got = patient_recv(rig, fd, bytes, sizeof(bytes) - 1);

	if (is_reset)
		ck_assert_msg(got < 0 && errno == ECONNRESET, "no reset but %zd: %s", got, bytes);
	else
		ck_assert_msg(got == 0, "no end but %zd (%s): %s", got, strerror(errno), bytes);
}

void rig_expect_quiet(struct rig *rig, int fd)
{
	char bytes[256] = "";
	ssize_t got;

	rig_settle(rig);
	got = recv(fd, bytes, sizeof(bytes) - 1, 0);
	ck_assert_msg(got < 0 && errno == EAGAIN, "not quiet: %zd %s", got, bytes);
}

void rig_shut(struct rig *rig, int fd)
{
	ck_assert_int_eq(shutdown(fd, SHUT_WR), 0);
	rig_settle(rig);
}

void rig_close(struct rig *rig, int fd)
{
	fd_close(fd);
	rig_settle(rig);
}

const struct gateway_report *rig_report(struct rig *rig, size_t count)
{
	rig_settle(rig);
	ck_assert_uint_eq(rig->report_count, count);
	return &rig->reports[count - 1];
}
