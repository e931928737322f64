/* run_into: commands that `sallyport exec --into` adds to a run with a gate of its own. */
#pragma once

struct exec_process;
struct gate;
struct run_into;

/* From now on they are accepted, as the policy decides about them; @gate and @process are kept.
 * Returned owned; NULL: this run accepts none, and a warning says why if that is not wanted. */
struct run_into *run_into_new(struct gate *gate, struct exec_process *process);
void run_into_free(struct run_into *into); /* before @process; NULL is fine */
