#include "proxy/upstream/happy_eyeballs.h"

#include <assert.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <string.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"

#define STAGGER_MS  250 /* RFC 8305 §5 */
#define DEADLINE_MS 10000

struct race_runner {
	struct happy_eyeballs *race;
	struct event event;
	int fd;     /* -1: not running */
	int socket; /* to be used instead of a new one; -1: none */
	struct addr addr;
};

struct happy_eyeballs {
	struct loop *loop;
	happy_eyeballs_fn done;
	void *arg;
	uint16_t port;
	int error;       /* the most informative failure so far, or 0 */
	size_t error_at; /* its address */
	size_t started, running, count;
	struct loop_timer stagger, deadline;
	struct race_runner runners[];
};

static void stop_runner(struct race_runner *runner)
{
	if (runner->fd < 0)
		return;
	event_del(&runner->event);
	fd_close(runner->fd);
	runner->fd = -1;
	runner->race->running--;
}

static void happy_eyeballs_free(struct happy_eyeballs *race)
{
	loop_timer_stop(&race->stagger);
	loop_timer_stop(&race->deadline);
	for (size_t i = 0; i < race->count; i++) {
		stop_runner(&race->runners[i]);
		fd_close(race->runners[i].socket);
	}
	free(race);
}

void happy_eyeballs_withdraw(struct happy_eyeballs *race)
{
	if (race)
		happy_eyeballs_free(race);
}

/* Calls @done and frees the race. */
static void finish(struct happy_eyeballs *race, int fd, size_t at)
{
	struct addr addr = race->runners[at].addr;
	happy_eyeballs_fn done = race->done;
	void *arg = race->arg;

	happy_eyeballs_free(race);
	done(fd, &addr, arg);
}

static void finish_failed(struct happy_eyeballs *race)
{
	finish(race, race->error ? -race->error : -ETIMEDOUT, race->error_at);
}

/* A refusal is more informative than "no route", which half of the addresses give on a host with
 * one family. */
static void note_failure(struct happy_eyeballs *race, size_t at, int error)
{
	bool is_weak = race->error == 0 || race->error == ENETUNREACH ||
		       race->error == EHOSTUNREACH || race->error == EADDRNOTAVAIL ||
		       race->error == EAFNOSUPPORT;

	if (!is_weak)
		return;
	race->error = error;
	race->error_at = at;
}

static void on_deadline(void *arg)
{
	struct happy_eyeballs *race = arg;

	/* An attempt that is still running is more informative than one that failed before. */
	for (size_t i = 0; i < race->count; i++) {
		if (race->runners[i].fd >= 0) {
			finish(race, -ETIMEDOUT, i);
			return;
		}
	}
	finish_failed(race);
}

static void run_next(void *arg);

/* After a failure the next address is tried at once (RFC 8305 §5). That attempt may fail at once
 * too, so it runs from the loop, which also keeps happy_eyeballs_start() from calling back. */
static void go_on(struct happy_eyeballs *race)
{
	if (race->started < race->count || race->running == 0)
		loop_defer(race->loop, &race->stagger, run_next, race);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct race_runner *runner = arg;
	struct happy_eyeballs *race = runner->race;
	size_t at = (size_t)(runner - race->runners);
	int error = 0, one = 1;
	socklen_t len = sizeof(error);

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	if (error != 0) {
		note_failure(race, at, error);
		stop_runner(runner);
		go_on(race);
		return;
	}
	event_del(&runner->event);
	runner->fd = -1;
	race->running--;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one,
			 sizeof(one)); /* without this option it is slower, but correct */
	finish(race, fd, at);
}

static int run(struct race_runner *runner)
{
	struct happy_eyeballs *race = runner->race;
	auto_close int fd = fd_take(&runner->socket);
	struct sockaddr_storage sockaddr;
	socklen_t len = addr_to_sockaddr(&runner->addr, race->port, &sockaddr);

	if (fd < 0)
		fd = socket(runner->addr.family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			    IPPROTO_TCP);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&sockaddr, len) < 0 && errno != EINPROGRESS)
		return -errno;
	runner->fd = fd_take(&fd);
	race->running++;
	event_assign(&runner->event, loop_base(race->loop), runner->fd, EV_WRITE, on_writable,
		     runner);
	event_add(&runner->event, NULL);
	return 0;
}

static void run_next(void *arg)
{
	struct happy_eyeballs *race = arg;

	if (race->started == race->count) {
		if (race->running == 0)
			finish_failed(race);
		return;
	}
	size_t at = race->started++;
	int r = run(&race->runners[at]);
	if (r < 0) {
		note_failure(race, at, -r);
		go_on(race);
	} else if (race->started < race->count) {
		loop_timer_start(race->loop, &race->stagger, STAGGER_MS, run_next, race);
	}
}

static struct happy_eyeballs *happy_eyeballs_new(struct loop *loop, const struct addr *addrs,
						 size_t count, uint16_t port,
						 happy_eyeballs_fn done, void *arg)
{
	struct happy_eyeballs *race = mem_new(sizeof(*race) + count * sizeof(race->runners[0]));

	assert(count >= 1 && count <= HAPPY_EYEBALLS_ADDRS_MAX);
	race->loop = loop;
	race->done = done;
	race->arg = arg;
	race->port = port;
	race->count = count;
	for (size_t i = 0; i < count; i++) {
		race->runners[i].race = race;
		race->runners[i].fd = -1;
		race->runners[i].socket = -1;
		race->runners[i].addr = addrs[i];
	}
	return race;
}

struct happy_eyeballs *happy_eyeballs_start(struct loop *loop, const struct addr *addrs,
					    size_t count, uint16_t port, happy_eyeballs_fn done,
					    void *arg)
{
	struct happy_eyeballs *race = happy_eyeballs_new(loop, addrs, count, port, done, arg);

	loop_timer_start(loop, &race->deadline, DEADLINE_MS, on_deadline, race);
	run_next(race);
	return race;
}

struct happy_eyeballs *happy_eyeballs_start_with(struct loop *loop, int socket,
						 const struct addr *addr, uint16_t port,
						 happy_eyeballs_fn done, void *arg)
{
	struct happy_eyeballs *race = happy_eyeballs_new(loop, addr, 1, port, done, arg);

	race->runners[0].socket = socket;
	loop_timer_start(loop, &race->deadline, DEADLINE_MS, on_deadline, race);
	run_next(race);
	return race;
}
