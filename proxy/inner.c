#include "proxy/inner.h"

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
#define REPLY_MAX    16  /* one byte is enough */
#define DOOR         'd' /* as exec/wire.h has it: the first message, and no answer */

/* Answers carry no number: the n-th belongs to the n-th question. So a question that was sent stays
 * in the queue, with nobody behind it, until its answer has come. */
struct inner_request {
	TAILQ_ENTRY(inner_request) link;
	struct inner *inner;
	inner_fn done; /* NULL: nobody waits any more */
	void *arg;
	int family;
	int error; /* what the task will report */
	bool is_sent;
	struct loop_timer timer;
};

struct inner {
	struct loop *loop;
	int channel; /* -1: the exec is gone */
	struct event event;
	TAILQ_HEAD(inner_request_list, inner_request) requests;
	size_t count;
	bool was_heard; /* something has come */
	inner_door_fn on_door;
	void *arg;
};

static void request_free(struct inner_request *request)
{
	loop_timer_stop(&request->timer);
	TAILQ_REMOVE(&request->inner->requests, request, link);
	request->inner->count--;
	free(request);
}

/* Nobody waits for it any more. */
static void request_let_go(struct inner_request *request)
{
	request->done = NULL;
	loop_timer_stop(&request->timer);
	if (!request->is_sent || request->inner->channel < 0)
		request_free(request);
}

static void request_fail(void *arg)
{
	struct inner_request *request = arg;
	int error = request->error;
	inner_fn done = request->done;

	arg = request->arg;
	request_let_go(request);
	done(error, arg);
}

static void close_channel(struct inner *inner)
{
	struct inner_request *request, *next;

	if (inner->channel < 0)
		return;
	event_del(&inner->event);
	fd_close(fd_take(&inner->channel));
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

/* The other end shares its kernel objects with hostile programs: what it hands over is looked at. A
 * blocking socket would stop the worker. */
static bool is_usable(int socket, int family)
{
	return has_option(socket, SO_DOMAIN, family) &&
	       has_option(socket, SO_PROTOCOL, IPPROTO_TCP) &&
	       has_option(socket, SO_ACCEPTCONN, 0) && fd_set_nonblocking(socket, true) == 0;
}

static void on_door(struct inner *inner, const int *fds, size_t count)
{
	auto_close int listener = count == 1 ? fds[0] : -1;

	for (size_t i = 0; count != 1 && i < count; i++)
		fd_close(fds[i]);
	if (listener < 0 || !has_option(listener, SO_DOMAIN, AF_UNIX) ||
	    !has_option(listener, SO_TYPE, SOCK_STREAM) ||
	    !has_option(listener, SO_ACCEPTCONN, 1) || fd_set_nonblocking(listener, true) < 0)
		close_channel(inner);
	else if (inner->on_door)
		inner->on_door(fd_take(&listener), inner->arg);
}

static void on_answer(struct inner *inner, const int *fds, size_t count)
{
	struct inner_request *request = TAILQ_FIRST(&inner->requests);
	auto_close int socket = count == 1 ? fds[0] : -1;

	for (size_t i = 0; count != 1 && i < count; i++)
		fd_close(fds[i]);
	while (request && !request->is_sent)
		request = TAILQ_NEXT(request, link);
	if (!request) { /* an answer to no question */
		close_channel(inner);
		return;
	}
	inner_fn done = request->done;
	void *arg = request->arg;
	int family = request->family;

	request_free(request);
	if (done)
		done(socket >= 0 && is_usable(socket, family) ? fd_take(&socket) : -EPROTO, arg);
}

/* One answer a call: what it calls may free the channel. The rest makes the event fire again. */
static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct inner *inner = arg;
	char reply[REPLY_MAX];
	int fds[FD_PASS_MAX];
	size_t count = 0;
	ssize_t n = fd_recv(fd, reply, sizeof(reply), fds, &count);

	bool is_first = !inner->was_heard;

	inner->was_heard |= n > 0;
	if (n > 0 && is_first && reply[0] == DOOR)
		on_door(inner, fds, count);
	else if (n > 0)
		on_answer(inner, fds, count);
	else if (n != -EAGAIN)
		close_channel(inner);
}

void inner_on_door(struct inner *inner, inner_door_fn fn, void *arg)
{
	inner->on_door = fn;
	inner->arg = arg;
}

struct inner *inner_new(struct loop *loop, int channel)
{
	struct inner *inner = mem_new(sizeof(*inner));

	inner->loop = loop;
	inner->channel = channel;
	TAILQ_INIT(&inner->requests);
	(void)fd_set_nonblocking(channel, true); /* a bad descriptor shows at the first question */
	event_assign(&inner->event, loop_base(loop), channel, EV_READ | EV_PERSIST, on_readable,
		     inner);
	event_add(&inner->event, NULL);
	return inner;
}

void inner_free(struct inner *inner)
{
	if (!inner)
		return;
	close_channel(inner);
	while (!TAILQ_EMPTY(&inner->requests))
		request_free(TAILQ_FIRST(&inner->requests));
	free(inner);
}

static int send_question(struct inner *inner, int family)
{
	char question = family == AF_INET ? 4 : 6;

	if (inner->channel < 0)
		return -EPIPE;
	if (inner->count > REQUESTS_MAX)
		return -EAGAIN;
	return fd_send(inner->channel, &question, sizeof(question), NULL, 0);
}

struct inner_request *inner_ask(struct inner *inner, int family, inner_fn done, void *arg)
{
	struct inner_request *request = mem_new(sizeof(*request));

	request->inner = inner;
	request->done = done;
	request->arg = arg;
	request->family = family;
	TAILQ_INSERT_TAIL(&inner->requests, request, link);
	inner->count++;
	request->error = send_question(inner, family);
	request->is_sent = request->error == 0;
	if (!request->is_sent) {
		loop_defer(inner->loop, &request->timer, request_fail, request);
		return request;
	}
	request->error = -ETIMEDOUT;
	loop_timer_start(inner->loop, &request->timer, DEADLINE_MS, request_fail, request);
	return request;
}

void inner_withdraw(struct inner_request *request)
{
	if (request)
		request_let_go(request);
}
