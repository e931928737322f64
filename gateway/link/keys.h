/* keys: intrusive hash tables with keys of (number, destination): adding and removing never fails,
 * and only buckets are allocated. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "policies/policies.h"

/* Embedded in the object; its owner removes it before freeing the object. */
struct key_node {
	struct key_node *next;
	uint64_t hash;
	uint64_t number;
	const struct policy_destination *dst; /* in the owner; NULL: the number is the whole key */
};

/* Each table has its own random seed, because commands choose the destinations. */
struct key_table {
	struct key_node **buckets;
	size_t size, count;
	uint64_t seed;
};

void keys_init(struct key_table *table);
/* Frees the buckets, not the entries. */
void keys_done(struct key_table *table);

/* Borrowed, or NULL: not found. */
struct key_node *keys_find(const struct key_table *table, uint64_t number,
			   const struct policy_destination *dst);
/* Keeps @node and @dst. The key must not be in the table. */
void keys_add(struct key_table *table, struct key_node *node, uint64_t number,
	      const struct policy_destination *dst);
void keys_remove(struct key_table *table, struct key_node *node);
/* Removes any entry; NULL: empty. For emptying a table. */
struct key_node *keys_pop(struct key_table *table);
