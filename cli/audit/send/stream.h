/* stream: a connection by TLS, as a client. Its calls wait, up to a deadline. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct err;
struct stream;
struct tls_trust;

/* Connects to the @host (a name, which its certificate must have, or an address) until @until_ms of
 * loop_clock_ms(), the deadline of every later call, too. SIGPIPE must be ignored. 0 and returned
 * owned, or -errno with @why. */
int stream_open(const char *host, uint16_t port, const struct tls_trust *trust, int64_t until_ms,
		struct stream **ret, struct err *why);
void stream_close(struct stream *stream); /* NULL is fine */
int stream_write(struct stream *stream, const char *bytes, size_t len, struct err *why);
/* Says that nothing follows. 0: the server has said the same, so it has read everything. */
int stream_finish(struct stream *stream, struct err *why);
