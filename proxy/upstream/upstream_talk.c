#include "proxy/upstream/upstream_talk.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/http1/http1.h"
#include "base/mem.h"
#include "base/text.h"

#define SOCKS_VERSION    5
#define SOCKS_LOGIN      2 /* a method: user and password */
#define SOCKS_HEAD_BYTES 5 /* of an answer: enough to know its length */

enum socks_step { SOCKS_METHOD, SOCKS_SIGNED_IN, SOCKS_CONNECTED };
enum socks_address { SOCKS_V4 = 1, SOCKS_NAME = 3, SOCKS_V6 = 4 };

int upstream_talk_fail(struct upstream_talk *talk, enum policy_reason reason, const char *cause)
{
	char proxy[POLICY_UPSTREAM_TEXT_MAX];

	talk->reason = reason;
	(void)snprintf(talk->cause, sizeof(talk->cause), "%s %s",
		       policy_upstream_text(talk->upstream, proxy), cause); /* truncation is fine */
	return -EBADMSG;
}

static void http_begin(struct upstream_talk *talk)
{
	const struct policy_destination *dst = talk->dst;
	bool is_v6 = dst->addr.family == AF_INET6;
	auto_free char *authority = mem_printf("%s%s%s:%u", is_v6 ? "[" : "", dst->host,
					       is_v6 ? "]" : "", (unsigned int)dst->port);
	auto_free char *field = policy_upstream_field(talk->upstream);

	talk->out_len = (size_t)snprintf(talk->out, sizeof(talk->out),
					 "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", authority,
					 authority, field);
}

static int http_refused(struct upstream_talk *talk, const struct http1_head *head)
{
	char reason[40], cause[96];

	(void)text_visible(reason, sizeof(reason), head->reason.at, head->reason.len);
	(void)snprintf(cause, sizeof(cause), "answered %d %s%s", head->status, reason,
		       head->status != 407         ? ""
		       : talk->upstream->has_login ? "; the login is wrong"
						   : "; it needs a login");
	return upstream_talk_fail(talk, POLICY_PROXY_REFUSED, cause);
}

/* Without this check, another protocol would keep us waiting until the deadline. */
static bool may_be_http(const struct upstream_talk *talk)
{
	static const char begin[] = { 'H', 'T', 'T', 'P', '/' };

	return !memcmp(talk->in, begin,
		       talk->in_len < sizeof(begin) ? talk->in_len : sizeof(begin));
}

static int http_read(struct upstream_talk *talk, const char *bytes, size_t len, size_t *ret_used)
{
	const struct http1_span method = { "CONNECT", 7 };
	size_t room = sizeof(talk->in) - talk->in_len, had = talk->in_len;
	const char *cause = NULL;
	struct http1_head head;

	*ret_used = len < room ? len : room;
	memcpy(talk->in + had, bytes, *ret_used);
	talk->in_len += *ret_used;

	int r = http1_parse_response(talk->in, talk->in_len, &talk->scanned, method, &head, &cause);

	if (r == -EAGAIN && talk->in_len < sizeof(talk->in) && may_be_http(talk))
		return -EAGAIN;
	if (r == -E2BIG || (r == -EAGAIN && may_be_http(talk)))
		return upstream_talk_fail(talk, POLICY_PROXY_FAILED,
					  "sent a head that is too large");
	if (r < 0)
		return upstream_talk_fail(talk, POLICY_PROXY_FAILED, "did not answer as HTTP/1.1");
	if (head.status < 200 || head.status > 299)
		return http_refused(talk, &head);
	*ret_used = head.bytes - had;
	return 0;
}

static void put(struct upstream_talk *talk, const void *bytes, size_t len)
{
	memcpy(talk->out + talk->out_len, bytes, len);
	talk->out_len += len;
}

static void put_text(struct upstream_talk *talk, const char *text)
{
	size_t len = strlen(text); /* of a host or a login: at most 255 */

	put(talk, &(uint8_t){ (uint8_t)len }, 1);
	put(talk, text, len);
}

static void socks_begin(struct upstream_talk *talk)
{
	const uint8_t with_login[] = { SOCKS_VERSION, 2, 0, SOCKS_LOGIN };
	const uint8_t without[] = { SOCKS_VERSION, 1, 0 };

	if (talk->upstream->has_login)
		put(talk, with_login, sizeof(with_login));
	else
		put(talk, without, sizeof(without));
}

static int socks_ask(struct upstream_talk *talk)
{
	const struct policy_destination *dst = talk->dst;
	const uint8_t begin[] = { SOCKS_VERSION, 1, 0 };
	const uint8_t port[] = { (uint8_t)(dst->port >> 8), (uint8_t)dst->port };

	put(talk, begin, sizeof(begin));
	if (dst->addr.family == 0) {
		put(talk, &(uint8_t){ SOCKS_NAME }, 1);
		put_text(talk, dst->host);
	} else {
		bool is_v4 = dst->addr.family == AF_INET;

		put(talk, &(uint8_t){ is_v4 ? SOCKS_V4 : SOCKS_V6 }, 1);
		put(talk, dst->addr.bytes, is_v4 ? 4 : 16);
	}
	put(talk, port, sizeof(port));
	talk->step = SOCKS_CONNECTED;
	return 1;
}

/* RFC 1929 §2 */
static int socks_sign_in(struct upstream_talk *talk)
{
	put(talk, &(uint8_t){ 1 }, 1);
	put_text(talk, talk->upstream->user);
	put_text(talk, talk->upstream->password);
	talk->step = SOCKS_SIGNED_IN;
	return 1;
}

/* RFC 1928 §6 */
static int socks_refused(struct upstream_talk *talk, uint8_t reply)
{
	static const char *const texts[] = {
		[1] = "answered that it failed",
		[2] = "answered that its rules do not allow this destination",
		[3] = "answered that it cannot reach the network",
		[4] = "answered that it cannot reach the host",
		[5] = "answered that the destination refused the connection",
		[6] = "answered that the connection timed out",
		[7] = "does not support CONNECT",
		[8] = "does not support this kind of address",
	};

	return upstream_talk_fail(talk, POLICY_PROXY_REFUSED,
				  reply < ARRAY_SIZE(texts) ? texts[reply]
							    : "refused the connection");
}

/* How long the answer is, as far as it is known. */
static size_t socks_length(const struct upstream_talk *talk)
{
	const uint8_t *in = (const uint8_t *)talk->in;

	if (talk->step != SOCKS_CONNECTED)
		return 2;
	if (talk->in_len < SOCKS_HEAD_BYTES)
		return SOCKS_HEAD_BYTES;
	switch (in[3]) {
	case SOCKS_V4:
		return 4 + 4 + 2;
	case SOCKS_V6:
		return 4 + 16 + 2;
	default:
		return SOCKS_HEAD_BYTES + in[4] + 2;
	}
}

static int socks_answered(struct upstream_talk *talk)
{
	const uint8_t *in = (const uint8_t *)talk->in;

	talk->in_len = 0;
	talk->out_len = 0;
	if (in[0] != (talk->step == SOCKS_SIGNED_IN ? 1 : SOCKS_VERSION))
		return upstream_talk_fail(talk, POLICY_PROXY_FAILED, "did not answer as SOCKS5");
	switch ((enum socks_step)talk->step) {
	case SOCKS_METHOD:
		if (in[1] == 0)
			return socks_ask(talk);
		if (in[1] == SOCKS_LOGIN && talk->upstream->has_login)
			return socks_sign_in(talk);
		return upstream_talk_fail(talk, POLICY_PROXY_REFUSED,
					  talk->upstream->has_login ? "does not take this login"
								    : "needs a login");
	case SOCKS_SIGNED_IN:
		if (in[1] != 0)
			return upstream_talk_fail(talk, POLICY_PROXY_REFUSED, "refused the login");
		return socks_ask(talk);
	case SOCKS_CONNECTED:
	default:
		if (in[2] != 0 || (in[3] != SOCKS_V4 && in[3] != SOCKS_NAME && in[3] != SOCKS_V6))
			return upstream_talk_fail(talk, POLICY_PROXY_FAILED,
						  "did not answer as SOCKS5");
		return 0;
	}
}

static int socks_read(struct upstream_talk *talk, const char *bytes, size_t len, size_t *ret_used)
{
	*ret_used = 0;
	while (talk->in_len < socks_length(talk)) {
		size_t left = socks_length(talk) - talk->in_len;
		size_t more = len - *ret_used < left ? len - *ret_used : left;

		if (more == 0)
			return -EAGAIN;
		memcpy(talk->in + talk->in_len, bytes + *ret_used, more);
		talk->in_len += more;
		*ret_used += more;
		/* A proxy that refuses may send no address. */
		if (talk->step == SOCKS_CONNECTED && talk->in_len >= 2 &&
		    talk->in[0] == SOCKS_VERSION && talk->in[1] != 0)
			return socks_refused(talk, (uint8_t)talk->in[1]);
	}
	return socks_answered(talk);
}

void upstream_talk_begin(struct upstream_talk *talk, const struct policy_upstream *upstream,
			 const struct policy_destination *dst)
{
	talk->upstream = upstream;
	talk->dst = dst;
	if (upstream->kind == POLICY_UPSTREAM_SOCKS)
		socks_begin(talk);
	else
		http_begin(talk);
}

int upstream_talk_read(struct upstream_talk *talk, const char *bytes, size_t len, size_t *ret_used)
{
	return talk->upstream->kind == POLICY_UPSTREAM_SOCKS
		       ? socks_read(talk, bytes, len, ret_used)
		       : http_read(talk, bytes, len, ret_used);
}
