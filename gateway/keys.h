/* keys: hash tables over (number, destination), intrusive: adding and removing never fails and
 * allocates only buckets. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "policies/policies.h"

/* Embedded in what is looked up; its owner removes it before it dies. */
struct key_node {
	struct key_node *next;
	uint64_t hash;
	uint64_t number;
	const struct policy_destination *dst; /* of the owner; NULL: the number is the whole key */
};

/* The seed is drawn per table: destinations are chosen by strangers. */
struct key_table {
	struct key_node **buckets;
	size_t size, count;
	uint64_t seed;
};

void keys_init(struct key_table *table);
/* Frees the buckets, not what is in them. */
void keys_done(struct key_table *table);

/* Borrowed, or NULL: not there. */
struct key_node *keys_find(const struct key_table *table, uint64_t number,
			   const struct policy_destination *dst);
/* Keeps @node and @dst. The key must not be there yet. */
void keys_add(struct key_table *table, struct key_node *node, uint64_t number,
	      const struct policy_destination *dst);
void keys_remove(struct key_table *table, struct key_node *node);
/* Takes any one out; NULL: empty. For emptying a table. */
struct key_node *keys_pop(struct key_table *table);
