/* http1: strict incremental HTTP/1.1 heads and chunked bodies (RFC 9110, RFC 9112). Everything
 * ambiguous is refused. Pure: no allocation, no I/O; spans point into the caller's buffer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP1_HEAD_MAX   32768 /* bytes of a head, start line and all fields */
#define HTTP1_FIELDS_MAX 128
#define HTTP1_TARGET_MAX 16384

struct http1_span {
	const char *at;
	size_t len;
};
struct http1_field {
	struct http1_span name, value; /* value without surrounding white space */
};

enum http1_target { HTTP1_ORIGIN, HTTP1_ABSOLUTE, HTTP1_AUTHORITY, HTTP1_ASTERISK };
enum http1_body { HTTP1_NO_BODY, HTTP1_LENGTH, HTTP1_CHUNKED, HTTP1_UNTIL_CLOSE };

struct http1_head {
	struct http1_span method, target; /* requests */
	enum http1_target form;
	struct http1_span scheme; /* ABSOLUTE: "http" … */
	struct http1_span host;   /* ABSOLUTE, AUTHORITY: without brackets or port, as sent */
	uint16_t port;          /* ABSOLUTE: the default where none was sent; AUTHORITY: required */
	struct http1_span path; /* ORIGIN, ABSOLUTE: path and query, as sent; empty: "/", or "*" for
				   OPTIONS */
	struct http1_span userinfo;   /* ABSOLUTE: present (len > 0) is for the caller to refuse or
					 strip; never log it */
	struct http1_span host_field; /* the Host field's value; len 0: absent or empty */
	uint16_t host_field_port;     /* 0: none was sent */
	struct http1_span host_field_name; /* its host without brackets or port */
	int status;                        /* responses */
	struct http1_span reason;
	int minor; /* HTTP/1.minor: 0 or 1 */
	struct http1_field fields[HTTP1_FIELDS_MAX];
	size_t field_count;
	enum http1_body body; /* RFC 9112 §6.3, given the request's method for responses */
	uint64_t length;      /* HTTP1_LENGTH */
	bool keep_alive;      /* RFC 9112 §9.3 */
	bool has_upgrade;     /* Upgrade present and named in Connection */
	bool expects_continue;
	size_t bytes; /* of the head, blank line included */
};

/* -EAGAIN: not whole yet (call again with more; @buffer from the same start). -E2BIG: over a limit.
 * -EBADMSG: refused, *@ret_cause is a static sentence. 0: @ret is filled. Restarting costs at most
 * one scan of what is new: keep *@scanned (0 at first; it is 0 again once a head was whole). */
int http1_parse_request(const char *buffer, size_t len, size_t *scanned, struct http1_head *ret,
			const char **ret_cause);
/* @method: of the request it answers (HEAD, CONNECT change the body). */
int http1_parse_response(const char *buffer, size_t len, size_t *scanned, struct http1_span method,
			 struct http1_head *ret, const char **ret_cause);

/* First field named @name (lower case), or NULL. */
const struct http1_field *http1_find(const struct http1_head *head, const char *name);
/* Is @field hop-by-hop: in the fixed list of RFC 9110 §7.6.1 (Connection, Keep-Alive, Proxy-*, TE,
 * Trailer, Transfer-Encoding, Upgrade) or named by a Connection field? Content-Length, Host never
 * are by naming. */
bool http1_is_hop_by_hop(const struct http1_head *head, const struct http1_field *field);

/* Incremental chunked decoder. Zeroed is the start. */
struct http1_chunked {
	uint64_t left;
	uint32_t line; /* bytes of the current size line or trailer name so far */
	uint32_t trailer_bytes;
	uint8_t state;
	char name[24]; /* of the current trailer field, as far as it fits */
};
/* Consumes from @bytes: *@ret_used bytes were consumed, of which the payload is *@ret_data (one
 * span, may be empty). 0: go on (call again with the rest, or more), 1: the body is whole,
 * -EBADMSG: refused. Extensions and trailers are dropped. It stops behind a chunk's payload, and
 * without payload only at the end of @bytes. */
int http1_chunked_feed(struct http1_chunked *decoder, const char *bytes, size_t len,
		       size_t *ret_used, struct http1_span *ret_data);
