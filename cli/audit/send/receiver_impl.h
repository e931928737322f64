/* To add a receiver of `audit send`: cli/audit/send/NAME.c and NAME.h, which fill and declare a
 * struct receiver_ops; its line in cli/audit/send/table.c; cli/meson.build; its section in
 * docs/man/sallyport-audit.1, and its case in tests/cli/send.py. It is a process of its own that
 * only reads the log: it may wait, but each wait has a deadline. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct err;
struct receiver;
struct spool_batch;

#define RECEIVER_MS 60000 /* a batch is accepted in this time, or sent again */

/* Plain values, borrowed for the call of open(). */
struct receiver_config {
	const char *to;      /* where to, as it was given */
	const char *headers; /* the absolute path of a file of header lines; NULL: none */
};

struct receiver_ops {
	const char *scheme; /* of @to: "otlp+http" */
	/* 0, and returned owned; -EINVAL with @why: @config is wrong; or another -errno with @why:
	 * something is not installed, or cannot be read. */
	int (*open)(const struct receiver_config *config, struct receiver **ret, struct err *why);
	/* 0: the receiver has all records of @batch but *@ret_refused, which it will never take.
	 * -errno with @why: it may have any of them; the batch is sent again. */
	int (*send)(struct receiver *self, const struct spool_batch *batch, uint64_t *ret_refused,
		    struct err *why);
	void (*close)(struct receiver *self); /* NULL is fine */
};

extern const struct receiver_ops *const receiver_table[]; /* NULL-terminated; table.c */
