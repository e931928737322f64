/* index_data: what the index of a policy consists of. index.c makes and reads it. */
#pragma once

#include <stdint.h>

/* @text: where the key stands among the text of an image, so that it can be fetched together with
 * the rule; 0 when it is not there. */
struct index_slot {
	uint32_t held, text;
};

/* What index_build() finds out, beside the slots. */
struct index {
	uint32_t slot_count;
	uint32_t rule_count; /* when it was built */
	uint32_t rule_mask;  /* the bits of a slot that are the number of a rule */
	uint32_t any_head;   /* chain of the rules for `*` */
	/* Bit by bit: which lengths of a prefix occur, and of a name that is meant itself, or by
	 * what is below it. */
	uint64_t v4_lengths, v6_lengths[3];
	uint64_t exact_lengths[4], below_lengths[4];
};
