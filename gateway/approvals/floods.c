#include "gateway/approvals/floods.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "gateway/bounds.h"
#include "policies/policies_tools.h"

#define FLOODS_ONE 1000 /* one question, in units of a bucket */

struct flood_entry {
	struct key_node node;
	struct policy_destination key; /* only a host: the registrable domain, or the address */
	struct flood_bucket bucket;
	TAILQ_ENTRY(flood_entry) entry;
};

struct flood_rate {
	int64_t burst, per_s;
	size_t max; /* buckets */
	const char *words;
};
static const struct flood_rate of_session = { GATEWAY_FLOOD_SESSION, GATEWAY_FLOOD_SESSION_PER_S, 1,
					      "this session has asked too many questions" };
static const struct flood_rate of_exec = { GATEWAY_FLOOD_EXEC, GATEWAY_FLOOD_EXEC_PER_S, 1,
					   "this command has asked too many questions" };
static const struct flood_rate of_program = { GATEWAY_FLOOD_PROGRAM, GATEWAY_FLOOD_PROGRAM_PER_S,
					      GATEWAY_FLOOD_PROGRAMS_MAX,
					      "this program has asked too many questions" };
static const struct flood_rate of_domain = { GATEWAY_FLOOD_DOMAIN, GATEWAY_FLOOD_DOMAIN_PER_S,
					     GATEWAY_FLOOD_DOMAINS_MAX,
					     "too many questions were asked about this domain" };

static void table_init(struct flood_table *table)
{
	keys_init(&table->keys);
	TAILQ_INIT(&table->oldest);
}

static void entry_free(struct flood_table *table, struct flood_entry *entry)
{
	TAILQ_REMOVE(&table->oldest, entry, entry);
	keys_remove(&table->keys, &entry->node);
	free(entry);
}

static void table_done(struct flood_table *table)
{
	while (!TAILQ_EMPTY(&table->oldest))
		entry_free(table, TAILQ_FIRST(&table->oldest));
	keys_done(&table->keys);
}

void floods_init(struct floods *floods)
{
	*floods = (struct floods){ 0 };
	table_init(&floods->domains);
	table_init(&floods->programs);
}

void floods_done(struct floods *floods)
{
	table_done(&floods->domains);
	table_done(&floods->programs);
}

/* A rate in questions per second equals the same number of thousandths per millisecond. */
static void bucket_refill(struct flood_bucket *bucket, const struct flood_rate *rate,
			  int64_t now_ms)
{
	int64_t back = (now_ms - bucket->at_ms) * rate->per_s;

	bucket->used = back < bucket->used ? bucket->used - back : 0;
	bucket->at_ms = now_ms;
}

/* NULL: the table is full of buckets that are still in use. */
static struct flood_entry *table_at(struct flood_table *table, const struct flood_rate *rate,
				    uint64_t number, const struct policy_destination *key,
				    int64_t now_ms)
{
	struct key_node *node = keys_find(&table->keys, number, key);
	struct flood_entry *entry, *first = TAILQ_FIRST(&table->oldest);

	if (node)
		return container_of(node, struct flood_entry, node);
	if (table->keys.count >= rate->max) {
		bucket_refill(&first->bucket, rate, now_ms);
		if (first->bucket.used > 0)
			return NULL;
		entry_free(table, first);
	}
	entry = mem_new(sizeof(*entry));
	if (key)
		entry->key = *key;
	keys_add(&table->keys, &entry->node, number, key ? &entry->key : NULL);
	TAILQ_INSERT_TAIL(&table->oldest, entry, entry);
	return entry;
}

static struct flood_entry *domain_at(struct floods *floods, const struct policy_destination *dst,
				     int64_t now_ms)
{
	const char *name = dst->addr.family == 0 ? policy_host_domain(dst->host) : NULL;
	struct policy_destination key = { .port = 0 };

	(void)snprintf(key.host, sizeof(key.host), "%s", name ? name : dst->host);
	return table_at(&floods->domains, &of_domain, 0, &key, now_ms);
}

/* Two files with the same number share a bucket: that only refuses more. */
static struct flood_entry *program_at(struct floods *floods,
				      const struct socket_owner_file *program, int64_t now_ms)
{
	return table_at(&floods->programs, &of_program, program->inode ^ (program->device << 40),
			NULL, now_ms);
}

/* The buckets that one question is counted in. */
struct flood_draw {
	struct {
		struct flood_bucket *bucket;
		const struct flood_rate *rate;
	} parts[4];
	size_t count;
	struct flood_entry *domain, *program;
};

static void draw_add(struct flood_draw *draw, struct flood_bucket *bucket,
		     const struct flood_rate *rate, int64_t now_ms)
{
	bucket_refill(bucket, rate, now_ms);
	draw->parts[draw->count].bucket = bucket;
	draw->parts[draw->count++].rate = rate;
}

static const char *draw_from(struct flood_draw *draw, struct floods *floods,
			     const struct flood_source *source, int64_t now_ms)
{
	bool has_program = source->program && source->program->inode != 0;

	draw->domain = domain_at(floods, source->dst, now_ms);
	if (!draw->domain)
		return "there were too many questions about new domains recently";
	draw->program = has_program ? program_at(floods, source->program, now_ms) : NULL;
	if (has_program && !draw->program)
		return "too many programs have asked recently";
	draw_add(draw, &floods->session, &of_session, now_ms);
	draw_add(draw, &draw->domain->bucket, &of_domain, now_ms);
	if (source->exec)
		draw_add(draw, source->exec, &of_exec, now_ms);
	if (draw->program)
		draw_add(draw, &draw->program->bucket, &of_program, now_ms);
	for (size_t i = 0; i < draw->count; i++) {
		if (draw->parts[i].bucket->used + FLOODS_ONE >
		    draw->parts[i].rate->burst * FLOODS_ONE)
			return draw->parts[i].rate->words;
	}
	return NULL;
}

const char *floods_check(struct floods *floods, const struct flood_source *source, int64_t now_ms)
{
	struct flood_draw draw = { .count = 0 };

	return draw_from(&draw, floods, source, now_ms);
}

static void table_touch(struct flood_table *table, struct flood_entry *entry)
{
	TAILQ_REMOVE(&table->oldest, entry, entry);
	TAILQ_INSERT_TAIL(&table->oldest, entry, entry);
}

const char *floods_take(struct floods *floods, const struct flood_source *source, int64_t now_ms)
{
	struct flood_draw draw = { .count = 0 };
	const char *words = draw_from(&draw, floods, source, now_ms);

	if (words)
		return words;
	for (size_t i = 0; i < draw.count; i++)
		draw.parts[i].bucket->used += FLOODS_ONE;
	table_touch(&floods->domains, draw.domain);
	if (draw.program)
		table_touch(&floods->programs, draw.program);
	return NULL;
}
