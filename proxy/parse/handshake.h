/* handshake: what both ends of a TLS connection send in plaintext after the first ClientHello, up
 * to the client's first encrypted record. Pure; keeps only the bytes it needs of each end.
 *
 * A server that answers with a HelloRetryRequest (RFC 8446 §4.1.4) uses the second hello, so every
 * hello must be found, however it is split or joined and whatever is sent in between. Only a
 * ServerHello shows that no further hello counts: until it is seen, application data may be early
 * data that the server skips (§4.2.10), and what follows a ChangeCipherSpec may still be plaintext
 * (§D.4). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hello;

#define HANDSHAKE_SHOWN 38 /* of a ServerHello: header, version and random */

/* Zeroed is the state after the first ClientHello. */
struct handshake {
	bool is_past_hello;  /* the server has accepted a hello, or will refuse the client's next
				message */
	bool is_changed;     /* the client sent ChangeCipherSpec */
	uint8_t client_type; /* of the current record */
	uint16_t client_left;
	uint8_t client_header[4]; /* of the current message */
	uint8_t client_header_len;
	uint32_t client_message_left;
	bool is_server_unread; /* the server does not speak TLS */
	uint8_t server_header[5];
	uint8_t server_header_len;
	uint16_t server_left;
	uint8_t server_shown[HANDSHAKE_SHOWN];
	uint8_t server_shown_len;
	uint32_t server_message_left;
};

/* MORE: @ret_used bytes may be sent on, the rest is incomplete. HELLO: they end with a ClientHello,
 * in @ret, and may be sent on if that hello is allowed. OVER: all bytes may be sent on, and all
 * that follow. */
enum handshake_step { HANDSHAKE_MORE, HANDSHAKE_HELLO, HANDSHAKE_OVER };

/* The bytes the client sent after those already used. At most HELLO_MAX_STREAM bytes are left over.
 * Returns a step, or -EBADMSG: not a TLS handshake; none of @bytes may be sent on. */
int handshake_client(struct handshake *handshake, const uint8_t *bytes, size_t len,
		     size_t *ret_used, struct hello *ret);

/* The bytes the server sent, in order. */
void handshake_server(struct handshake *handshake, const uint8_t *bytes, size_t len);
