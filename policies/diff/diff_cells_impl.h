/* diff_cells: the classes of hosts that two policies distinguish, with one host for each.
 * diff_cells.c explains why these are enough. */
#pragma once

#include "policies/engine/policy_impl.h"
#include "policies/hosts/special_impl.h"

#define DIFF_CELLS_MAX (1U << 22) /* hosts and addresses: more are refused, never sampled */
#define DIFF_CARRIES   4          /* protocols a request can promise */
#define DIFF_TEXT_MAX  2048
#define DIFF_NONE      UINT32_MAX

/* A name in a rule or an exception of either policy. Borrowed from the policy. */
struct diff_name {
	const char *text; /* unterminated */
	size_t len;
};

/* What both policies contain, without duplicates, sorted. */
struct diff_marks {
	struct diff_name *names;
	size_t name_count, name_room;
	struct addr_block *blocks; /* from the policies, without the special-purpose blocks */
	size_t block_count, block_room;
	bool is_v4_length[33], is_v6_length[129]; /* a block has so many bits */
	uint16_t *ports;                          /* where a range of ports begins; [0] is 1 */
	size_t port_count, port_room;
	bool is_crossed; /* a name's rule has an exception by address, or the other way round */
};

void diff_marks_init(struct diff_marks *marks, const struct policy *before,
		     const struct policy *after);
void diff_marks_done(struct diff_marks *marks);

bool diff_marks_has_name(const struct diff_marks *marks, const char *text, size_t len);
/* The narrowest block that contains @addr, or DIFF_NONE. */
uint32_t diff_marks_block(const struct diff_marks *marks, const struct addr *addr);

/* A class of hosts that every pattern of both policies treats alike, and one host of it. */
struct diff_cell {
	char host[POLICY_HOST_MAX]; /* that host; "" for an address */
	struct addr addr;           /* family 0: a name */
	uint32_t mark;              /* index of a name or block; DIFF_NONE: outside all of them */
	bool is_carrier;            /* of IPv4 that a rule names: the address stands for itself */
	bool is_below;              /* strictly below the name */
	enum special_class class;   /* of @addr */
	bool has_conditions;        /* a rule that names it has conditions */
};

struct diff_cells {
	struct diff_cell *list;
	size_t count, room;
};

/* 0, or -E2BIG. */
int diff_cells_names(struct diff_cells *cells, const struct diff_marks *marks);
int diff_cells_addresses(struct diff_cells *cells, const struct diff_marks *marks);
/* The cell in the policy language: "*.a.test except **.b.a.test". */
void diff_text(const struct diff_marks *marks, const struct diff_cell *cell, char *out,
	       size_t size);
/* "https://a.test:1-79,443 except ...": the ports are behind the host, before its exceptions.
 * @codes: by port, every DIFF_CARRIES-th; uses those equal to @code. */
void diff_text_destination(const struct diff_marks *marks, const struct diff_cell *cell,
			   const uint64_t *codes, uint64_t code, const char *protocol, char *out,
			   size_t size);
