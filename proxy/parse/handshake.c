#include "proxy/parse/handshake.h"

#include <errno.h>
#include <string.h>

#include "proxy/parse/hello.h"

#define RECORD_HEADER  5
#define PLAINTEXT_MAX  16384          /* RFC 8446 §5.1 */
#define CIPHERTEXT_MAX (16384 + 2048) /* RFC 5246 §6.2.3 */
#define MESSAGE_HEADER 4
#define SERVER_VERSION 2
#define CHANGE_BYTES   1
#define ALERT_BYTES    2

enum record { RECORD_CHANGE = 20, RECORD_ALERT, RECORD_HANDSHAKE, RECORD_DATA };

enum message {
	MESSAGE_HELLO_REQUEST = 0,
	MESSAGE_CLIENT_HELLO = 1,
	MESSAGE_SERVER_HELLO = 2,
	MESSAGE_CERTIFICATE = 11,
	MESSAGE_CERTIFICATE_VERIFY = 15,
	MESSAGE_CLIENT_KEY_EXCHANGE = 16,
	MESSAGE_SUPPLEMENTAL_DATA = 23, /* RFC 4680 */
};

/* RFC 8446 §4.1.3: the random value that marks a ServerHello as a HelloRetryRequest. */
static const uint8_t retry_random[] = {
	0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c,
	0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb,
	0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
};

static size_t number(const uint8_t *at, size_t bytes)
{
	size_t value = 0;

	for (size_t i = 0; i < bytes; i++)
		value = value << 8 | at[i];
	return value;
}

/* The messages that a TLS 1.2 client sends in plaintext after its hello. A server that waits for a
 * second hello treats each of them as an error. */
static bool is_behind_hello(uint8_t type)
{
	return type == MESSAGE_CERTIFICATE || type == MESSAGE_CERTIFICATE_VERIFY ||
	       type == MESSAGE_CLIENT_KEY_EXCHANGE || type == MESSAGE_SUPPLEMENTAL_DATA;
}

static bool is_between_messages(const struct handshake *handshake)
{
	return !handshake->client_header_len && !handshake->client_message_left;
}

/* Skips handshake messages that are not a hello. 0 or -EBADMSG. */
static int walk_messages(struct handshake *handshake, const uint8_t *at, size_t len)
{
	while (len > 0) {
		if (handshake->client_message_left) {
			size_t part = handshake->client_message_left < len
					      ? handshake->client_message_left
					      : len;

			handshake->client_message_left -= (uint32_t)part;
			at += part;
			len -= part;
			continue;
		}
		if (!handshake->client_header_len && !is_behind_hello(*at))
			return -EBADMSG;
		handshake->is_past_hello = true;
		handshake->client_header[handshake->client_header_len++] = *at++;
		len--;
		if (handshake->client_header_len < MESSAGE_HEADER)
			continue;
		handshake->client_header_len = 0;
		handshake->client_message_left =
			(uint32_t)number(handshake->client_header + 1, MESSAGE_HEADER - 1);
	}
	return 0;
}

/* Reads the body of the current record, as far as it has arrived. */
static int walk_body(struct handshake *handshake, const uint8_t *at, size_t len, size_t *ret_used)
{
	size_t part = handshake->client_left < len ? handshake->client_left : len;

	handshake->client_left -= (uint16_t)part;
	*ret_used += part;
	return handshake->client_type == RECORD_HANDSHAKE ? walk_messages(handshake, at, part) : 0;
}

/* A record that is parsed when it is complete. */
static int take_small(struct handshake *handshake, const uint8_t *at, size_t len, size_t *ret_used)
{
	size_t body = number(at + 3, 2);
	bool is_change = at[0] == RECORD_CHANGE;

	if (!is_between_messages(handshake) || body != (is_change ? CHANGE_BYTES : ALERT_BYTES))
		return -EBADMSG;
	if (len < RECORD_HEADER + body)
		return -EAGAIN;
	if (is_change && at[RECORD_HEADER] != 1)
		return -EBADMSG;
	handshake->is_changed |= is_change;
	*ret_used += RECORD_HEADER + body;
	return 0;
}

static int take_hello(const uint8_t *at, size_t len, size_t *ret_used, struct hello *ret)
{
	int r = hello_parse(at, len, ret);

	if (r < 0)
		return r == -EAGAIN ? r : -EBADMSG;
	*ret_used += ret->bytes;
	return HANDSHAKE_HELLO;
}

static void begin_body(struct handshake *handshake, const uint8_t *at, size_t *ret_used)
{
	handshake->client_type = at[0];
	handshake->client_left = (uint16_t)number(at + 3, 2);
	*ret_used += RECORD_HEADER;
}

static int take_handshake(struct handshake *handshake, const uint8_t *at, size_t len,
			  size_t *ret_used, struct hello *ret)
{
	size_t body = number(at + 3, 2);

	if (body == 0 || body > PLAINTEXT_MAX)
		return -EBADMSG;
	if (is_between_messages(handshake)) {
		if (len <= RECORD_HEADER)
			return -EAGAIN;
		if (at[RECORD_HEADER] == MESSAGE_CLIENT_HELLO)
			return take_hello(at, len, ret_used, ret);
	}
	begin_body(handshake, at, ret_used);
	return 0;
}

/* Reads one record, or its start. 0: continue; a step; -EAGAIN; -EBADMSG. */
static int take_record(struct handshake *handshake, const uint8_t *at, size_t len, size_t *ret_used,
		       struct hello *ret)
{
	if (len < RECORD_HEADER)
		return -EAGAIN;
	if (handshake->is_past_hello &&
	    (at[0] == RECORD_DATA || (handshake->is_changed && at[0] != RECORD_CHANGE)))
		return HANDSHAKE_OVER;
	if (at[1] != 3)
		return -EBADMSG;
	switch (at[0]) {
	case RECORD_HANDSHAKE:
		return take_handshake(handshake, at, len, ret_used, ret);
	case RECORD_CHANGE:
	case RECORD_ALERT:
		return take_small(handshake, at, len, ret_used);
	case RECORD_DATA:
		if (!is_between_messages(handshake) || number(at + 3, 2) > CIPHERTEXT_MAX)
			return -EBADMSG;
		begin_body(handshake, at, ret_used);
		return 0;
	default:
		return -EBADMSG;
	}
}

int handshake_client(struct handshake *handshake, const uint8_t *bytes, size_t len,
		     size_t *ret_used, struct hello *ret)
{
	size_t used = 0;
	int r = 0;

	while (r == 0 && used < len) {
		if (handshake->client_left)
			r = walk_body(handshake, bytes + used, len - used, &used);
		else
			r = take_record(handshake, bytes + used, len - used, &used, ret);
	}
	if (r == -EBADMSG)
		return r;
	*ret_used = r == HANDSHAKE_OVER ? len : used;
	return r > 0 ? r : HANDSHAKE_MORE;
}

/* Enough of a server message has arrived to know its type. */
static void look_at_server(struct handshake *handshake)
{
	const uint8_t *shown = handshake->server_shown;

	if (memcmp(shown + MESSAGE_HEADER + SERVER_VERSION, retry_random, sizeof(retry_random)) !=
	    0)
		handshake->is_past_hello = true;
}

static void take_server_message(struct handshake *handshake, uint8_t byte)
{
	if (handshake->server_shown_len >= MESSAGE_HEADER)
		handshake->server_message_left--;
	if (handshake->server_shown_len < HANDSHAKE_SHOWN)
		handshake->server_shown[handshake->server_shown_len++] = byte;
	if (handshake->server_shown_len == 1 && byte != MESSAGE_SERVER_HELLO &&
	    byte != MESSAGE_HELLO_REQUEST)
		handshake->is_server_unread = true;
	if (handshake->server_shown_len < MESSAGE_HEADER)
		return;
	if (handshake->server_shown_len == MESSAGE_HEADER)
		handshake->server_message_left =
			(uint32_t)number(handshake->server_shown + 1, MESSAGE_HEADER - 1);
	if (handshake->server_shown_len == HANDSHAKE_SHOWN) {
		if (handshake->server_shown[0] == MESSAGE_SERVER_HELLO)
			look_at_server(handshake);
	}
	if (!handshake->server_message_left)
		handshake->server_shown_len = 0;
}

static void take_server_header(struct handshake *handshake, uint8_t byte)
{
	uint8_t *header = handshake->server_header;
	size_t len;

	header[handshake->server_header_len++] = byte;
	if (handshake->server_header_len < RECORD_HEADER)
		return;
	handshake->server_header_len = 0;
	len = number(header + 3, 2);
	handshake->server_left = (uint16_t)len;
	handshake->is_server_unread = header[0] < RECORD_CHANGE || header[0] > RECORD_HANDSHAKE ||
				      header[1] != 3 || len > PLAINTEXT_MAX;
}

void handshake_server(struct handshake *handshake, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (handshake->is_past_hello || handshake->is_server_unread)
			return;
		if (!handshake->server_left) {
			take_server_header(handshake, bytes[i]);
			continue;
		}
		handshake->server_left--;
		if (handshake->server_header[0] == RECORD_HANDSHAKE)
			take_server_message(handshake, bytes[i]);
	}
}
