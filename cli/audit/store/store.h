/* store: an index of an audit log in an SQLite database. The log is the truth: the database holds
 * only what finds records in it, is brought up to date when a question is asked, and can be removed
 * at any time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct gateway_logged;
struct store;

/* What a decision says; other records have no verdict. Failed: it was allowed, and not reached. */
enum store_verdict {
	STORE_NO_VERDICT,
	STORE_ALLOW,
	STORE_DENY,
	STORE_UNANSWERED,
	STORE_FAILED,
	STORE_VERDICTS
};

struct store_config {
	const char *log; /* its path; borrowed for the call */
	const char *dir; /* of the database, or NULL: only in memory; borrowed for the call */
	/* Something happened to the database that a person should know; ends no question. */
	void (*note)(const char *text);
	enum store_verdict (*verdict)(const struct gateway_logged *record);
};

/* Opens the database of the log, and adds the records that it does not have yet. One that is
 * damaged or of another version is made again; where none can be written, it is in memory. 0, or
 * -errno with @why: the log cannot be read. Returned owned. */
int store_open(struct store **ret, const struct store_config *config, struct err *why);
/* Adds the records that were written since. *@ret_is_new: all were read again, because it is
 * another file now. */
int store_fill(struct store *store, bool *ret_is_new, struct err *why);
/* Removes the database, and makes it again: after -EBADMSG. */
int store_renew(struct store *store, struct err *why);
/* Where the last whole line of the log that was read ends. */
off_t store_end(const struct store *store);
void store_free(struct store *store);

/* The lines that are not records, in order; the others are only counted. */
#define STORE_BAD_MAX 20
typedef void (*store_bad_fn)(uint64_t line, const char *words, void *arg);
int store_bad(struct store *store, store_bad_fn each, void *arg, uint64_t *ret_count,
	      struct err *why);

/* Members that are NULL or 0 choose nothing. */
struct store_filter {
	const char *host;          /* a pattern with * and ? */
	const char *domain;        /* it, and every host below it */
	const char *rule, *person; /* a part of the text */
	const char *program; /* a path, or its last component; or the first word of the command */
	const char *session, *run, *event; /* the whole text */
	char user[24];                     /* the number of a user */
	enum store_verdict verdict;
	int64_t since_us, until_us; /* from, and before */
	uint64_t seq;
	off_t after, before; /* the place in the log: from, and before */
	uint64_t limit;      /* the last of them; 0: all */
};
/* Calls @each with the records, in the order of the log, until it returns a value other than 0,
 * which is returned. A record's command is that of its exec, and its line is not in memory.
 * -EBADMSG: the database is damaged: store_renew(). *@ret_has_more (may be NULL): the limit left
 * others out. */
typedef int (*store_each_fn)(const struct gateway_logged *record, enum store_verdict verdict,
			     void *arg);
int store_find(struct store *store, const struct store_filter *filter, store_each_fn each,
	       void *arg, bool *ret_has_more, struct err *why);

/* The line of a record that store_find() has found, NUL-terminated without its newline, returned
 * owned. -ESTALE: another line is there now. */
int store_find_line(struct store *store, const struct gateway_logged *record, char **ret_line,
		    struct err *why);

/* What records are summed by. Days are those of UTC; the key is "2026-11-25". */
enum store_dimension { STORE_HOST, STORE_PERSON, STORE_RUN, STORE_PROGRAM, STORE_RULE, STORE_DAY };
#define STORE_DIMENSIONS STORE_DAY /* that sums are kept of */
/* Decisions and ends of connections to destinations, without those to ports that a run publishes,
 * because the command did not make them. */
struct store_sums {
	enum store_dimension dimension;
	int64_t since_us; /* 0: all */
	const char *run;  /* NULL: of every run */
};
/* A part of a sum: a key may be told several times. Text is borrowed for the call. */
struct store_sum {
	const char *key;
	/* Without a key: the reason of a decision by nobody, or of a denial by no rule; the command
	 * of a program that is not known. */
	const char *instead;
	enum store_verdict verdict; /* STORE_NO_VERDICT: ends of connections */
	uint64_t times, bytes_up, bytes_down;
	int64_t first_us, last_us;
};
typedef void (*store_sum_fn)(const struct store_sum *sum, void *arg);
/* Errors as store_find(). */
int store_sum(struct store *store, const struct store_sums *what, store_sum_fn each, void *arg,
	      struct err *why);

/* Of the time since @since_us; @new_hosts: those with no earlier decision in the log. */
struct store_totals {
	uint64_t records, runs, execs, new_hosts;
};
int store_sum_totals(struct store *store, int64_t since_us, struct store_totals *ret,
		     struct err *why);
/* The newest hosts first. */
int store_sum_new_hosts(struct store *store, int64_t since_us, size_t limit,
			void (*each)(const char *host, void *arg), void *arg, struct err *why);
/* The run that began last: returned owned; NULL: there is none. */
int store_last_run(struct store *store, char **ret_run, struct err *why);
