#include "proxy/upstream/cares.h"

#include <ares.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/queue.h>

#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "policies/policies.h"
#include "proxy/upstream/nameservers.h"

/* The timeout doubles: tries at 0 s, 1 s and 3 s, within the 5 s that the caller waits (or one try
 * for each of three servers). */
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
	bool is_changing; /* the servers are being replaced: ask cancelled queries again */
	LIST_HEAD(cares_question_list, cares_question) again;
	char servers[NAMESERVERS_TEXT_MAX];
};

struct cares_question {
	LIST_ENTRY(cares_question) link;
	struct cares *cares;
	cares_fn done;
	void *arg;
	int family;
	char name[POLICY_HOST_MAX + 1]; /* absolute */
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
	/* Rounded up: a timer that fires too early would spin for the rest of the millisecond. */
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

/* c-ares reports the events it waits for, and reports none before it closes a socket. */
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

/* With several servers, c-ares treats SERVFAIL, NOTIMP and REFUSED as a reason to ask the next one,
 * and loses the error. With one server we want that error, so the flag is set; but not if more
 * servers may come later, because a channel cannot change its flags. */
static int flags_for(const char *servers, bool is_fixed)
{
	return !is_fixed || strchr(servers, ',') ? 0 : ARES_FLAG_NOCHECKRESP;
}

struct cares *cares_new(struct loop *loop, const char *servers, bool is_fixed, struct err *why)
{
	struct cares *cares = mem_new(sizeof(*cares));
	/* Every option is given, with an empty server list that is filled below: c-ares would read
	 * missing options from resolv.conf, RES_OPTIONS, LOCALDOMAIN and the host's name. Without
	 * NOALIASES it would read $HOSTALIASES for each query. Lookups "b" means DNS only. */
	struct ares_options options = {
		.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES | flags_for(servers, is_fixed),
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
	LIST_INIT(&cares->again);
	(void)snprintf(cares->servers, sizeof(cares->servers), "%s", servers);
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
		answer->cause = "the DNS server failed (SERVFAIL)";
		break;
	case ARES_EREFUSED:
		answer->cause = "the DNS server refused to answer (REFUSED)";
		break;
	case ARES_ECONNREFUSED:
		answer->cause = "there is no DNS server, or no DNS server answers";
		break;
	case ARES_EBADRESP:
		answer->cause = "the DNS response is malformed";
		break;
	case ARES_EBADNAME:
		answer->cause = "the name cannot be queried in DNS";
		break;
	default:
		break;
	}
}

/* RFC 2181 §8: a negative number counts as 0. */
static void take_ttl(struct cares_answer *answer, int ttl)
{
	uint32_t ttl_s = ttl > 0 ? (uint32_t)ttl : 0;

	answer->ttl_s = ttl_s < answer->ttl_s ? ttl_s : answer->ttl_s;
}

/* Copies the CNAME targets. A target that is not a valid host name is skipped: no rule can contain
 * it. False: the chain is too long. */
static bool take_aliases(const struct ares_addrinfo_cname *cname, struct cares_answer *answer)
{
	struct policy_destination target;

	for (; cname; cname = cname->next) {
		take_ttl(answer, cname->ttl);
		if (!cname->name ||
		    policy_destination_set(&target, cname->name, strlen(cname->name), 1, NULL) < 0)
			continue;
		if (answer->alias_count == CARES_ALIASES_MAX)
			return false;
		memcpy(answer->aliases[answer->alias_count++], target.host, sizeof(target.host));
	}
	return true;
}

static void on_answer(void *arg, int status, int timeouts, struct ares_addrinfo *info)
{
	struct cares_question *question = arg;
	struct cares *cares = question->cares;
	struct cares_answer answer = { .ttl_s = UINT32_MAX };
	struct ares_addrinfo_node *node = info ? info->nodes : NULL;
	uint16_t port;

	for (; node && answer.count < CARES_ADDRS_MAX; node = node->ai_next) {
		take_ttl(&answer, node->ai_ttl);
		if (addr_from_sockaddr(node->ai_addr, &answer.addrs[answer.count], &port) == 0)
			answer.count++;
	}
	if (info && !take_aliases(info->cnames, &answer)) {
		answer.count = 0;
		status = ARES_EBADRESP;
	}
	if (info)
		ares_freeaddrinfo(info);
	if (status == ARES_ECANCELLED && cares->is_changing) {
		LIST_INSERT_HEAD(&cares->again, question, link);
		return;
	}
	set_status(&answer, status);
	cares_fn done = question->done;
	arg = question->arg;
	free(question);
	done(&answer, arg);
}

static void ask(struct cares_question *question)
{
	struct ares_addrinfo_hints hints = {
		.ai_flags =
			ARES_AI_NOSORT, /* to sort, c-ares would open a socket for every address */
		.ai_family = question->family,
		.ai_socktype = SOCK_STREAM,
	};
	struct cares *cares = question->cares;

	ares_getaddrinfo(cares->channel, question->name, NULL, &hints, on_answer, question);
	set_timer(cares);
}

void cares_ask(struct cares *cares, const char *name, int family, cares_fn done, void *arg)
{
	struct cares_question *question = mem_new(sizeof(*question));

	question->cares = cares;
	question->done = done;
	question->arg = arg;
	question->family = family;
	(void)snprintf(question->name, sizeof(question->name), "%s.",
		       name); /* every host name fits */
	ask(question);
}

/* c-ares replaces its servers only while no query is open. */
void cares_set_servers(struct cares *cares, const char *servers)
{
	struct cares_question *question;

	if (strcmp(cares->servers, servers) == 0)
		return;
	cares->is_changing = true;
	ares_cancel(cares->channel);
	cares->is_changing = false;
	int r = ares_set_servers_ports_csv(cares->channel, servers);

	if (r == ARES_SUCCESS)
		(void)snprintf(cares->servers, sizeof(cares->servers), "%s", servers);
	else
		log_warn("cannot ask the DNS servers %s: %s", servers, ares_strerror(r));
	while ((question = LIST_FIRST(&cares->again))) {
		LIST_REMOVE(question, link);
		ask(question);
	}
	set_timer(cares);
}
