/* http1_head: a parsed head. Spans point into the buffer it was read from. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP1_HEAD_MAX   32768 /* bytes of a head, start line and all fields */
#define HTTP1_FIELDS_MAX 100   /* the same as Apache and haproxy */
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
	uint16_t port;            /* ABSOLUTE: the default if none was sent; AUTHORITY: required */
	struct http1_span path; /* ORIGIN, ABSOLUTE: path and query, as sent; empty: "/", or "*" for
				   OPTIONS */
	struct http1_span userinfo; /* ABSOLUTE: if present (len > 0), the caller refuses or removes
				       it; never log it */
	struct http1_span host_field; /* the value of the Host field; len 0: missing or empty */
	uint16_t host_field_port;     /* 0: no port was sent */
	struct http1_span host_field_name; /* the host in it, without brackets or port */
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

/* First field named @name (lower case), or NULL. */
const struct http1_field *http1_head_find(const struct http1_head *head, const char *name);
