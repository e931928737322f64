/* diff: the finite set of requests on which two policies have to agree to agree on all. Why these
 * are enough is said in diff_cells.c and docs/decisions/0050. diff_cells.c: hosts and addresses;
 * diff_times.c: when; diff_decide.c: one request; diff_resolve.c: names and what they resolve to;
 * diff_report.c: what is said of it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policies/policies_tools.h"
#include "policies/policy_impl.h"
#include "policies/special_impl.h"

#define DIFF_CELLS_MAX     (1U << 22) /* hosts, and addresses: more is refused, never sampled */
#define DIFF_DECISIONS_MAX (1ULL << 29)
#define DIFF_CARRIES       3 /* protocols a request can promise */
#define DIFF_TEXT_MAX      2048
#define DIFF_NONE          UINT32_MAX

/* A name that a rule or an exception of either policy writes. Borrowed from the policy. */
struct diff_name {
	const char *text; /* unterminated */
	size_t len;
};

/* What both policies write, each once, sorted. */
struct diff_marks {
	struct diff_name *names;
	size_t name_count, name_room;
	struct addr_block *blocks; /* of the policies alone, not the special-purpose ones */
	size_t block_count, block_room;
	uint16_t *ports; /* where an interval of ports begins; [0] is 1 */
	size_t port_count, port_room;
	bool is_crossed; /* a name's rule has an exception by address, or the other way round */
};

void diff_marks_init(struct diff_marks *marks, const struct policy *before,
		     const struct policy *after);
void diff_marks_done(struct diff_marks *marks);

bool diff_marks_has_name(const struct diff_marks *marks, const char *text, size_t len);
/* The narrowest block that has @addr, or DIFF_NONE. */
uint32_t diff_marks_block(const struct diff_marks *marks, const struct addr *addr);

/* All hosts that every pattern of both policies treats alike, and one of them. */
struct diff_cell {
	char host[POLICY_HOST_MAX]; /* the one; "" for an address */
	struct addr addr;           /* family 0: a name */
	uint32_t mark;              /* of names or of blocks; DIFF_NONE: outside all of them */
	bool is_carrier;            /* of IPv4 that a rule names: the address stands for itself */
	bool is_below;              /* strictly below the name */
	enum special_class class;   /* of @addr */
};

struct diff_cells {
	struct diff_cell *list;
	size_t count, room;
};

/* 0, or -E2BIG. */
int diff_cells_names(struct diff_cells *cells, const struct diff_marks *marks);
int diff_cells_addresses(struct diff_cells *cells, const struct diff_marks *marks);
/* The cell in the policy's own language: "*.a.test except **.b.a.test". */
void diff_text(const struct diff_marks *marks, const struct diff_cell *cell, char *out,
	       size_t size);
/* "https://a.test:1-79,443 except ...": the ports go behind the host, before its exceptions.
 * @codes: by port, every DIFF_CARRIES-th; those that are @code. */
void diff_text_destination(const struct diff_marks *marks, const struct diff_cell *cell,
			   const uint32_t *codes, uint32_t code, const char *protocol, char *out,
			   size_t size);

/* All of a verdict that says what may happen. */
struct diff_outcome {
	uint8_t action, promise, reason;
	bool may_private;
};

struct diff {
	const struct policy *sides[2];
	struct diff_marks marks;
	struct diff_cells names, addresses;
	size_t max, count;
	policy_change_fn report;
	void *arg;
	/* When something ends; [0] is the beginning, 0 where it is not known. */
	int64_t *times;
	size_t time_count, time_room;
	size_t time; /* at hand */
	/* Of the host at hand, by port and protocol. */
	struct diff_outcome *outcomes[2];
	uint32_t *codes;
	/* Of the addresses told last, which may read like those at hand: public and private ones of
	 * a block. */
	uint32_t *told_codes;
	const struct diff_cell *told;
	/* Numbers, never 0, in open addressing: pairs of outcomes that were found to agree on every
	 * address (the name says nothing there); digests of the lines that were told. */
	struct diff_set {
		uint64_t *slots;
		size_t count, slot_count;
	} agreed, lines;
};

/* The slot of @number, or the free one where it belongs, with room for one more. */
uint64_t *diff_set_slot(struct diff_set *set, uint64_t number);

/* Fills diff->times. */
void diff_times(struct diff *diff);

enum policy_protocol diff_decide_carries(size_t number);
/* How two outcomes differ: their actions and promises, or 0. Equal codes read alike. */
uint32_t diff_decide_code(const struct diff_outcome *before, const struct diff_outcome *after,
			  size_t carries);
void diff_decide_facts(const struct diff *diff, const struct diff_cell *cell, size_t point,
		       struct policy_facts *ret);
void diff_decide(const struct policy *policy, const struct policy_facts *facts,
		 struct diff_outcome *ret);
/* May @addr be dialled, after all? A question is taken as answered with yes: for what may happen
 * then. */
void diff_decide_dial(const struct policy *policy, const struct policy_facts *facts,
		      const struct diff_outcome *given, const struct addr *addr,
		      struct diff_outcome *ret);

/* Tells diff->codes: one line for each protocol and each way to differ, at all its ports. */
void diff_report_codes(struct diff *diff, const struct diff_cell *cell,
		       const struct diff_cell *resolved);
/* @cell: addresses. Tells them unless the line would be there already. */
void diff_report_addresses(struct diff *diff, const struct diff_cell *host,
			   const struct diff_cell *cell);

/* Where both sides would dial the name: every kind of address it can resolve to. @open: room for
 * all points. */
void diff_resolve(struct diff *diff, const struct diff_cell *cell, bool *open);
