#include "exec/run/ring.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define FIRST_ROOM 4096

static size_t smaller(size_t left, size_t right)
{
	return left < right ? left : right;
}

/* Copies the bytes in order to the start of a new buffer of @room bytes. */
static void move(struct ring *ring, size_t room)
{
	char *moved = mem_new_array(room, 1);
	size_t first = smaller(ring->len, ring->room - ring->start);

	if (first > 0)
		memcpy(moved, ring->bytes + ring->start, first);
	if (ring->len > first)
		memcpy(moved + first, ring->bytes, ring->len - first);
	free(ring->bytes);
	ring->bytes = moved;
	ring->room = room;
	ring->start = 0;
}

/* Doubles the size, so that small additions do not each copy all of it. */
static void make_room(struct ring *ring, size_t need)
{
	size_t room = ring->room ? ring->room : FIRST_ROOM;

	while (room < need)
		room *= 2;
	if (need > ring->room)
		move(ring, smaller(room, ring->max));
}

size_t ring_add(struct ring *ring, const char *bytes, size_t len)
{
	size_t over = len > ring->max ? len - ring->max : 0, pushed = 0;

	bytes += over;
	len -= over;
	if (len == 0)
		return over;
	if (ring->len + len > ring->max)
		pushed = ring->len + len - ring->max;
	ring_drop(ring, pushed);
	make_room(ring, ring->len + len);

	size_t end = (ring->start + ring->len) % ring->room;
	size_t first = smaller(len, ring->room - end);

	memcpy(ring->bytes + end, bytes, first);
	if (len > first)
		memcpy(ring->bytes, bytes + first, len - first);
	ring->len += len;
	return over + pushed;
}

const char *ring_peek(struct ring *ring)
{
	if (ring->start + ring->len > ring->room)
		move(ring, ring->room);
	return ring->bytes ? ring->bytes + ring->start : "";
}

void ring_drop(struct ring *ring, size_t len)
{
	assert(len <= ring->len);
	ring->len -= len;
	ring->start = ring->len == 0 ? 0 : (ring->start + len) % ring->room;
}

void ring_done(struct ring *ring)
{
	free(ring->bytes);
	*ring = (struct ring){ .max = ring->max };
}
