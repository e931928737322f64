#include "gateway/approvals/known_destinations.h"

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
#include "base/replace.h"
#include "gateway/bounds.h"
#include "gateway/link/keys.h"
#include "policies/policies_tools.h"

#define SEEN_FILE_MAX (2U << 20)
#define SEEN_WAIT_MS  1000 /* so that several answers cause one write; also the wait for a lock */
#define SEEN_HEAD                                                                                  \
	"# Destinations that people have allowed before. Remove a line, or all lines, to be "      \
	"warned again.\n"

/* Port and protocol are empty for a domain. */
struct seen_entry {
	struct key_node node;
	struct policy_destination what;
	TAILQ_ENTRY(seen_entry) entry;
};

struct known_destinations {
	struct loop *loop;
	char *path;
	struct key_table table;
	TAILQ_HEAD(seen_queue, seen_entry) oldest;
	struct loop_timer timer;
	bool was_read, has_news;
};

struct known_destinations *known_destinations_new(struct loop *loop, const char *path)
{
	struct known_destinations *seen = mem_new(sizeof(*seen));

	seen->loop = loop;
	seen->path = mem_strdup_or_null(path);
	keys_init(&seen->table);
	TAILQ_INIT(&seen->oldest);
	return seen;
}

static void known_destinations_drop(struct known_destinations *seen, struct seen_entry *entry)
{
	TAILQ_REMOVE(&seen->oldest, entry, entry);
	keys_remove(&seen->table, &entry->node);
	free(entry);
}

/* True: @what was not in the table. */
static bool policy_parts_put(struct known_destinations *seen, const struct policy_destination *what)
{
	struct seen_entry *entry;

	if (keys_find(&seen->table, 0, what))
		return false;
	if (seen->table.count >= GATEWAY_SEEN_MAX)
		known_destinations_drop(seen, TAILQ_FIRST(&seen->oldest));
	entry = mem_new(sizeof(*entry));
	entry->what = *what;
	keys_add(&seen->table, &entry->node, 0, &entry->what);
	TAILQ_INSERT_TAIL(&seen->oldest, entry, entry);
	return true;
}

static void known_destinations_domain_of(const struct policy_destination *dst,
					 struct policy_destination *ret)
{
	const char *domain = dst->addr.family == 0 ? policy_host_domain(dst->host) : NULL;

	*ret = (struct policy_destination){ .port = 0 };
	(void)snprintf(ret->host, sizeof(ret->host), "%s", domain ? domain : dst->host);
}

static bool known_destinations_is_more_than_a_name(const struct policy_destination *dst)
{
	return dst->addr.family != 0 || dst->protocol == POLICY_TCP || dst->protocol == POLICY_UDP;
}

/* An invalid line is ignored. */
static void known_destinations_read_line(struct known_destinations *seen, char *line)
{
	struct policy_destination what, domain;

	if (line[0] == '#' || line[0] == '\0')
		return;
	if (policy_destination_parse(line, &what, NULL) < 0)
		return;
	known_destinations_domain_of(&what, &domain);
	(void)policy_parts_put(seen,
			       strstr(line, "://") ? &what : &domain); /* duplicates are ignored */
}

static void known_destinations_read(struct known_destinations *seen)
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
		known_destinations_read_line(seen, line);
	}
}

static char *known_destinations_text(const struct known_destinations *seen)
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

/* -EWOULDBLOCK: another run holds the lock. */
static int known_destinations_write(struct known_destinations *seen)
{
	auto_free char *folder = mem_strdup(seen->path);
	char *slash = strrchr(folder, '/');

	if (!slash)
		return -EINVAL;
	auto_free char *fresh = mem_printf("%s.new", slash + 1);

	slash[slash == folder] = '\0';
	auto_close int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = fd < 0 ? -errno : replace_lock(fd, LOCK_EX, 0);

	if (r < 0)
		return r;
	known_destinations_read(seen); /* keep what another run has written meanwhile */
	auto_free char *text = known_destinations_text(seen);
	const char *name = strrchr(seen->path, '/') + 1;
	const struct replace what = { fd, name, fresh, 0600, false };

	return replace_file(&what, text, strlen(text));
}

static void known_destinations_keep(void *arg)
{
	struct known_destinations *seen = arg;
	int r = known_destinations_write(seen);

	if (r == -EWOULDBLOCK) {
		loop_timer_start(seen->loop, &seen->timer, SEEN_WAIT_MS, known_destinations_keep,
				 seen);
		return;
	}
	seen->has_news = false;
	if (r < 0)
		log_debug("cannot write %s: %s", seen->path, strerror(-r));
}

void known_destinations_free(struct known_destinations *seen)
{
	if (!seen)
		return;
	if (seen->has_news)
		(void)known_destinations_write(seen); /* on failure it is shown as new again */
	loop_timer_stop(&seen->timer);
	while (!TAILQ_EMPTY(&seen->oldest))
		known_destinations_drop(seen, TAILQ_FIRST(&seen->oldest));
	keys_done(&seen->table);
	free(seen->path);
	free(seen);
}

static void known_destinations_need(struct known_destinations *seen)
{
	if (!seen->was_read)
		known_destinations_read(seen);
}

bool known_destinations_has_domain(struct known_destinations *seen,
				   const struct policy_destination *dst)
{
	struct policy_destination domain;

	known_destinations_need(seen);
	known_destinations_domain_of(dst, &domain);
	return keys_find(&seen->table, 0, &domain) != NULL;
}

bool known_destinations_has(struct known_destinations *seen, const struct policy_destination *dst)
{
	if (!known_destinations_is_more_than_a_name(dst))
		return known_destinations_has_domain(seen, dst);
	known_destinations_need(seen);
	return keys_find(&seen->table, 0, dst) != NULL;
}

void known_destinations_add(struct known_destinations *seen, const struct policy_destination *dst)
{
	struct policy_destination domain;
	bool is_new;

	known_destinations_need(seen);
	known_destinations_domain_of(dst, &domain);
	is_new = policy_parts_put(seen, &domain);
	if (known_destinations_is_more_than_a_name(dst))
		is_new |= policy_parts_put(seen, dst);
	if (!is_new || !seen->path)
		return;
	seen->has_news = true;
	if (!seen->timer.is_armed)
		loop_timer_start(seen->loop, &seen->timer, SEEN_WAIT_MS, known_destinations_keep,
				 seen);
}
