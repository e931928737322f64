/* run_join: a run that uses the gate of a session, in another process (sallyport-session(1)). The
 * sandbox, the terminal and the worker are in this process. */
#pragma once

struct gate;
struct run_gateway;
struct run_options;

/* Instead of gate_prepare(): joins options->join, and loads the session's settings into @gate,
 * which is kept; they must be the same here as in the session. Returns an exit status and prints
 * what is wrong. *@ret is returned owned in every case. */
int run_join_prepare(struct gate *gate, struct run_options *options, struct run_gateway **ret);
