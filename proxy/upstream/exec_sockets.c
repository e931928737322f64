#include "proxy/upstream/exec_sockets.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"

#define DEADLINE_MS  2000
#define REQUESTS_MAX 256
#define REPLY_MAX    16 /* one byte is enough */
#define DOOR         'd' /* as in exec/run/wire_inner.h: the first message, which is not a response */
#define RENEW        0x80 /* the same: a bit of a request for that message, and of its response */

/* The byte of a request, as in exec/run/wire_inner.h, and the protocol of its socket. */
static const struct {
	char byte;
	int domain, protocol; /* domain 0: either */
	bool may_wait;        /* without a deadline: the command has not started yet */
} kinds[] = {
	[EXEC_SOCKETS_TCP4] = { 4, AF_INET, IPPROTO_TCP },
	[EXEC_SOCKETS_TCP6] = { 6, AF_INET6, IPPROTO_TCP },
	[EXEC_SOCKETS_UDP] = { 'u', AF_INET, IPPROTO_UDP },
	[EXEC_SOCKETS_CAPTURED] = { 'c', 0, IPPROTO_UDP, true },
	[EXEC_SOCKETS_RAW4] = { 'r', AF_INET, IPPROTO_RAW, true },
	[EXEC_SOCKETS_RAW6] = { 'R', AF_INET6, IPPROTO_RAW, true },
};

/* Responses have no number: the n-th belongs to the n-th request. So a request that was sent stays
 * in the queue until its response comes, even when it was withdrawn. */
struct exec_sockets_request {
	TAILQ_ENTRY(exec_sockets_request) link;
	struct exec_sockets *inner;
	exec_sockets_fn done; /* NULL: withdrawn */
	void *arg;
	enum exec_sockets_kind kind;
	int error; /* the result that the task will report */
	bool is_sent;
	struct loop_timer timer;
};

struct exec_sockets {
	struct loop *loop;
	int channel; /* closed in exec_sockets_free(), see end_channel() */
	bool has_ended;
	struct event event;
	TAILQ_HEAD(inner_request_list, exec_sockets_request) requests;
	size_t count;
	bool was_heard;  /* the first message has come */
	uint8_t renewal; /* until it comes, responses are for a worker before us; 0: none */
	exec_sockets_door_fn on_door;
	void *arg;
};

static void request_free(struct exec_sockets_request *request)
{
	loop_timer_stop(&request->timer);
	TAILQ_REMOVE(&request->inner->requests, request, link);
	request->inner->count--;
	free(request);
}

/* Withdraws it, or frees it. */
static void request_let_go(struct exec_sockets_request *request)
{
	request->done = NULL;
	loop_timer_stop(&request->timer);
	if (!request->is_sent || request->inner->has_ended)
		request_free(request);
}

static void request_fail(void *arg)
{
	struct exec_sockets_request *request = arg;
	int error = request->error;
	exec_sockets_fn done = request->done;

	arg = request->arg;
	request_let_go(request);
	done(error, arg);
}

/* The gate has a copy of the descriptor, so closing ours would not end the channel. And libevent
 * removes an event from epoll in the next turn: if ours were closed before that, the event would
 * stay, and occur in each turn (loop_new()). */
static void end_channel(struct exec_sockets *inner)
{
	struct exec_sockets_request *request, *next;

	if (inner->has_ended)
		return;
	inner->has_ended = true;
	event_del(&inner->event);
	(void)shutdown(inner->channel, SHUT_RDWR); /* -ENOTCONN: the other end has closed it */
	for (request = TAILQ_FIRST(&inner->requests); request; request = next) {
		next = TAILQ_NEXT(request, link);
		if (!request->done) {
			request_free(request);
			continue;
		}
		request->error = -EPIPE;
		loop_defer(inner->loop, &request->timer, request_fail, request);
	}
}

static bool has_option(int socket, int option, int want)
{
	int value = 0;
	socklen_t len = sizeof(value);

	return getsockopt(socket, SOL_SOCKET, option, &value, &len) == 0 && value == want;
}

/* The other end shares its kernel objects with hostile programs, so the socket is checked. A
 * blocking socket would stop the worker. */
static bool is_usable(int socket, enum exec_sockets_kind kind)
{
	int domain = kinds[kind].domain;

	return (domain != 0 ? has_option(socket, SO_DOMAIN, domain)
			    : has_option(socket, SO_DOMAIN, AF_INET) ||
				      has_option(socket, SO_DOMAIN, AF_INET6)) &&
	       has_option(socket, SO_PROTOCOL, kinds[kind].protocol) &&
	       has_option(socket, SO_ACCEPTCONN, 0) && fd_set_nonblocking(socket, true) == 0;
}

static void on_door(struct exec_sockets *inner, const int *fds, size_t count)
{
	auto_close int listener = count == 1 ? fds[0] : -1;

	for (size_t i = 0; count != 1 && i < count; i++)
		fd_close(fds[i]);
	if (listener < 0 || !has_option(listener, SO_DOMAIN, AF_UNIX) ||
	    !has_option(listener, SO_TYPE, SOCK_STREAM) ||
	    !has_option(listener, SO_ACCEPTCONN, 1) || fd_set_nonblocking(listener, true) < 0)
		end_channel(inner);
	else if (inner->on_door)
		inner->on_door(fd_take(&listener), inner->arg);
}

static void on_answer(struct exec_sockets *inner, const int *fds, size_t count)
{
	struct exec_sockets_request *request = TAILQ_FIRST(&inner->requests);
	auto_close int socket = count == 1 ? fds[0] : -1;

	for (size_t i = 0; count != 1 && i < count; i++)
		fd_close(fds[i]);
	while (request && !request->is_sent)
		request = TAILQ_NEXT(request, link);
	if (!request) { /* a response without a request */
		end_channel(inner);
		return;
	}
	exec_sockets_fn done = request->done;
	void *arg = request->arg;
	enum exec_sockets_kind kind = request->kind;

	request_free(request);
	if (done)
		done(socket >= 0 && is_usable(socket, kind) ? fd_take(&socket) : -EPROTO, arg);
}

/* What the worker before us asked for is of no use. */
static void on_renewal(struct exec_sockets *inner, uint8_t reply, const int *fds, size_t count)
{
	if (reply != inner->renewal) {
		fd_close_all(fds, count);
		return;
	}
	inner->renewal = 0;
	if (count > 0)
		on_door(inner, fds, count);
}

/* One response per call, because its callback may free the channel. More of them make the event
 * fire again. */
static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct exec_sockets *inner = arg;
	char reply[REPLY_MAX];
	int fds[FD_PASS_MAX];
	size_t count = 0;
	ssize_t n = fd_recv(fd, reply, sizeof(reply), fds, &count);

	bool is_first = !inner->was_heard;

	inner->was_heard |= n > 0;
	if (n > 0 && inner->renewal != 0)
		on_renewal(inner, (uint8_t)reply[0], fds, count);
	else if (n > 0 && is_first && reply[0] == DOOR)
		on_door(inner, fds, count);
	else if (n > 0)
		on_answer(inner, fds, count);
	else if (n != -EAGAIN)
		end_channel(inner);
}

void exec_sockets_on_door(struct exec_sockets *inner, exec_sockets_door_fn fn, void *arg)
{
	inner->on_door = fn;
	inner->arg = arg;
}

void exec_sockets_renew(struct exec_sockets *inner, uint32_t turn)
{
	uint8_t request = (uint8_t)(RENEW | turn);

	inner->renewal = request;
	if (fd_send(inner->channel, &request, sizeof(request), NULL, 0) < 0)
		end_channel(inner);
}

struct exec_sockets *exec_sockets_new(struct loop *loop, int channel)
{
	struct exec_sockets *inner = mem_new(sizeof(*inner));

	inner->loop = loop;
	inner->channel = channel;
	TAILQ_INIT(&inner->requests);
	(void)fd_set_nonblocking(channel,
				 true); /* an invalid descriptor fails at the first request */
	event_assign(&inner->event, loop_base(loop), channel, EV_READ | EV_PERSIST, on_readable,
		     inner);
	event_add(&inner->event, NULL);
	return inner;
}

void exec_sockets_free(struct exec_sockets *inner)
{
	if (!inner)
		return;
	end_channel(inner);
	fd_close(inner->channel);
	while (!TAILQ_EMPTY(&inner->requests))
		request_free(TAILQ_FIRST(&inner->requests));
	free(inner);
}

static int send_question(struct exec_sockets *inner, enum exec_sockets_kind kind)
{
	if (inner->has_ended)
		return -EPIPE;
	if (inner->count > REQUESTS_MAX)
		return -EAGAIN;
	return fd_send(inner->channel, &kinds[kind].byte, sizeof(kinds[kind].byte), NULL, 0);
}

struct exec_sockets_request *exec_sockets_ask(struct exec_sockets *inner,
					      enum exec_sockets_kind kind, exec_sockets_fn done,
					      void *arg)
{
	struct exec_sockets_request *request = mem_new(sizeof(*request));

	request->inner = inner;
	request->done = done;
	request->arg = arg;
	request->kind = kind;
	TAILQ_INSERT_TAIL(&inner->requests, request, link);
	inner->count++;
	request->error = send_question(inner, kind);
	request->is_sent = request->error == 0;
	if (!request->is_sent) {
		loop_defer(inner->loop, &request->timer, request_fail, request);
		return request;
	}
	request->error = -ETIMEDOUT;
	if (!kinds[kind].may_wait)
		loop_timer_start(inner->loop, &request->timer, DEADLINE_MS, request_fail, request);
	return request;
}

void exec_sockets_withdraw(struct exec_sockets_request *request)
{
	if (request)
		request_let_go(request);
}
