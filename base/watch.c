#include "base/watch.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"

/* Events in a file's folder. Not IN_MODIFY: a file is read only after its writer has closed it. */
#define WATCH_ENTRY                                                                                \
	(IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_ATTRIB |        \
	 IN_DELETE_SELF | IN_MOVE_SELF)
/* Events that may be the first half of a change: a file was removed before its replacement comes,
 * or created before it is written. */
#define WATCH_UNSETTLED (IN_MOVED_FROM | IN_DELETE | IN_CREATE | IN_DELETE_SELF | IN_MOVE_SELF)
/* Events in a folder where a watched path does not exist yet. */
#define WATCH_ARRIVAL (IN_CREATE | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF)
#define WATCH_READ    (64 * (sizeof(struct inotify_event) + NAME_MAX + 1))
/* File times have the resolution of the kernel's clock tick. */
#define WATCH_TICK_US 20000

/* The result of stat(2); all zero: the path does not exist. */
struct watch_look {
	dev_t device;
	ino_t inode;
	mode_t mode;
	uid_t owner;
	off_t size;
	struct timespec changed, modified;
};

struct watch_item {
	char *path;
	int number;       /* the inotify watch descriptor */
	char *folder;     /* owned: the path, with a NUL where the watched folder ends */
	const char *name; /* the watched entry, behind that NUL; NULL: every entry */
	struct watch_look seen;
};

struct watch {
	struct loop *loop;
	bool may_notify;
	loop_fn on_change;
	void *arg;
	int fd; /* inotify; -1: none */
	struct event readable;
	struct watch_item *items;
	size_t count;
	struct loop_timer quiet, poll;
	int64_t burst_ms; /* when the burst began */
};

struct watch *watch_new(struct loop *loop, bool may_notify, loop_fn on_change, void *arg)
{
	struct watch *watch = mem_new(sizeof(*watch));

	watch->loop = loop;
	watch->may_notify = may_notify;
	watch->on_change = on_change;
	watch->arg = arg;
	watch->fd = -1;
	return watch;
}

static void watch_stop(struct watch *watch)
{
	if (watch->fd >= 0)
		event_del(&watch->readable);
	fd_close(fd_take(&watch->fd));
	loop_timer_stop(&watch->poll);
}

static void watch_forget(struct watch *watch)
{
	for (size_t i = 0; i < watch->count; i++) {
		free(watch->items[i].path);
		free(watch->items[i].folder);
	}
	free(take(watch->items));
	watch->count = 0;
}

void watch_free(struct watch *watch)
{
	if (!watch)
		return;
	watch_stop(watch);
	loop_timer_stop(&watch->quiet);
	watch_forget(watch);
	free(watch);
}

static void watch_is_quiet(void *arg)
{
	struct watch *watch = arg;

	watch->on_change(watch->arg);
}

static void watch_changed(struct watch *watch, int64_t quiet_ms)
{
	int64_t now = loop_now_ms(watch->loop), due = now + quiet_ms;

	if (!watch->quiet.is_armed)
		watch->burst_ms = now;
	else if (due < watch->quiet.due_ms)
		due = watch->quiet.due_ms;
	if (due > watch->burst_ms + WATCH_BURST_MS)
		due = watch->burst_ms + WATCH_BURST_MS;
	loop_timer_start(watch->loop, &watch->quiet, due > now ? due - now : 0, watch_is_quiet,
			 watch);
}

static bool watch_look(const char *path, struct watch_look *ret)
{
	struct stat status;

	memset(ret, 0,
	       sizeof(*ret)); /* also clears the padding: values are compared with memcmp() */
	if (stat(path, &status) < 0)
		return false;
	ret->device = status.st_dev;
	ret->inode = status.st_ino;
	ret->mode = status.st_mode;
	ret->owner = status.st_uid;
	ret->size = status.st_size;
	ret->changed = status.st_ctim;
	ret->modified = status.st_mtim;
	return true;
}

static void watch_poll(void *arg)
{
	struct watch *watch = arg;
	bool has_changed = false;

	for (size_t i = 0; i < watch->count; i++) {
		struct watch_look now;

		(void)watch_look(watch->items[i].path, &now); /* a missing path is a valid result */
		has_changed |= memcmp(&now, &watch->items[i].seen, sizeof(now)) != 0;
		watch->items[i].seen = now;
	}
	loop_timer_start(watch->loop, &watch->poll, WATCH_POLL_MS, watch_poll, watch);
	if (has_changed)
		watch_changed(watch, WATCH_QUIET_MS);
}

static bool watch_means(const struct watch_item *item, const struct inotify_event *event)
{
	if (item->number != event->wd || event->mask & IN_IGNORED)
		return false;
	if (!item->name || event->len == 0)
		return true;
	return strcmp(event->name, item->name) == 0;
}

static bool watch_is_meant(const struct watch *watch, const struct inotify_event *event)
{
	for (size_t i = 0; i < watch->count; i++) {
		if (watch_means(&watch->items[i], event))
			return true;
	}
	return false;
}

/* How long to wait after @event for further events; 0: the event is not relevant. */
static int64_t watch_quiet_after(const struct watch *watch, const struct inotify_event *event)
{
	if (event->mask & IN_Q_OVERFLOW)
		return WATCH_SETTLE_MS;
	if (!watch_is_meant(watch, event))
		return 0;
	return event->mask & WATCH_UNSETTLED ? WATCH_SETTLE_MS : WATCH_QUIET_MS;
}

static void watch_readable(evutil_socket_t fd, short what, void *arg)
{
	struct watch *watch = arg;
	char bytes[WATCH_READ] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t len = read(fd, bytes, sizeof(bytes));
	int64_t quiet_ms = len < 0 && errno != EAGAIN && errno != EINTR ? WATCH_SETTLE_MS : 0;

	for (ssize_t at = 0; at < len;) {
		const struct inotify_event *event = (const struct inotify_event *)(bytes + at);
		int64_t own_ms = watch_quiet_after(watch, event);

		quiet_ms = own_ms > quiet_ms ? own_ms : quiet_ms;
		at += (ssize_t)(sizeof(*event) + event->len);
	}
	if (quiet_ms > 0)
		watch_changed(watch, quiet_ms);
}

/* Watches the folder of @item, or the nearest existing folder above it. 0 or -errno. */
static int watch_add(struct watch *watch, struct watch_item *item)
{
	struct stat status;
	uint32_t mask = WATCH_ENTRY;

	item->folder = mem_strdup(item->path);
	if (stat(item->path, &status) == 0 && S_ISDIR(status.st_mode)) {
		item->number = inotify_add_watch(watch->fd, item->path,
						 WATCH_ENTRY | IN_ONLYDIR | IN_MASK_ADD);
		return item->number < 0 ? -errno : 0;
	}
	for (;;) {
		char *slash = strrchr(item->folder, '/');

		if (!slash)
			return -EINVAL;
		*slash = '\0';
		item->name = slash + 1;
		item->number = inotify_add_watch(watch->fd, item->folder[0] ? item->folder : "/",
						 mask | IN_ONLYDIR | IN_MASK_ADD);
		if (item->number >= 0)
			return 0;
		if (errno != ENOENT && errno != ENOTDIR)
			return -errno;
		mask = WATCH_ARRIVAL;
	}
}

static bool watch_notify(struct watch *watch)
{
	watch->fd = watch->may_notify ? inotify_init1(IN_NONBLOCK | IN_CLOEXEC) : -1;
	if (watch->fd < 0)
		return false;
	event_assign(&watch->readable, loop_base(watch->loop), watch->fd, EV_READ | EV_PERSIST,
		     watch_readable, watch);
	event_add(&watch->readable, NULL);
	for (size_t i = 0; i < watch->count; i++) {
		if (watch_add(watch, &watch->items[i]) < 0)
			return false;
	}
	return true;
}

static bool watch_is_since(const struct watch_look *look, int64_t since_us)
{
	return (int64_t)look->changed.tv_sec * 1000000 + look->changed.tv_nsec / 1000 >=
	       since_us - WATCH_TICK_US;
}

/* For a missing path, look at its folder. */
static bool watch_has_changed_since(const struct watch *watch, int64_t since_us)
{
	for (size_t i = 0; i < watch->count; i++) {
		const char *path = watch->items[i].path;
		const char *slash = strrchr(path, '/');
		auto_free char *folder = mem_strndup(path, slash ? (size_t)(slash - path) : 0);
		struct watch_look look;

		if ((watch_look(path, &look) || watch_look(folder, &look)) &&
		    watch_is_since(&look, since_us))
			return true;
	}
	return false;
}

void watch_set(struct watch *watch, char *const *paths, int64_t since_us)
{
	size_t count = mem_count_list(paths);

	watch_stop(watch);
	watch_forget(watch);
	watch->items = mem_new_array(count + 1, sizeof(*watch->items));
	for (; watch->count < count; watch->count++) {
		struct watch_item *item = &watch->items[watch->count];

		item->path = mem_strdup(paths[watch->count]);
		(void)watch_look(item->path, &item->seen); /* a missing path is a valid result */
	}
	if (!watch_notify(watch)) {
		watch_stop(watch);
		loop_timer_start(watch->loop, &watch->poll, WATCH_POLL_MS, watch_poll, watch);
	}
	if (since_us > 0 && watch_has_changed_since(watch, since_us))
		watch_changed(watch, WATCH_QUIET_MS);
}
