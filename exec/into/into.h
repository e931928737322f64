/* into: the commands that are added to one that runs; see exec_into.h. Embedded in exec_process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exec/exec_into.h"
#include "exec/run/wire.h"

struct err;
struct plan;

struct into {
	uint64_t number; /* 0: free */
	char *program;
	bool has_result;
	struct exec_process_result result;
	exec_pty_fn on_pty;
	exec_process_done_fn done; /* NULL: nobody waits for it any more */
	void *arg;
};
struct intos {
	uint64_t last; /* the last number that was given */
	struct into list[WIRE_INTO_MAX];
};

/* @control: init's; @plan: of the command that runs. The rest as exec_into_start(). */
int into_start(struct intos *intos, int control, const struct plan *plan,
	       const struct exec_into_config *config, uint64_t *ret, struct err *why);
void into_signal(const struct intos *intos, int control, uint64_t number, int signal);
void into_drop(struct intos *intos, int control, uint64_t number);
/* A message about an added command. Takes @fds. False: it is malformed. */
bool into_take(struct intos *intos, const struct wire_message *message, const int *fds,
	       size_t count);
/* The sandbox is gone, and all of them with it. */
void into_end_all(struct intos *intos);
