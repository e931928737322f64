/* watch: reports that one of some files or folders has changed, also when it is replaced by a
 * rename, created or removed. It uses inotify(7) on the folders, or, where inotify is not
 * available, looks every two seconds. It may report a change too often, but never misses one;
 * exception: inotify does not see changes that another machine makes on a network file system. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"

struct watch;

#define WATCH_QUIET_MS  100  /* after the last event of a burst */
#define WATCH_SETTLE_MS 1000 /* after a file was removed or created: it may be half a change */
#define WATCH_BURST_MS  2000 /* the longest delay after the first event */
#define WATCH_POLL_MS   2000

/* Keeps @loop and @arg. @may_notify: false never uses inotify. Returned owned; watches nothing
 * yet. */
struct watch *watch_new(struct loop *loop, bool may_notify, loop_fn on_change, void *arg);
void watch_free(struct watch *watch);
/* Replaces the watched paths: absolute, NULL-terminated, copied. In a folder every entry counts. A
 * change at or after @since_us (since the epoch) is reported too, so that no change is lost between
 * reading the files and watching them; 0: earlier changes are ignored. */
void watch_set(struct watch *watch, char *const *paths, int64_t since_us);
