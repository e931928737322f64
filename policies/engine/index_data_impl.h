/* index_data: the data of a policy's index. index.c makes and reads it. */
#pragma once

#include <stdint.h>

/* @text: where the key is in the text of an image, so that it can be prefetched with the rule; 0 if
 * it is not there. */
struct index_slot {
	uint32_t held, text;
};

/* What index_build() determines besides the slots. */
struct index {
	uint32_t slot_count;
	uint32_t rule_count; /* when it was built */
	uint32_t rule_mask;  /* the bits of a slot that hold a rule number */
	uint32_t any_head;   /* chain of the rules for `*` */
	/* One bit for each length that occurs: of a prefix, and of a name that is matched exactly
	 * or by its subdomains. */
	uint64_t v4_lengths, v6_lengths[3];
	uint64_t exact_lengths[4], below_lengths[4];
};
