/* spool: the records of an audit log that a receiver does not have yet. The log itself keeps them;
 * of what was sent only the place is remembered. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/crypto/digest.h"
#include "gateway/gateway_audit.h"

struct err;

/* The last record that a receiver has. A plain value; zeroed: it has none. */
struct spool_place {
	char log[DIGEST_TEXT_MAX];  /* the log's identity; "": not known */
	char hash[DIGEST_TEXT_MAX]; /* of the record */
	uint64_t seq;
	off_t at;      /* where its line ended */
	uint64_t lost; /* records that were never sent: pruned before, or refused */
};

struct spool_record {
	struct gateway_logged parsed; /* its texts lie in @texts */
	char *line;                   /* as it is in the log: printable ASCII; owned */
	char *texts;                  /* owned */
};

#define SPOOL_BATCH_MAX   512          /* records */
#define SPOOL_BATCH_BYTES (256U << 10) /* of their lines: the next record is left out */
struct spool_batch {
	struct spool_record records[SPOOL_BATCH_MAX];
	size_t count, bytes;
	struct spool_place end; /* at its last record */
	uint64_t missing;       /* records before or between these that are not in the log */
};

struct spool {
	const char *path; /* borrowed */
	int fd;
	off_t end; /* of the whole lines */
	off_t at;  /* of the next line */
	char *buffer;
	size_t held, used;
	struct spool_place place; /* the record before the next one */
	void (*note)(const char *text);
};

/* Opens the log after @place. @note: for what a person should know about the log, such as that
 * another one has its place; ends nothing. 0, or -errno with @why; close it in every case. */
int spool_open(struct spool *self, const char *path, const struct spool_place *place,
	       void (*note)(const char *text), struct err *why);
void spool_close(struct spool *self);
/* The next records; a @batch without any: there are no more. Returned owned. */
struct spool_batch *spool_next(struct spool *self);
void spool_free_batch(struct spool_batch *batch); /* NULL is fine */
