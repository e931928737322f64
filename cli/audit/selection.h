/* selection: the records of an audit log that --run, --last, --since and --audit name. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct gateway_logged;
struct options;

struct selection {
	char *path;                /* of the log; owned */
	char run[64];              /* "": of every run */
	bool is_last;              /* of the run that began last: its id is found by the reader */
	int64_t since_us, now_us;  /* records from @since_us on; 0: all */
	int64_t until_us;          /* and before; 0: all */
	uint64_t records, skipped; /* out: records in the log; malformed lines */
};

/* The log that --audit names, or else the one in the state folder: returned owned; NULL after an
 * error was printed. */
char *selection_path(const struct options *options);

/* Without --run, --last and --since: the last @default_ms; 0: the last run; SELECTION_ALL. Returns
 * an exit status and prints what is wrong. selection_done() in every case. */
#define SELECTION_ALL (-1)
int selection_take(struct selection *ret, const struct options *options, int64_t default_ms);
void selection_done(struct selection *selection);

/* Calls @record for every record of the log; @is_selected: it is one of those named. Prints each
 * line that is not a record, up to a number. Returns an exit status, and prints what is wrong. */
typedef void (*selection_fn)(const struct gateway_logged *record, bool is_selected, void *arg);
int selection_read(struct selection *selection, selection_fn record, void *arg);

/* "2026-11-25 20:13:05 UTC"; and in local time, with its distance from UTC:
 * "2026-11-25 21:13:05 +0100". Returns @out. */
#define SELECTION_TIME_MAX 48
const char *selection_utc(int64_t time_us, char out[SELECTION_TIME_MAX]);
const char *selection_local(int64_t time_us, char out[SELECTION_TIME_MAX]);
