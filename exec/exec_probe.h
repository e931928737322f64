/* exec_probe: what the probe of a sandbox found: which ways out were tried in the command's own
 * process, just before its program, and were refused. Used by init, too. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum exec_way {
#define WAY(id, name, function, what) EXEC_WAY_##id,
#include "exec/probe/ways.def"
#undef WAY
	EXEC_WAYS
};

/* From EXEC_TRY_NETWORK on: it was not tried, for this reason. */
enum exec_try {
	EXEC_TRY_NONE,     /* nothing was reported */
	EXEC_TRY_REFUSED,  /* as it has to be */
	EXEC_TRY_OPEN,     /* it worked: nothing is started */
	EXEC_TRY_UNCLEAR,  /* it failed for want of memory or descriptors: nothing is started */
	EXEC_TRY_NETWORK,  /* the command has the host's network */
	EXEC_TRY_FILES,    /* the command may write all files */
	EXEC_TRY_KERNEL,   /* the kernel is too old to refuse it */
	EXEC_TRY_NO_IPV6,  /* there is no IPv6 */
	EXEC_TRY_NOTHING,  /* there is no such path or socket */
	EXEC_TRY_SAME_PID, /* the gate's process number is also used inside */
	EXEC_TRIES
};

struct exec_probe {
	uint32_t micros;
	uint8_t ways[EXEC_WAYS]; /* enum exec_try */
};

bool exec_probe_has_run(const struct exec_probe *probe);
/* True: every way was reported, and none is open or unclear. */
bool exec_probe_holds(const struct exec_probe *probe);
/* "full"; "reduced": the command may use a part of the host, so some ways were not tried. */
const char *exec_probe_grade(const struct exec_probe *probe);
const char *exec_way_name(enum exec_way way);
/* The first way that is not closed, and what a command could do by it; NULL: there is none. */
const char *exec_probe_worked(const struct exec_probe *probe, enum exec_way *ret);
/* Why it was not tried; NULL: it was. */
const char *exec_probe_skipped(const struct exec_probe *probe, enum exec_way way);
/* For the record of a sandbox that is not probed: by --no-probe, or because there is none. */
const char *exec_probe_absent(bool is_by_option);
/* One line for people: the grade, and all ways. Returned owned. */
char *exec_probe_text(const struct exec_probe *probe);
