/* held: frames to a worker that wait until the record of what they allow is on the disk. */
#pragma once

#include <stdint.h>
#include <sys/queue.h>

struct frame;
struct frame_link;

struct held {
	uint64_t id, number; /* of the request; of journal_await() */
	uint16_t type;       /* of the frame, with its bytes */
	uint32_t len;
	STAILQ_ENTRY(held) entry;
	uint8_t bytes[];
};
STAILQ_HEAD(held_list, held);

/* Copies @frame. */
void held_add(struct held_list *list, uint64_t id, uint64_t number, const struct frame *frame);
/* Sends what waits for a number up to @reached, in order. */
void held_send(struct held_list *list, struct frame_link *link, uint64_t reached);
/* Removes the first one, returned owned; NULL: there is none. */
struct held *held_pop(struct held_list *list);
