/* place: the file that remembers what a receiver has of a log, and that one process at a time
 * sends it there. */
#pragma once

struct err;
struct spool_place;

/* A value; closed is { .folder = -1, .lock = -1 }. */
struct place {
	int folder, lock;
	char *name, *to; /* of the file; where to; owned */
};

/* In the folder @dir, for the log at @log and the receiver @to. *@ret: what was saved last. 0, or
 * -errno with @why; -EWOULDBLOCK: another process has it. Close it in every case. */
int place_open(struct place *self, const char *dir, const char *log, const char *to,
	       struct spool_place *ret, struct err *why);
void place_close(struct place *self);
int place_save(const struct place *self, const struct spool_place *place, struct err *why);
