#include "cli/audit/send/stream.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "base/addr.h"
#include "base/crypto/tls.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "proxy/config.h"
#include "proxy/upstream/resolve.h"

#define STREAM_CONNECT_MS 10000 /* to one address */

struct stream {
	int fd;
	struct tls *tls;
	int64_t until_ms;
};

/* A name that is being resolved, by a loop of its own. */
struct stream_names {
	struct loop *loop;
	struct resolve_query *query;
	struct resolve_answer answer;
};

static void stream_on_answer(const struct resolve_answer *answer, void *arg)
{
	struct stream_names *names = arg;

	names->query = NULL;
	names->answer = *answer;
	loop_stop(names->loop);
}

static void stream_on_late(void *arg)
{
	struct stream_names *names = arg;

	loop_stop(names->loop);
}

static int stream_resolve(const char *host, int64_t until_ms, struct resolve_answer *ret,
			  struct err *why)
{
	const struct proxy_config config = { 0 };
	struct stream_names names = { .loop = loop_new(), .answer.reason = POLICY_DNS_TIMEOUT };
	struct resolver *resolver = resolver_new(names.loop, &config, why);
	struct loop_timer late = { 0 };
	int r = resolver ? 0 : -EIO;

	if (r == 0) {
		loop_timer_start(names.loop, &late, until_ms - loop_clock_ms(), stream_on_late,
				 &names);
		names.query = resolve_start(resolver, host, stream_on_answer, &names);
		(void)loop_run(names.loop); /* the answer says whether there is one */
		loop_timer_stop(&late);
		if (names.query)
			resolve_withdraw(names.query);
		*ret = names.answer;
		if (ret->reason != POLICY_DONE || ret->count == 0)
			r = err_set(why, -EHOSTUNREACH, "no address of %s was found%s%s", host,
				    ret->cause[0] ? ": " : "", ret->cause);
	}
	resolver_free(resolver);
	loop_free(names.loop);
	return r;
}

/* 0: the socket is ready. */
static int stream_wait(int fd, bool is_write, int64_t until_ms)
{
	struct pollfd poller = { .fd = fd, .events = is_write ? POLLOUT : POLLIN };
	int64_t left_ms = until_ms - loop_clock_ms();
	int n = left_ms > 0 ? poll(&poller, 1, (int)left_ms) : 0;

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	return n == 0 ? -ETIMEDOUT : 0;
}

static int stream_wait_tls(const struct stream *stream)
{
	return stream_wait(stream->fd, tls_wants_write(stream->tls), stream->until_ms);
}

static int stream_connect_to(const struct addr *addr, uint16_t port, int64_t until_ms)
{
	struct sockaddr_storage address = { 0 };
	socklen_t len = addr_to_sockaddr(addr, port, &address), size = sizeof(int);
	auto_close int fd =
		socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int64_t limit_ms = loop_clock_ms() + STREAM_CONNECT_MS;
	int error = 0;

	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&address, len) == 0)
		return fd_take(&fd);
	if (errno != EINPROGRESS)
		return -errno;
	int r = stream_wait(fd, true, limit_ms < until_ms ? limit_ms : until_ms);

	if (r == 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
		r = -errno;
	if (r == 0)
		r = -error;
	return r < 0 ? r : fd_take(&fd);
}

/* The first address that answers. *@ret_is_address: @host is not a name. */
static int stream_connect(const char *host, uint16_t port, int64_t until_ms, bool *ret_is_address,
			  struct err *why)
{
	struct resolve_answer answer = { .reason = POLICY_DONE, .count = 1 };
	int r = 0, fd = -EHOSTUNREACH;

	*ret_is_address = addr_parse(host, strlen(host), &answer.addrs[0]) == 0;
	if (!*ret_is_address)
		r = stream_resolve(host, until_ms, &answer, why);
	if (r < 0)
		return r;
	for (size_t i = 0; i < answer.count && fd < 0; i++)
		fd = stream_connect_to(&answer.addrs[i], port, until_ms);
	return fd < 0 ? err_errno(why, -fd, "cannot connect to %s", host) : fd;
}

int stream_open(const char *host, uint16_t port, const struct tls_trust *trust, int64_t until_ms,
		struct stream **ret, struct err *why)
{
	char cause[TLS_CAUSE_MAX] = "";
	bool is_address;
	int fd = stream_connect(host, port, until_ms, &is_address, why);

	if (fd < 0)
		return fd;
	struct stream *stream = mem_new(sizeof(*stream));

	*stream = (struct stream){ fd, tls_new(trust, fd, host, is_address), until_ms };
	int r = stream->tls ? -EAGAIN : -ENOMEM;

	for (bool is_ready = true; r == -EAGAIN && is_ready;) {
		r = tls_shake(stream->tls, cause);
		is_ready = r != -EAGAIN || stream_wait_tls(stream) == 0;
	}
	if (r == 0) {
		*ret = stream;
		return 0;
	}
	stream_close(stream);
	return err_set(why, r, "its server %s",
		       cause[0] ? cause : "did not answer in the TLS handshake");
}

void stream_close(struct stream *stream)
{
	if (!stream)
		return;
	tls_free(stream->tls);
	fd_close(stream->fd);
	free(stream);
}

int stream_write(struct stream *stream, const char *bytes, size_t len, struct err *why)
{
	while (len > 0) {
		ssize_t n = tls_write(stream->tls, bytes, len);
		int r = n == -EAGAIN ? stream_wait_tls(stream) : n < 0 ? (int)n : 0;

		if (r < 0)
			return err_errno(why, -r, "its server does not read");
		if (n > 0) {
			bytes += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

int stream_finish(struct stream *stream, struct err *why)
{
	char ignored[4096];
	ssize_t r;

	do
		r = tls_end(stream->tls);
	while (r == -EAGAIN && stream_wait_tls(stream) == 0);
	while (r >= 0) {
		r = tls_read(stream->tls, ignored, sizeof(ignored));
		if (r == 0)
			return 0;
		if (r == -EAGAIN)
			r = stream_wait_tls(stream);
	}
	return err_set(why, -EPIPE,
		       "its server did not confirm the end of the connection, so records may not "
		       "have arrived");
}
