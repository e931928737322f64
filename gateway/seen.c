#include "gateway/seen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "gateway/bounds.h"
#include "gateway/keys.h"
#include "policies/policies_tools.h"

#define SEEN_FILE_MAX (2U << 20)
#define SEEN_WAIT_MS  1000 /* so that a row of answers is one write; and for a lock */
#define SEEN_HEAD     "# What people have allowed before. Remove a line, or all, to be warned again.\n"

/* A domain has neither port nor protocol. */
struct seen_entry {
	struct key_node node;
	struct policy_destination what;
	TAILQ_ENTRY(seen_entry) entry;
};

struct seen {
	struct loop *loop;
	char *path;
	struct key_table table;
	TAILQ_HEAD(seen_queue, seen_entry) oldest;
	struct loop_timer timer;
	bool was_read, has_news;
};

struct seen *seen_new(struct loop *loop, const char *path)
{
	struct seen *seen = mem_new(sizeof(*seen));

	seen->loop = loop;
	seen->path = mem_strdup_or_null(path);
	keys_init(&seen->table);
	TAILQ_INIT(&seen->oldest);
	return seen;
}

static void seen_drop(struct seen *seen, struct seen_entry *entry)
{
	TAILQ_REMOVE(&seen->oldest, entry, entry);
	keys_remove(&seen->table, &entry->node);
	free(entry);
}

/* True: it is new. */
static bool seen_put(struct seen *seen, const struct policy_destination *what)
{
	struct seen_entry *entry;

	if (keys_find(&seen->table, 0, what))
		return false;
	if (seen->table.count >= GATEWAY_SEEN_MAX)
		seen_drop(seen, TAILQ_FIRST(&seen->oldest));
	entry = mem_new(sizeof(*entry));
	entry->what = *what;
	keys_add(&seen->table, &entry->node, 0, &entry->what);
	TAILQ_INSERT_TAIL(&seen->oldest, entry, entry);
	return true;
}

static void seen_domain_of(const struct policy_destination *dst, struct policy_destination *ret)
{
	const char *domain = dst->addr.family == 0 ? policy_host_domain(dst->host) : NULL;

	*ret = (struct policy_destination){ .port = 0 };
	(void)snprintf(ret->host, sizeof(ret->host), "%s", domain ? domain : dst->host);
}

static bool seen_is_more_than_a_name(const struct policy_destination *dst)
{
	return dst->addr.family != 0 || dst->protocol == POLICY_TCP;
}

/* What cannot be read as one was not seen. */
static void seen_read_line(struct seen *seen, char *line)
{
	struct policy_destination what, domain;

	if (line[0] == '#' || line[0] == '\0')
		return;
	if (policy_destination_parse(line, &what, NULL) < 0)
		return;
	seen_domain_of(&what, &domain);
	(void)seen_put(seen, strstr(line, "://") ? &what : &domain); /* seen twice is seen */
}

static void seen_read(struct seen *seen)
{
	auto_free char *text = NULL;
	auto_close int fd = seen->path ? open(seen->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
								  O_NOCTTY | O_CLOEXEC)
				       : -1;
	struct stat status;
	size_t len;

	seen->was_read = true;
	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
	    status.st_uid != geteuid() || (status.st_mode & 022) != 0 ||
	    fd_read_all(fd, SEEN_FILE_MAX, &text, &len, NULL) < 0)
		return;
	for (char *line = text, *end; line; line = end ? end + 1 : NULL) {
		end = strchr(line, '\n');
		if (end)
			*end = '\0';
		seen_read_line(seen, line);
	}
}

static char *seen_text(const struct seen *seen)
{
	size_t size = sizeof(SEEN_HEAD) + seen->table.count * POLICY_DESTINATION_TEXT_MAX;
	char *text = mem_new(size);
	size_t len = (size_t)snprintf(text, size, "%s", SEEN_HEAD);
	const struct seen_entry *entry;

	TAILQ_FOREACH (entry, &seen->oldest, entry) {
		char shown[POLICY_DESTINATION_TEXT_MAX];
		const char *what = entry->what.port ? policy_destination_text(&entry->what, shown)
						    : entry->what.host;

		len += (size_t)snprintf(text + len, size - len, "%s\n", what); /* fits: see @size */
	}
	return text;
}

/* Another run may have written meanwhile: what it has seen is seen. */
static int seen_write_locked(struct seen *seen, const char *new_path)
{
	seen_read(seen);
	auto_free char *text = seen_text(seen);

	(void)unlink(new_path); /* what a killed writer left */
	auto_close int fd =
		open(new_path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));

	if (r == 0 && rename(new_path, seen->path) < 0)
		r = -errno;
	if (r < 0)
		(void)unlink(new_path);
	return r;
}

/* -EWOULDBLOCK: another run is at it. */
static int seen_write(struct seen *seen)
{
	auto_free char *folder = mem_strdup(seen->path);
	auto_free char *new_path = mem_printf("%s.new", seen->path);
	char *slash = strrchr(folder, '/');

	if (!slash)
		return -EINVAL;
	slash[slash == folder] = '\0';
	auto_close int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	return seen_write_locked(seen, new_path);
}

static void seen_keep(void *arg)
{
	struct seen *seen = arg;
	int r = seen_write(seen);

	if (r == -EWOULDBLOCK) {
		loop_timer_start(seen->loop, &seen->timer, SEEN_WAIT_MS, seen_keep, seen);
		return;
	}
	seen->has_news = false;
	if (r < 0)
		log_debug("cannot write %s: %s", seen->path, strerror(-r));
}

void seen_free(struct seen *seen)
{
	if (!seen)
		return;
	if (seen->has_news)
		(void)seen_write(seen); /* else it seems new once more */
	loop_timer_stop(&seen->timer);
	while (!TAILQ_EMPTY(&seen->oldest))
		seen_drop(seen, TAILQ_FIRST(&seen->oldest));
	keys_done(&seen->table);
	free(seen->path);
	free(seen);
}

static void seen_need(struct seen *seen)
{
	if (!seen->was_read)
		seen_read(seen);
}

bool seen_has_domain(struct seen *seen, const struct policy_destination *dst)
{
	struct policy_destination domain;

	seen_need(seen);
	seen_domain_of(dst, &domain);
	return keys_find(&seen->table, 0, &domain) != NULL;
}

bool seen_has(struct seen *seen, const struct policy_destination *dst)
{
	if (!seen_is_more_than_a_name(dst))
		return seen_has_domain(seen, dst);
	seen_need(seen);
	return keys_find(&seen->table, 0, dst) != NULL;
}

void seen_add(struct seen *seen, const struct policy_destination *dst)
{
	struct policy_destination domain;
	bool is_new;

	seen_need(seen);
	seen_domain_of(dst, &domain);
	is_new = seen_put(seen, &domain);
	if (seen_is_more_than_a_name(dst))
		is_new |= seen_put(seen, dst);
	if (!is_new || !seen->path)
		return;
	seen->has_news = true;
	if (!seen->timer.is_armed)
		loop_timer_start(seen->loop, &seen->timer, SEEN_WAIT_MS, seen_keep, seen);
}
