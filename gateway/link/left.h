/* left: what the workers of a killed run had let go by themselves, and its gateway had not recorded
 * yet. */
#pragma once

#include "gateway/audit/sink_impl.h"

struct left;
struct err;
/* Opens what the run of the segment at @segment (DIR/KEY.RUN.PID.N) has left, and locks it. *@ret
 * is owned, also after an error. -EBUSY: a worker of the run has not ended yet. Another -errno with
 * @why: it cannot be read now. */
int left_open(const char *segment, const char *run, struct left **ret, struct err *why);
const char *left_run(const struct left *left);
/* Calls @each with the records, until it returns another value than 0, which is returned. What is
 * damaged ends the records of its worker. */
typedef int (*left_record_fn)(const struct sink_record *record, void *arg);
int left_each(struct left *left, left_record_fn each, void *arg);
/* The records are stored: removes the files. */
void left_remove(struct left *left);
/* NULL is fine. */
void left_free(struct left *left);
