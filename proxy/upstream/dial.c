#include "proxy/upstream/dial.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/queue.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "policies/policies_gate.h"
#include "policies/policies_upstream.h"
#include "proxy/upstream/dial_impl.h"
#include "proxy/upstream/exec_sockets.h"
#include "proxy/upstream/happy_eyeballs.h"
#include "proxy/upstream/resolve.h"
#include "proxy/upstream/upstream_proxy.h"

#define DIALS_MAX 4096

/* A dial waits for exactly one of @query, @request, @race, @proxy or @task. */
struct dial {
	LIST_ENTRY(dial) link;
	struct dialer *dialer;
	uint64_t exec;
	struct policy_destination dst;
	bool is_tunnel;
	dial_fn done;
	void *arg;
	struct resolve_query *query;
	struct exec_sockets_request *request;
	struct happy_eyeballs *race;
	struct upstream_proxy *proxy;
	struct loop_timer task;
	int64_t since_ms;          /* of the step that it waits for; -1: its time is not told */
	struct dial_result result; /* its verdict is the submitted one until a denial replaces it */
	struct addr inside[2]; /* loopback addresses still to try, when dialled in the sandbox */
	size_t inside_count;
};

static void dial_free(struct dial *dial)
{
	loop_timer_stop(&dial->task);
	resolve_withdraw(dial->query);
	exec_sockets_withdraw(dial->request);
	happy_eyeballs_withdraw(dial->race);
	upstream_proxy_withdraw(dial->proxy);
	fd_close(dial->result.fd);
	LIST_REMOVE(dial, link);
	dial->dialer->dial_count--;
	free(dial);
}

/* Calls @done and frees the dial. */
static void deliver(void *arg)
{
	struct dial *dial = arg;
	struct dial_result result = dial->result;
	dial_fn done = dial->done;

	arg = dial->arg;
	dial->result.fd = -1;
	dial_free(dial);
	done(&result, arg);
}

static void settle(struct dial *dial)
{
	loop_defer(dial->dialer->loop, &dial->task, deliver, dial);
}

static void begin_step(struct dial *dial)
{
	dial->since_ms = loop_now_ms(dial->dialer->loop);
}

static uint32_t step_ms(const struct dial *dial)
{
	return dial->since_ms < 0
		       ? 0
		       : (uint32_t)(loop_now_ms(dial->dialer->loop) - dial->since_ms) + 1;
}

/* The rule that allowed the request did not cause the failure, so it is not named. */
__attribute__((format(printf, 3, 4))) static void deny(struct dial *dial, enum policy_reason reason,
						       const char *format, ...)
{
	struct policy_verdict *verdict = &dial->result.verdict;
	va_list args;

	*verdict = (struct policy_verdict){ .action = POLICY_DENY, .reason = reason };
	va_start(args, format);
	(void)vsnprintf(dial->result.cause, sizeof(dial->result.cause), format,
			args); /* truncation is fine */
	va_end(args);
	settle(dial);
}

static enum policy_reason reason_of(int error)
{
	switch (error) {
	case ECONNREFUSED:
		return POLICY_CONNECT_REFUSED;
	case ENETUNREACH:
	case EHOSTUNREACH:
	case ENETDOWN:
	case EAFNOSUPPORT: /* a kernel without IPv6 */
		return POLICY_CONNECT_UNREACHABLE;
	case ETIMEDOUT:
		return POLICY_CONNECT_TIMEOUT;
	case EMFILE:
	case ENFILE:
		return POLICY_OVERLOADED;
	default:
		return POLICY_CONNECT_FAILED;
	}
}

static void inside_next(struct dial *dial);

static void on_race(int fd, const struct addr *addr, void *arg)
{
	struct dial *dial = arg;
	char text[ADDR_PORT_MAX];

	dial->race = NULL;
	dial->result.addr = *addr;
	dial->result.dial_ms = step_ms(dial);
	if (fd >= 0) {
		dial->result.fd = fd;
		deliver(dial);
		return;
	}
	if (fd == -ECONNREFUSED && dial->inside_count > 0) {
		inside_next(dial);
		return;
	}
	if (dial->dst.addr.family == 0)
		resolve_forget(dial->dialer->resolver, dial->dst.host);
	deny(dial, reason_of(-fd), "%s: %s", addr_port_text(addr, dial->dst.port, text),
	     strerror(-fd));
}

/* No rule and no person can give access to the gate's own page and metrics, or to its own
 * listeners, where its client would be this machine. A destination has no port 0. */
static bool is_own(const struct dial *dial, const struct addr *addr)
{
	const struct dialer *dialer = dial->dialer;
	uint16_t port = dial->dst.port;

	return ((port == dialer->own_port || port == dialer->metrics_port) && port != 0 &&
		own_ports_is_loopback(addr)) ||
	       own_ports_has(&dialer->own_ports, addr, port);
}

/* Every address of the name must pass, not only the one that would be dialled. A name that is
 * public and private at once is an attack on this check (rebinding) or a mistake, and which address
 * would be dialled is chance. */
static bool are_addrs_allowed(struct dial *dial, const struct addr *addrs, size_t count,
			      bool is_mapped)
{
	struct policy_verdict asked = dial->result.verdict, answer, refusal;
	const struct addr *refused = NULL;
	char text[ADDR_TEXT_MAX];

	asked.may_private |= is_mapped; /* the operator named the address */
	for (size_t i = 0; i < count; i++) {
		answer = (struct policy_verdict){ 0 };
		policy_decide_address(dial->dialer->policy, &dial->dst, &asked, &addrs[i], &answer);
		if (is_own(dial, &addrs[i]))
			answer = (struct policy_verdict){ .action = POLICY_DENY,
							  .reason = POLICY_OWN_LISTENER };
		if (answer.action == POLICY_ALLOW)
			continue;
		if (refused && answer.reason != POLICY_METADATA_ADDRESS)
			continue;
		refused = &addrs[i];
		refusal = answer;
	}
	if (!refused)
		return true;
	(void)addr_text(refused, text);
	if (count > 1)
		deny(dial, refusal.reason, "the address %s, one of %zu, is denied", text, count);
	else
		deny(dial, refusal.reason, "the address %s is denied", text);
	dial->result.addr = *refused;
	dial->result.verdict = refusal;
	dial->result.verdict.action = POLICY_DENY; /* also when the decision was "ask" */
	return false;
}

/* Connecting sends nothing: it fails where there is no route. */
static int connect_udp(const struct addr *addr, uint16_t port)
{
	struct sockaddr_storage name;
	socklen_t len = addr_to_sockaddr(addr, port, &name);
	auto_close int fd = socket(name.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&name, len) < 0)
		return -errno;
	return fd_take(&fd);
}

/* Where the kernel has a route to, in the resolver's order: no answer tells whether a server is
 * there. */
static void associate(struct dial *dial, const struct addr *addrs, size_t count)
{
	int fd = -EHOSTUNREACH;

	for (size_t i = 0; i < count && fd < 0; i++) {
		fd = connect_udp(&addrs[i], dial->dst.port);
		dial->result.addr = addrs[i];
	}
	if (fd < 0) {
		deny(dial, reason_of(-fd), "%s", strerror(-fd));
		return;
	}
	dial->result.fd = fd;
	settle(dial);
}

static void connect_checked(struct dial *dial, const struct addr *addrs, size_t count,
			    bool is_mapped)
{
	if (!are_addrs_allowed(dial, addrs, count, is_mapped))
		return;
	begin_step(dial);
	if (dial->dst.protocol == POLICY_UDP)
		associate(dial, addrs, count);
	else
		dial->race = happy_eyeballs_start(dial->dialer->loop, addrs, count, dial->dst.port,
						  on_race, dial);
}

/* A denied name stays denied when another name leads to it. */
static bool are_aliases_allowed(struct dial *dial, const struct resolve_answer *answer)
{
	struct policy_verdict verdict;

	for (size_t i = 0; i < answer->alias_count; i++) {
		policy_decide_alias(dial->dialer->policy, &dial->dst, &dial->result.verdict,
				    answer->aliases[i], &verdict);
		if (verdict.action == POLICY_ALLOW)
			continue;
		deny(dial, verdict.reason, "the name resolved to %s, which is denied",
		     answer->aliases[i]);
		dial->result.verdict = verdict;
		return false;
	}
	return true;
}

static void on_resolved(const struct resolve_answer *answer, void *arg)
{
	struct dial *dial = arg;

	dial->query = NULL;
	dial->result.dns_ms = step_ms(dial);
	if (answer->reason == POLICY_DONE && answer->count > 0) {
		if (are_aliases_allowed(dial, answer))
			connect_checked(dial, answer->addrs, answer->count, answer->is_mapped);
		return;
	}
	deny(dial, answer->reason == POLICY_DONE ? POLICY_DNS_FAILED : answer->reason, "%s",
	     answer->cause);
}

static void on_inner(int socket, void *arg)
{
	struct dial *dial = arg;
	struct addr addr = dial->inside[0];

	dial->request = NULL;
	if (socket >= 0) {
		dial->inside[0] = dial->inside[1];
		dial->inside_count--;
		dial->race = happy_eyeballs_start_with(dial->dialer->loop, socket, &addr,
						       dial->dst.port, on_race, dial);
		return;
	}
	switch (socket) {
	case -EPIPE:
		deny(dial, POLICY_EXEC_ENDED, "the sandbox has ended");
		return;
	case -ETIMEDOUT:
		deny(dial, POLICY_CONNECT_TIMEOUT, "the sandbox's init did not return a socket");
		return;
	case -EAGAIN:
		deny(dial, POLICY_OVERLOADED, "too many connections to the command's own loopback");
		return;
	default:
		deny(dial, POLICY_CONNECT_FAILED, "the sandbox cannot make a socket for %s",
		     addr.family == AF_INET ? "127.0.0.1" : "::1");
		return;
	}
}

static void inside_next(struct dial *dial)
{
	struct exec_sockets *inner = dialer_inner(dial->dialer, dial->exec);

	if (!inner)
		deny(dial, POLICY_EXEC_ENDED, "the sandbox has ended");
	else
		dial->request = exec_sockets_ask(
			inner,
			dial->inside[0].family == AF_INET ? EXEC_SOCKETS_TCP4 : EXEC_SOCKETS_TCP6,
			on_inner, dial);
}

/* policy_decide_address() is not used here: a loopback address means the sandbox's own loopback,
 * and is dialled only there. So it must certainly be a loopback address. */
static void inside_begin(struct dial *dial)
{
	static const struct addr loopback[] = { { AF_INET, { 127, 0, 0, 1 } },
						{ AF_INET6, { [15] = 1 } } };
	const struct addr *literal = &dial->dst.addr;

	if (!policy_destination_is_loopback(&dial->dst)) {
		deny(dial, POLICY_CONNECT_FAILED, "not a loopback address");
	} else if (literal->family != 0) {
		dial->inside[0] = *literal;
		dial->inside_count = 1;
		inside_next(dial);
	} else {
		memcpy(dial->inside, loopback, sizeof(loopback));
		dial->inside_count = ARRAY_SIZE(loopback);
		inside_next(dial);
	}
}

static void on_proxy(struct upstream_proxy_result *result, void *arg)
{
	struct dial *dial = arg;

	dial->proxy = NULL;
	dial->result.dial_ms = step_ms(dial);
	if (result->fd < 0) {
		deny(dial, result->reason, "%s", result->cause);
		return;
	}
	dial->result.fd = result->fd;
	deliver(dial);
}

/* The proxy resolves the name, so only an address literal can be checked. */
static void upstream_begin(struct dial *dial, const struct policy_upstream *upstream)
{
	const struct addr *literal = &dial->dst.addr;
	const struct dialer *dialer = dial->dialer;
	const struct upstream_proxy_ways ways = {
		.loop = dialer->loop,
		.resolver = dialer->resolver,
		.own = &dialer->own_ports,
		.bridges = dialer->bridges,
	};

	if (literal->family != 0 && !are_addrs_allowed(dial, literal, 1, false))
		return;
	dial->result.addr = *literal;
	begin_step(dial);
	dial->proxy = upstream_proxy_start(
		&ways, upstream, &dial->dst,
		dial->is_tunnel || upstream->kind == POLICY_UPSTREAM_SOCKS, on_proxy, dial);
}

static void resolve(struct dial *dial)
{
	begin_step(dial);
	dial->query = resolve_start(dial->dialer->resolver, dial->dst.host, on_resolved, dial);
}

static void begin(struct dial *dial)
{
	struct dialer *dialer = dial->dialer;
	const struct policy_upstream *upstream = dialer_upstream(dialer, &dial->dst);

	if (dial->result.verdict.action != POLICY_ALLOW)
		settle(dial); /* another address cannot be dialled there; the denial stands */
	else if (dialer->dial_count > DIALS_MAX)
		deny(dial, POLICY_OVERLOADED, "too many connections are being made");
	else if (dial->result.verdict.reason == POLICY_INSIDE)
		inside_begin(dial);
	else if (upstream && dial->dst.protocol == POLICY_UDP)
		deny(dial, POLICY_UNSUPPORTED, "UDP is not sent through an upstream proxy");
	else if (upstream)
		upstream_begin(dial, upstream);
	else if (dial->dst.addr.family != 0)
		connect_checked(dial, &dial->dst.addr, 1, false);
	else
		resolve(dial);
}

struct dial *dial_start(struct dialer *dialer, uint64_t exec, const struct policy_destination *dst,
			const struct policy_verdict *verdict, bool is_tunnel, dial_fn done,
			void *arg)
{
	struct dial *dial = mem_new(sizeof(*dial));

	dial->dialer = dialer;
	dial->exec = exec;
	dial->dst = *dst;
	dial->since_ms = -1;
	dial->result.fd = -1;
	dial->result.verdict = *verdict;
	dial->is_tunnel = is_tunnel;
	dial->done = done;
	dial->arg = arg;
	LIST_INSERT_HEAD(&dialer->dials, dial, link);
	dialer->dial_count++;
	begin(dial);
	return dial;
}

void dial_withdraw(struct dial *dial)
{
	if (dial)
		dial_free(dial);
}

void dial_end_inside(struct dialer *dialer, uint64_t exec)
{
	struct dial *dial;

	LIST_FOREACH (dial, &dialer->dials, link) {
		if (dial->exec != exec || !dial->request)
			continue;
		exec_sockets_withdraw(take(dial->request));
		deny(dial, POLICY_EXEC_ENDED, "the sandbox has ended");
	}
}
