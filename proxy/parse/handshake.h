/* handshake: what the two ends of a TLS connection say in plaintext after the first ClientHello, up
 * to the client's first encrypted record. Pure; keeps no more than it needs of either end.
 *
 * A server that answers with a HelloRetryRequest (RFC 8446 §4.1.4) goes by the second hello, so
 * every hello is found, however it is split or joined and whatever is sent between. Only a
 * ServerHello says that no further one counts: until it is seen, application data may be early data
 * that the server skips (§4.2.10), and what follows a ChangeCipherSpec may still be plaintext
 * (§D.4).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hello;

#define HANDSHAKE_SHOWN 38 /* of a ServerHello: its header, version and random */

/* Zeroed is the state behind the first ClientHello. */
struct handshake {
	bool is_past_hello;  /* the server has taken a hello, or refuses the client's next words */
	bool is_changed;     /* the client sent ChangeCipherSpec */
	uint8_t client_type; /* of the record that is under way */
	uint16_t client_left;
	uint8_t client_header[4]; /* of the message that is under way */
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

/* MORE: @ret_used bytes may go on, the rest is not whole. HELLO: they end with a ClientHello, in
 * @ret, and may go on if that may. OVER: all may, and whatever follows. */
enum handshake_step { HANDSHAKE_MORE, HANDSHAKE_HELLO, HANDSHAKE_OVER };

/* What the client sent behind what was used before. Never more than HELLO_MAX_STREAM bytes are left
 * waiting. A step, or -EBADMSG: that is no TLS handshake; nothing of @bytes may go on. */
int handshake_client(struct handshake *handshake, const uint8_t *bytes, size_t len,
		     size_t *ret_used, struct hello *ret);

/* What the server sent, in order. */
void handshake_server(struct handshake *handshake, const uint8_t *bytes, size_t len);
