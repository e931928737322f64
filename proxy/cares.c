#include "proxy/cares.h"

#include <ares.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/queue.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "policies/policies.h"

/* With doubling: asked at 0 s, 1 s and 3 s, inside the 5 s the caller waits (or each of three
 * servers once). */
#define TRY_MS 1000
#define TRIES  3

struct cares_socket {
	LIST_ENTRY(cares_socket) link;
	struct cares *cares;
	struct event event;
	int fd;
};

struct cares {
	struct loop *loop;
	ares_channel channel;
	LIST_HEAD(cares_socket_list, cares_socket) sockets;
	struct loop_timer timer;
};

struct cares_question {
	cares_fn done;
	void *arg;
};

static void set_timer(struct cares *cares);

static void process(struct cares *cares, int readable, int writable)
{
	ares_process_fd(cares->channel, readable, writable);
	set_timer(cares);
}

static void on_timer(void *arg)
{
	process(arg, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}

static void set_timer(struct cares *cares)
{
	struct timeval room, *next = ares_timeout(cares->channel, NULL, &room);

	if (!next) {
		loop_timer_stop(&cares->timer);
		return;
	}
	/* Rounded up: a timer that fires just too early would spin until the millisecond is over.
	 */
	int64_t ms = (int64_t)next->tv_sec * 1000 + next->tv_usec / 1000 + 1;
	loop_timer_start(cares->loop, &cares->timer, ms, on_timer, cares);
}

static void on_socket(evutil_socket_t fd, short what, void *arg)
{
	struct cares_socket *socket = arg;

	process(socket->cares, what & EV_READ ? fd : ARES_SOCKET_BAD,
		what & EV_WRITE ? fd : ARES_SOCKET_BAD);
}

static void drop_socket(struct cares_socket *socket)
{
	event_del(&socket->event);
	LIST_REMOVE(socket, link);
	free(socket);
}

/* c-ares says what it waits for, and says "nothing" before it closes a socket. */
static void on_socket_state(void *arg, ares_socket_t fd, int readable, int writable)
{
	struct cares *cares = arg;
	struct cares_socket *socket;

	LIST_FOREACH (socket, &cares->sockets, link) {
		if (socket->fd == fd)
			break;
	}
	if (!readable && !writable) {
		if (socket)
			drop_socket(socket);
		return;
	}
	if (socket) {
		event_del(&socket->event);
	} else {
		socket = mem_new(sizeof(*socket));
		socket->cares = cares;
		socket->fd = fd;
		LIST_INSERT_HEAD(&cares->sockets, socket, link);
	}
	short what = (short)((readable ? EV_READ : 0) | (writable ? EV_WRITE : 0) | EV_PERSIST);
	event_assign(&socket->event, loop_base(cares->loop), fd, what, on_socket, socket);
	event_add(&socket->event, NULL);
}

/* With several servers c-ares takes SERVFAIL, NOTIMP and REFUSED for a reason to ask the next one,
 * and forgets in the end which it was. With one server there is no next one: hear it as it is. */
static int flags_for(const char *servers)
{
	return strchr(servers, ',') ? 0 : ARES_FLAG_NOCHECKRESP;
}

struct cares *cares_new(struct loop *loop, const char *servers, struct err *why)
{
	struct cares *cares = mem_new(sizeof(*cares));
	/* Every option is given, the servers as an empty list to be filled below: whatever is left
	 * open c-ares takes from resolv.conf, RES_OPTIONS, LOCALDOMAIN and the host's name. Without
	 * NOALIASES it would read $HOSTALIASES at each question. Lookups "b" is DNS alone. */
	struct ares_options options = {
		.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES | flags_for(servers),
		.timeout = TRY_MS,
		.tries = TRIES,
		.ndots = 1,
		.lookups = (char[]){ "b" },
		.sock_state_cb = on_socket_state,
		.sock_state_cb_data = cares,
	};
	int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_NDOTS |
		   ARES_OPT_SERVERS | ARES_OPT_DOMAINS | ARES_OPT_LOOKUPS | ARES_OPT_SORTLIST |
		   ARES_OPT_SOCK_STATE_CB | ARES_OPT_NOROTATE;

	cares->loop = loop;
	LIST_INIT(&cares->sockets);
	int r = ares_library_init(ARES_LIB_INIT_ALL);
	if (r == ARES_SUCCESS)
		r = ares_init_options(&cares->channel, &options, mask);
	if (r == ARES_SUCCESS)
		r = ares_set_servers_ports_csv(cares->channel, servers);
	if (r != ARES_SUCCESS) {
		(void)err_set(why, -EINVAL, "cannot ask the DNS servers %s: %s", servers,
			      ares_strerror(r));
		cares_free(cares);
		return NULL;
	}
	return cares;
}

void cares_free(struct cares *cares)
{
	if (!cares)
		return;
	loop_timer_stop(&cares->timer);
	if (cares->channel)
		ares_destroy(cares->channel);
	while (!LIST_EMPTY(&cares->sockets))
		drop_socket(LIST_FIRST(&cares->sockets));
	ares_library_cleanup();
	free(cares);
}

static void set_status(struct cares_answer *answer, int status)
{
	answer->status = CARES_FAILED;
	answer->cause = "the resolver failed";
	switch (status) {
	case ARES_SUCCESS:
	case ARES_ENODATA:
		answer->status = answer->count ? CARES_FOUND : CARES_NO_ADDRESS;
		answer->cause = answer->count ? "" : "the name has no address";
		break;
	case ARES_ENOTFOUND:
		answer->status = CARES_NO_NAME;
		answer->cause = "the name does not exist";
		break;
	case ARES_ETIMEOUT:
		answer->status = CARES_LATE;
		answer->cause = "no resolver answered in time";
		break;
	case ARES_ESERVFAIL:
		answer->cause = "the resolver could not find out (SERVFAIL)";
		break;
	case ARES_EREFUSED:
		answer->cause = "the resolver refused to answer (REFUSED)";
		break;
	case ARES_ECONNREFUSED:
		answer->cause = "no resolver is there, or none that would answer";
		break;
	case ARES_EBADRESP:
		answer->cause = "the resolver's answer is malformed";
		break;
	case ARES_EBADNAME:
		answer->cause = "the name cannot be asked for";
		break;
	default:
		break;
	}
}

static void on_answer(void *arg, int status, int timeouts, struct ares_addrinfo *info)
{
	struct cares_question *question = arg;
	struct cares_answer answer = { 0 };
	struct ares_addrinfo_node *node = info ? info->nodes : NULL;
	uint16_t port;

	for (; node && answer.count < CARES_ADDRS_MAX; node = node->ai_next) {
		if (addr_from_sockaddr(node->ai_addr, &answer.addrs[answer.count], &port) == 0)
			answer.count++;
	}
	if (info)
		ares_freeaddrinfo(info);
	set_status(&answer, status);
	cares_fn done = question->done;
	arg = question->arg;
	free(question);
	done(&answer, arg);
}

void cares_ask(struct cares *cares, const char *name, int family, cares_fn done, void *arg)
{
	struct ares_addrinfo_hints hints = {
		.ai_flags = ARES_AI_NOSORT, /* sorting opens a socket for every address */
		.ai_family = family,
		.ai_socktype = SOCK_STREAM,
	};
	struct cares_question *question = mem_new(sizeof(*question));
	char absolute[POLICY_HOST_MAX + 1];

	question->done = done;
	question->arg = arg;
	(void)snprintf(absolute, sizeof(absolute), "%s.", name); /* a host always fits */
	ares_getaddrinfo(cares->channel, absolute, NULL, &hints, on_answer, question);
	set_timer(cares);
}
