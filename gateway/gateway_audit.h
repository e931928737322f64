/* gateway_audit: for code that reads an audit log and not only checks it: its records as plain
 * values (docs/decisions/0006). */
#pragma once

#include <stdint.h>

struct err;

/* One record. Text that the record does not have is "", a number 0, and @times 1; all is borrowed
 * for the call. */
struct gateway_logged {
	int64_t time_us; /* since 1970 */
	const char *session, *run, *event, *command, *kind, *cwd, *action, *reason, *by;
	const char *way, *host, *protocol, *resolved, *rule;
	uint64_t exec, port, times, bytes_up, bytes_down;
};

struct gateway_audit_calls {
	/* A value other than 0 ends the reading, and is its result. */
	int (*record)(const struct gateway_logged *record, void *arg);
	/* A line that is no record, or not whole; reading goes on. */
	void (*malformed)(const char *path, uint64_t line, const char *words, void *arg);
	void *arg;
};

/* What dead runs left in the folder @dir (NULL: not read) is read after the log. Memory does not
 * depend on the size of the log. */
struct gateway_audit_reading {
	const char *path, *dir;
	unsigned int live; /* out: runs that have records of their own and are alive */
};
/* 0, what record() returned, or -errno with @why: the log cannot be read. */
int gateway_audit_read(struct gateway_audit_reading *reading,
		       const struct gateway_audit_calls *calls, struct err *why);
