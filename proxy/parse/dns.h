/* dns: reads one query and writes its response (RFC 1035, EDNS(0) of RFC 6891, extended errors of
 * RFC 8914). Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DNS_NAME_MAX    254 /* 253 octets (RFC 1035 §2.3.4) and NUL */
#define DNS_MESSAGE_MAX 4096
#define DNS_REPLY_MAX   1232 /* written at most: fits one packet everywhere */
#define DNS_REPLY_PLAIN 512  /* over UDP, without EDNS (RFC 1035 §2.3.4) */

enum dns_type {
	DNS_A = 1,
	DNS_PTR = 12,
	DNS_TXT = 16,
	DNS_AAAA = 28,
	DNS_ANY = 255,
};
enum dns_code {
	DNS_OK = 0,
	DNS_FORMAT_ERROR = 1,
	DNS_SERVER_FAILURE = 2,
	DNS_NO_NAME = 3,
	DNS_NOT_IMPLEMENTED = 4,
	DNS_REFUSED = 5,
};
enum dns_extra { DNS_NOTHING = 0, DNS_BLOCKED = 15 }; /* RFC 8914 §4 */

struct dns_query {
	uint8_t head[4];    /* the id and the flags */
	enum dns_code code; /* not DNS_OK: answer only with it */
	uint16_t type;
	char name[DNS_NAME_MAX]; /* with dots between the labels; "": the root, or a label has other
				    bytes than letters, digits, '-' and '_' */
	const uint8_t *question; /* in the query, as it was sent; NULL: it could not be read */
	size_t question_len;
	size_t room; /* for a response over UDP */
	bool has_edns;
};

/* -EBADMSG: it is not a query, and gets no answer. @ret borrows @bytes. */
int dns_read(const uint8_t *bytes, size_t len, struct dns_query *ret);

/* At most one record. */
struct dns_answer {
	enum dns_code code;
	const uint8_t *addr;    /* of an A or AAAA record; NULL: none */
	size_t addr_len;        /* 4 or 16 */
	const char *name;       /* of a PTR record, canonical; NULL: none */
	const char *text;       /* of a TXT record, at most 255 bytes; NULL: none */
	enum dns_extra extra;   /* for a client that sent EDNS */
	const char *extra_text; /* at most 255 bytes; NULL: none */
};

/* Writes at most @max bytes (at least DNS_REPLY_PLAIN) to @out: a response that does not fit is
 * marked as truncated. Returns its length. */
size_t dns_write(const struct dns_query *query, const struct dns_answer *answer, uint8_t *out,
		 size_t max);
