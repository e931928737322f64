/* egress_lock: the text of an egress.lock: a line for each destination and program, sorted. It is
 * in the project, so everything in it is checked. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cli/tally.h"
#include "gateway/gateway_tools.h"

struct err;

#define EGRESS_LOCK_MAX_BYTES (4U << 20)

enum { EGRESS_UP, EGRESS_DOWN, EGRESS_WAYS };

/* One line. Its key in the tally: "PROTOCOL HOST PORT PROGRAM", the program being "-" if it was not
 * found. */
struct egress_line {
	uint64_t bytes[EGRESS_WAYS];      /* that were counted */
	unsigned char power[EGRESS_WAYS]; /* of a line that was read: less than 10^power bytes */
	bool is_used;
};

void egress_lock_init(struct tally *lines);
/* Adds the lines of @text to @lines, which is empty. -EBADMSG, with @why beginning with the number
 * of the line: "3: ...". */
int egress_lock_parse(struct tally *lines, const char *text, size_t len, struct err *why);
/* Adds what was counted. -E2BIG: there are too many lines. */
int egress_lock_add(struct tally *lines, const struct gateway_egress *egress);

/* The text of a line, returned owned. Where bytes were counted, twice as many are allowed for. */
char *egress_lock_line(const struct egress_line *line);
/* The whole text, returned owned. */
char *egress_lock_text(const struct tally *lines);

/* The key up to its program, whose text is returned: "-" or a name. */
const char *egress_lock_program(const char *key);
/* Were at most as many bytes counted as @limit, which was read, allows? */
bool egress_lock_holds(const struct egress_line *limit, const struct egress_line *counted);
