/* frame: typed messages between our own processes. One SOCK_SEQPACKET datagram is one frame, so a
 * frame arrives complete or not at all. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fd.h"

#define FRAME_MAX_BYTES 16384
#define FRAME_QUEUE_MAX 65536 /* frames waiting to be sent; one more closes the link */

struct loop;

/* A frame that is being written or read. Writing past the end, or reading past the end of the data,
 * sets @is_bad and yields zeros. */
struct frame {
	uint16_t type;
	uint32_t len; /* bytes used */
	uint32_t at;  /* read position */
	bool is_bad;
	uint8_t bytes[FRAME_MAX_BYTES];
};

void frame_begin(struct frame *frame, uint16_t type);
void frame_put_u8(struct frame *frame, uint8_t value);
void frame_put_u16(struct frame *frame, uint16_t value);
void frame_put_u32(struct frame *frame, uint32_t value);
void frame_put_u64(struct frame *frame, uint64_t value);
void frame_put_bytes(struct frame *frame, const void *bytes, uint32_t len); /* u32 length first */
void frame_put_text(struct frame *frame, const char *text);                 /* NULL is "" */

uint8_t frame_get_u8(struct frame *frame);
uint16_t frame_get_u16(struct frame *frame);
uint32_t frame_get_u32(struct frame *frame);
uint64_t frame_get_u64(struct frame *frame);
/* Copies at most @max bytes; a longer value sets @is_bad. Returns the length. */
uint32_t frame_get_bytes(struct frame *frame, void *out, uint32_t max);
/* NUL-terminates. Text that contains a NUL, or that does not fit @size, sets @is_bad. */
void frame_get_text(struct frame *frame, char *out, size_t size);
/* True when all the data has been read and @is_bad is not set. */
bool frame_is_whole(const struct frame *frame);

/* One frame over a SOCK_SEQPACKET socket, at once, without a link. @fds: @count descriptors,
 * borrowed. 0 or -errno. */
int frame_link_send_on(int socket, const struct frame *frame, const int *fds, size_t count);
/* Receives one frame: 0, or -errno (-EAGAIN: none is waiting; -EPIPE: the peer has closed;
 * -EBADMSG: malformed). The descriptors are returned owned in @ret_fds[FD_PASS_MAX]. */
int frame_link_receive_on(int socket, struct frame *ret, int *ret_fds, size_t *ret_count);

struct frame_link;
/* @frame: borrowed. @fds: @count descriptors, taken. Both callbacks run from the loop only. */
typedef void (*frame_link_frame_fn)(struct frame *frame, int *fds, size_t count, void *arg);
/* The peer has closed, sent a malformed frame, or reads too slowly. Runs at most once; no frame
 * follows it. */
typedef void (*frame_link_closed_fn)(void *arg);

/* Takes @socket (SOCK_SEQPACKET), keeps @loop and @arg. Returned owned. */
struct frame_link *frame_link_new(struct loop *loop, int socket, frame_link_frame_fn on_frame,
				  frame_link_closed_fn on_closed, void *arg);
void frame_link_free(struct frame_link *link);
/* Sends at the end of the loop's turn, with the other frames of that turn, or queues; a frame with
 * descriptors is sent at once, after those. Never blocks, never calls back. Takes @fds (closed once
 * sent; may be NULL). -EPIPE on a closed link. */
int frame_link_send(struct frame_link *link, const struct frame *frame, const int *fds,
		    size_t count);
/* The same for a frame that nobody waits for: it is sent with the next one, or 2 ms later. */
void frame_link_send_later(struct frame_link *link, const struct frame *frame);
