/* web_seen: keeps the last records, for the page's timeline and its list of denials. Private to
 * web*.c. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct approver_end;
struct sink_record;
struct web_event;

#define WEB_SEEN_EVENTS  500
#define WEB_SEEN_DENIALS 200

/* The newest @size entries; entry n, counted from 0, is at n % size. */
struct web_ring {
	struct web_event *list;
	size_t size;
	uint64_t count;
};
struct web_seen {
	struct web_ring events, denials;
};

void web_seen_init(struct web_seen *seen);
void web_seen_done(struct web_seen *seen);
/* Copies the shown parts of @record. */
void web_seen_add(struct web_seen *seen, const struct sink_record *record);
/* Adds the end of a question, as approvers are told of it. */
void web_seen_add_end(struct web_seen *seen, int64_t wall_ms, const struct approver_end *end);
/* The entries from number @from on, oldest first, without those that were overwritten. Returned
 * owned. */
json_t *web_seen_since(const struct web_ring *ring, uint64_t from);
