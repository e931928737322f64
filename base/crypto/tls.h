/* tls: the client's side of TLS over a connected socket. Nothing here waits, and no system file is
 * read. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct err;
struct tls;
struct tls_trust;

#define TLS_CAUSE_MAX 96

/* Whom a client trusts: the certificates in @pem. Returned owned. -EBADMSG with @why. */
int tls_trust_new(const char *pem, size_t len, struct tls_trust **ret, struct err *why);
void tls_trust_free(struct tls_trust *trust);

/* Over @fd (nonblocking, kept; SIGPIPE must be ignored), to a server whose certificate must be for
 * @host: a name, or an address if @is_address. Returned owned; NULL: it cannot be made. */
struct tls *tls_new(const struct tls_trust *trust, int fd, const char *host, bool is_address);
void tls_free(struct tls *tls);
/* Before the handshake: HTTP/1.1 will follow (ALPN). 0 or -ENOMEM. */
int tls_offer_http1(struct tls *tls);

/* Each returns -EAGAIN when the socket is not ready: for writing, if tls_wants_write(), else for
 * reading. 0: the server is the one that was named; -EPROTO with @cause: it is not. */
int tls_shake(struct tls *tls, char cause[TLS_CAUSE_MAX]);
/* 0: the server has said that nothing follows. -ECONNRESET: the connection ended without that. With
 * room for TLS_RECORD_BYTES nothing is held back from the next call. */
#define TLS_RECORD_BYTES 16384
ssize_t tls_read(struct tls *tls, void *bytes, size_t max);
/* As many bytes as the socket takes. */
ssize_t tls_write(struct tls *tls, const void *bytes, size_t len);
/* Says that nothing follows; 0, or -errno. */
int tls_end(struct tls *tls);
bool tls_wants_write(const struct tls *tls);
