#include "gateway/link/held.h"

#include <stdlib.h>
#include <string.h>

#include "base/frame.h"
#include "base/mem.h"

void held_add(struct held_list *list, uint64_t id, uint64_t number, const struct frame *frame)
{
	struct held *held = mem_new(sizeof(*held) + frame->len);

	held->id = id;
	held->number = number;
	held->type = frame->type;
	held->len = frame->len;
	memcpy(held->bytes, frame->bytes, frame->len);
	STAILQ_INSERT_TAIL(list, held, entry);
}

static void held_send_one(const struct held *held, struct frame_link *link)
{
	struct frame frame;

	frame_begin(&frame, held->type);
	frame.len = held->len;
	memcpy(frame.bytes, held->bytes, held->len);
	(void)frame_link_send(link, &frame, NULL, 0); /* a closed link reports itself */
}

/* A request has one number, so its frames keep their order. */
void held_send(struct held_list *list, struct frame_link *link, uint64_t reached)
{
	struct held_list all = STAILQ_HEAD_INITIALIZER(all);
	struct held *held;

	STAILQ_CONCAT(&all, list);
	while ((held = held_pop(&all))) {
		if (held->number > reached) {
			STAILQ_INSERT_TAIL(list, held, entry);
			continue;
		}
		held_send_one(held, link);
		free(held);
	}
}

struct held *held_pop(struct held_list *list)
{
	struct held *held = STAILQ_FIRST(list);

	if (held)
		STAILQ_REMOVE_HEAD(list, entry);
	return held;
}
