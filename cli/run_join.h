/* run_join: a run whose gate is a session's, in another process (sallyport-session(1)). The
 * sandbox, the terminal and the worker stay here. */
#pragma once

#include "cli/gate.h"

struct run_join;
struct run_summary;

struct run_join_calls {
	void (*on_kill)(const char *why, bool is_by_person, void *arg); /* the command is to end */
	void (*hold)(void *arg); /* as of struct gateway_terminal */
	void (*release)(void *arg);
	void (*on_over)(void *arg); /* after run_join_end(), once */
	void *arg;
};

/* Options that are the session's to have: as run_options_parse(). */
int run_join_prepare_options(const struct run_options *options);
/* In place of gate_prepare(): joins options->join, and loads what that session goes by; it has to
 * be what the session has. An exit status; says what is wrong, as all here. */
int run_join_prepare(struct gate *gate, struct run_options *options, struct run_join **ret);
/* Adds what no command of the session may change or see, once gate_view() has been. */
void run_join_prepare_view(const struct run_join *join, struct run_view *view);
/* In place of gate_open(). Keeps @join's @calls. */
int run_join_open(struct run_join *join, struct gate *gate, const struct run_join_calls *calls);
/* In place of gateway_exec_begin() and gateway_exec_set_argv(). */
int run_join_begin(struct run_join *join, const struct gate *gate);
/* In place of gate_start_worker(). */
int run_join_start_worker(struct run_join *join, struct gate *gate);
/* In place of gateway_open_way(): takes @fds. 0 or -errno. */
int run_join_open_way(struct run_join *join, int *fds, size_t count);
/* In place of gateway_exec_refused(). */
void run_join_refused(struct run_join *join, const struct gateway_refused *refused);
/* In place of gateway_exec_end() and gateway_finish(): on_over follows, at the latest after @ms. */
void run_join_end(struct run_join *join, int status, int64_t ms);
/* "7f3a21.3": the session's run and the exec in it, as records have them. Owned by @join. */
const char *run_join_id(const struct run_join *join);
/* NULL: the session has written the run's end. Else why nobody knows. Borrowed. */
const char *run_join_failure(const struct run_join *join);
/* What went where. */
void run_join_report(const struct run_join *join, struct run_summary *ret);
void run_join_free(struct run_join *join);
