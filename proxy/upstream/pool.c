#include "proxy/upstream/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "proxy/config.h"
#include "proxy/limits.h"

struct pool_entry {
	TAILQ_ENTRY(pool_entry) link;
	struct pool *pool;
	struct pool_key key;
	struct addr addr;
	int fd;
	int64_t until_ms;
	struct event event;
};

struct pool {
	struct loop *loop;
	const struct proxy_config *config;
	TAILQ_HEAD(pool_entries, pool_entry) entries; /* the oldest first */
	size_t count;
	struct loop_timer timer; /* for the oldest */
};

bool pool_key_equal(const struct pool_key *left, const struct pool_key *right)
{
	return left->exec == right->exec && left->promise == right->promise &&
	       left->is_inside == right->is_inside && left->is_tunnel == right->is_tunnel &&
	       policy_destination_equal(&left->dst, &right->dst);
}

struct pool *pool_new(struct loop *loop, const struct proxy_config *config)
{
	struct pool *pool = mem_new(sizeof(*pool));

	pool->loop = loop;
	pool->config = config;
	TAILQ_INIT(&pool->entries);
	return pool;
}

/* Takes the descriptor out of @entry and frees it. */
static int entry_free(struct pool_entry *entry)
{
	struct pool *pool = entry->pool;
	int fd = entry->fd;

	event_del(&entry->event);
	TAILQ_REMOVE(&pool->entries, entry, link);
	pool->count--;
	free(entry);
	return fd;
}

static void on_idle(void *arg)
{
	struct pool *pool = arg;
	int64_t now = loop_now_ms(pool->loop);
	struct pool_entry *oldest;

	while ((oldest = TAILQ_FIRST(&pool->entries)) && oldest->until_ms <= now)
		fd_close(entry_free(oldest));
	if (oldest)
		loop_timer_start(pool->loop, &pool->timer, oldest->until_ms - now, on_idle, pool);
}

/* The server closed, or sent unexpected bytes: the connection cannot be used any more. */
static void on_event(evutil_socket_t fd, short what, void *arg)
{
	fd_close(entry_free(arg));
}

void pool_free(struct pool *pool)
{
	struct pool_entry *entry;

	if (!pool)
		return;
	while ((entry = TAILQ_FIRST(&pool->entries)))
		fd_close(entry_free(entry));
	loop_timer_stop(&pool->timer);
	free(pool);
}

static struct pool_entry *oldest_of(struct pool *pool, const struct pool_key *key,
				    size_t *ret_count)
{
	struct pool_entry *entry, *oldest = NULL;

	*ret_count = 0;
	TAILQ_FOREACH (entry, &pool->entries, link) {
		if (!pool_key_equal(&entry->key, key))
			continue;
		(*ret_count)++;
		oldest = oldest ? oldest : entry;
	}
	return oldest;
}

void pool_put(struct pool *pool, const struct pool_key *key, const struct addr *addr, int fd)
{
	size_t same;
	struct pool_entry *oldest = oldest_of(pool, key, &same);
	struct pool_entry *entry = mem_new(sizeof(*entry));

	if (oldest && same >= LIMITS_POOL_PER_HOST)
		fd_close(entry_free(oldest));
	else if (pool->count >= LIMITS_POOL_MAX)
		fd_close(entry_free(TAILQ_FIRST(&pool->entries)));
	entry->pool = pool;
	entry->key = *key;
	entry->addr = *addr;
	entry->fd = fd;
	entry->until_ms = loop_now_ms(pool->loop) + LIMITS_POOL_IDLE_MS;
	event_assign(&entry->event, loop_base(pool->loop), fd, EV_READ | EV_PERSIST, on_event,
		     entry);
	event_add(&entry->event, NULL);
	TAILQ_INSERT_TAIL(&pool->entries, entry, link);
	pool->count++;
	if (!pool->timer.is_armed)
		loop_timer_start(pool->loop, &pool->timer, LIMITS_POOL_IDLE_MS, on_idle, pool);
}

bool pool_is_idle(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

/* The operator named this address for the host, so it is allowed even if private. */
static bool is_mapped(const struct proxy_config *config, const char *host, const struct addr *addr)
{
	for (size_t i = 0; i < config->resolve_count; i++) {
		if (!strcmp(config->resolves[i].name, host) &&
		    addr_equal(&config->resolves[i].addr, addr))
			return true;
	}
	return false;
}

bool pool_may_reuse(const struct pool *pool, const struct pool_key *key,
		    const struct policy_verdict *verdict, const struct addr *addr)
{
	struct policy_verdict allow = *verdict, now;

	/* The sandbox's own loopback is not checked when it is dialled, so not here either; and
	 * what an upstream proxy resolved is not known. */
	if (key->is_inside || addr->family == 0)
		return true;
	if (is_mapped(pool->config, key->dst.host, addr))
		allow.may_private = true;
	policy_decide_address(pool->config->policy, &key->dst, &allow, addr, &now);
	return now.action == POLICY_ALLOW;
}

int pool_take(struct pool *pool, const struct pool_key *key, const struct policy_verdict *verdict,
	      struct addr *ret_addr)
{
	struct pool_entry *entry, *next;

	for (entry = TAILQ_LAST(&pool->entries, pool_entries); entry; entry = next) {
		next = TAILQ_PREV(entry, pool_entries, link);
		if (!pool_key_equal(&entry->key, key))
			continue;
		if (!pool_is_idle(entry->fd)) {
			fd_close(entry_free(entry));
			continue;
		}
		if (!pool_may_reuse(pool, key, verdict, &entry->addr))
			continue;
		*ret_addr = entry->addr;
		return entry_free(entry);
	}
	return -1;
}

void pool_drop(struct pool *pool, uint64_t exec)
{
	struct pool_entry *entry, *next;

	for (entry = TAILQ_FIRST(&pool->entries); entry; entry = next) {
		next = TAILQ_NEXT(entry, link);
		if (entry->key.exec == exec)
			fd_close(entry_free(entry));
	}
}
