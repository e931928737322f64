/* durable: brings written records to the disk: a moment later, or at once where something waits for
 * them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gateway/audit/disk/disk.h"

struct durable;

/* A record waits at most this long before the disk is asked to take it, and once more if it was
 * just being merged. Together with the disk's own time that is less than 100 ms. */
#define DURABLE_MS      40
#define DURABLE_LATE_MS 10000 /* a disk that takes longer has failed */

struct durable_config {
	struct loop *loop; /* kept */
	/* Files with data that may not be on the disk: of what waits, or (@is_all) all. Returns
	 * their number. */
	size_t (*files)(bool is_all, int ret[DISK_FILES_MAX], void *arg);
	/* What files() named is on the disk. */
	void (*stored)(bool is_all, void *arg);
	/* It cannot be known whether records are on the disk; @is_late: it may end well. */
	void (*failed)(const char *words, bool is_late, void *arg);
	void *arg;
};

/* Returned owned. */
struct durable *durable_new(const struct durable_config *config);
/* Waits for what is under way. NULL is fine. */
void durable_free(struct durable *durable);

/* Prepares durable_await(): 0, or -errno with @why if the kernel cannot do it. */
int durable_prepare(struct durable *durable, struct err *why);
/* Something was written. */
void durable_written(struct durable *durable);
/* As durable_written(), but all files are to be on the disk now. */
void durable_hurry(struct durable *durable);
/* Asks for everything written so far. Returns the number that durable_reached() has when that is
 * on the disk. */
uint64_t durable_await(struct durable *durable);
uint64_t durable_reached(const struct durable *durable);
bool durable_is_late(const struct durable *durable);
