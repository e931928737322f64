#include "base/process/aside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/process/helper.h"
#include "base/loop.h"
#include "base/mem.h"

#define PIECE_BYTES 65536

struct aside {
	struct loop *loop;
	struct helper helper;
	struct event readable;
	struct loop_timer late;
	size_t max_bytes;
	uint64_t expected; /* bytes announced by the process */
	bool has_head;
	char *bytes;
	size_t len;
	int fd; /* that was sent with the result; -1: none */
	aside_done_fn done;
	void *arg;
};

/* Sends the length first, with the descriptor, then the bytes in pieces. */
static int answer(int socket, const char *bytes, uint64_t len, const int *fd)
{
	int r = fd_send(socket, &len, sizeof(len), fd, fd && *fd >= 0);

	for (uint64_t at = 0; at < len && r == 0; at += PIECE_BYTES)
		r = fd_send(socket, bytes + at, len - at < PIECE_BYTES ? len - at : PIECE_BYTES,
			    NULL, 0);
	return r;
}

static int run(int socket, void *arg)
{
	const struct aside_config *config = arg;
	char *bytes = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&bytes, &len);

	if (!out)
		return 1;
	config->run(out, config->run_arg);
	if (fclose(out) != 0)
		return 1;
	return answer(socket, bytes, len, config->run_fd) < 0;
}

static void stop(struct aside *aside)
{
	if (aside->helper.pid > 0)
		event_del(&aside->readable);
	loop_timer_stop(&aside->late);
	helper_end(aside->loop, &aside->helper);
}

/* The caller must return at once: @done may have freed the aside. */
static void end(struct aside *aside, int result)
{
	stop(aside);
	aside->done(result, result == 0 ? aside->bytes : "", result == 0 ? aside->len : 0,
		    aside->arg);
}

static void read_head(struct aside *aside, const char *piece, size_t len)
{
	if (len != sizeof(aside->expected))
		return end(aside, -EPIPE);
	memcpy(&aside->expected, piece, len);
	if (aside->expected > aside->max_bytes)
		return end(aside, -E2BIG);
	aside->has_head = true;
	aside->bytes = mem_new((size_t)aside->expected + 1);
	if (aside->expected == 0)
		end(aside, 0);
}

/* Reads one piece per turn of the loop, so that other events are not delayed. */
static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	static const size_t head = sizeof(uint64_t);
	struct aside *aside = arg;
	char piece[PIECE_BYTES];
	int fds[FD_PASS_MAX];
	size_t fd_count;
	ssize_t n = fd_recv(fd, piece, aside->has_head ? sizeof(piece) : head + 1, fds, &fd_count);

	if (n == -EAGAIN)
		return;
	for (size_t i = 0; i < fd_count; i++) {
		fd_close(aside->fd);
		aside->fd = fds[i];
	}
	if (n <= 0)
		return end(aside, -EPIPE);
	if (!aside->has_head)
		return read_head(aside, piece, (size_t)n);
	if ((size_t)n > aside->expected - aside->len)
		return end(aside, -EPIPE);
	memcpy(aside->bytes + aside->len, piece, (size_t)n);
	aside->len += (size_t)n;
	if (aside->len == aside->expected)
		end(aside, 0);
}

static void on_late(void *arg)
{
	end(arg, -ETIMEDOUT);
}

static void on_failed(void *arg)
{
	end(arg, -EPIPE);
}

struct aside *aside_start(struct loop *loop, const struct aside_config *config)
{
	struct aside *aside = mem_new(sizeof(*aside));
	struct aside_config copy = *config;
	struct err why = { 0 };

	aside->loop = loop;
	aside->helper = HELPER_NONE;
	aside->fd = -1;
	aside->max_bytes = config->max_bytes;
	aside->done = config->done;
	aside->arg = config->arg;
	if (helper_start(config->name, run, &copy, &aside->helper, &why) < 0) {
		loop_defer(loop, &aside->late, on_failed, aside);
		return aside;
	}
	event_assign(&aside->readable, loop_base(loop), aside->helper.socket, EV_READ | EV_PERSIST,
		     on_readable, aside);
	event_add(&aside->readable, NULL);
	loop_timer_start(loop, &aside->late, config->limit_ms, on_late, aside);
	return aside;
}

int aside_take_fd(struct aside *aside)
{
	return fd_take(&aside->fd);
}

void aside_free(struct aside *aside)
{
	if (!aside)
		return;
	stop(aside);
	fd_close(aside->fd);
	free(aside->bytes);
	free(aside);
}

const char *aside_words(int result)
{
	switch (result) {
	case 0:
		return "it finished in time";
	case -ETIMEDOUT:
		return "a file system did not answer in time";
	case -E2BIG:
		return "the result of the helper process is too large";
	default:
		return "the helper process has died, or could not be started";
	}
}
