/* watch: says that one of some files or folders has changed, also when it is replaced by a rename,
 * comes or goes. By inotify(7) on the folders, or, where that cannot be had, by looking every two
 * seconds. It may say so once too often, never once too seldom; file systems that change from
 * another machine are looked at like all others, and inotify does not see that. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"

struct watch;

#define WATCH_QUIET_MS 100 /* after the last event of a burst */
#define WATCH_SETTLE_MS                                                                            \
	1000                /* where a file has gone or is being made: it may be half of a change */
#define WATCH_BURST_MS 2000 /* and at the latest so long after the first */
#define WATCH_POLL_MS  2000

/* Keeps @loop and @arg. @may_notify: false never uses inotify. Returned owned; watches nothing yet.
 */
struct watch *watch_new(struct loop *loop, bool may_notify, loop_fn on_change, void *arg);
void watch_free(struct watch *watch);
/* From now on these, absolute, NULL-terminated (copied): of a folder every entry counts. What
 * changed at or after @since_us (since the epoch) counts as a change too, so that nothing is lost
 * between reading the files and watching them; 0: nothing is looked back on. */
void watch_set(struct watch *watch, char *const *paths, int64_t since_us);
bool watch_is_polling(const struct watch *watch);
