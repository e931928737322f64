/* history: what an audit log says about each destination: how often it was allowed and denied, and
 * by whom. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/audit/selection.h"
#include "cli/tally.h"
#include "policies/policies.h"

/* What a record of a decision says. */
enum history_verdict {
	HISTORY_ALLOWED,    /* by a rule, an answer in a file, the default, or --observe */
	HISTORY_ANSWERED,   /* a person or a reviewer allowed it */
	HISTORY_UNANSWERED, /* a question got no answer, or the default denied it */
	HISTORY_DENIED,     /* by a rule, a person, a reviewer */
	HISTORY_PRIVATE,    /* its address is private */
	HISTORY_NEVER,      /* cloud metadata and the like: nothing can allow it */
	HISTORY_FAILED,     /* it was allowed, but not reached, or was cut by what it sent */
	HISTORY_INSIDE,     /* the command's own loopback */
	HISTORY_VERDICTS
};
/* Did nobody answer, or could nobody be asked? What the default denies is denied. */
bool history_is_unanswered(enum policy_reason reason);
/* The reason of a record; POLICY_NONE: unknown. */
enum policy_reason history_reason(const char *code);

#define HISTORY_DESTINATIONS_MAX 16384
#define HISTORY_EXECS_MAX        65536
#define HISTORY_COMMAND_MAX      64

/* Counts are of the selected records. */
struct history_destination {
	struct policy_destination dst;
	enum policy_way way;
	uint64_t counts[HISTORY_VERDICTS], observed, connections, bytes_up, bytes_down;
	int64_t first_us, last_us;
	enum policy_reason reason; /* of the last verdict that is not an allow */
	char run[32], command[HISTORY_COMMAND_MAX], by[64];
	/* Denied by a person or a rule, in any record of the log: when, and who or which rule. */
	int64_t denied_us;
	enum policy_reason denied;
	char denied_by[160];
	char address[ADDR_TEXT_MAX]; /* a private address that it led to, or "" */
	bool is_odd;                 /* not a canonical destination: nothing is concluded from it */
};

struct history {
	struct tally destinations; /* of struct history_destination */
	struct tally execs;        /* of char[HISTORY_COMMAND_MAX]: "RUN EXEC" */
	struct policy *plain;      /* allows all that is not special */
	uint64_t decisions, runs;  /* selected */
};
void history_init(struct history *history);
/* Reads the log. @ret_rows: tally_rows() of its destinations, returned owned. Returns as
 * selection_read(). */
int history_read(struct history *history, struct selection *selection, void ***ret_rows);
void history_done(struct history *history);

/* The destination of a record: 0, or -EBADMSG: it is not in its canonical form. */
int history_destination_read(const struct gateway_logged *record, struct policy_destination *ret);
