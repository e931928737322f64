/* gate: all of a run except its commands: places, policy, gateway, worker, and the watch on the
 * policy's files. A gate of `run` has one command, others have many. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/gate/gate_keep.h"
#include "cli/gate/run_metrics.h"
#include "cli/gate/run_published.h"
#include "cli/gate/run_worker.h"
#include "cli/view/run_places.h"
#include "cli/run/run_sources.h"
#include "cli/view/run_view.h"
#include "gateway/gateway_agent.h"
#include "gateway/gateway_tools.h"

struct exec_plan_config;
struct gateway;
struct policy;
struct policy_upstreams;
struct run_bundle;
struct run_helpers;
struct run_names;
struct run_options;
struct run_reload;

#define GATE_ID_BYTES    3
#define GATE_WHY_MAX     320
#define GATE_WORKERS_MAX 64
#define GATE_DEATHS_MAX  5 /* of workers within a minute: the last one is not replaced */

/* All are called from the loop; all may be NULL. */
struct gate_calls {
	void (*hold)(void *arg); /* a question is on the terminal: write nothing there */
	void (*release)(void *arg);
	void (*on_abort)(uint64_t exec, void *arg);
	/* And with it the network access of commands; @why: for people. */
	void (*on_worker_gone)(const char *why, void *arg);
	/* Another policy is in force; the one before is about to be freed. */
	void (*on_policy)(const struct policy *policy, void *arg);
	void *arg;
	void (*on_read)(void *arg); /* the policy was read again, whether or not it is in force */
	const struct gateway_embedded *embedded; /* for the gateway; kept */
};

/* gate_prepare() fills the first part, gate_open() and later calls the second. gate_close() and
 * gate_free() may be called at any time, in this order. Initial value: GATE_NONE. */
struct gate {
	struct run_options *options; /* kept */
	char id[GATE_ID_BYTES * 2 + 1];
	struct run_places places;
	char *control; /* path of its control socket; NULL: the one of a session that is joined */
	struct run_sources sources;
	struct run_loaded loaded;
	struct policy *policy;
	/* From here on: not filled by gate_prepare(). */
	struct gate_calls calls;
	struct run_reload *reload;
	struct run_names *names;
	struct run_view view; /* filled by gate_view(): what commands may see and change */
	struct run_worker workers[GATE_WORKERS_MAX]; /* one, but for `proxy` */
	size_t worker_count;
	int64_t deaths_ms[GATE_DEATHS_MAX]; /* when workers died, the last at `death_count` - 1 */
	uint64_t death_count;               /* modulo GATE_DEATHS_MAX */
	struct proxy_published published[PROXY_PUBLISHED_MAX]; /* until the worker has them */
	size_t published_count;
	const struct proxy_service *service; /* for the worker; NULL: clients are commands */
	int worker_socket, tty;
	struct gateway_terminal terminal;
	char *tmux;                         /* gate_find_tmux() */
	struct policy_upstreams *upstreams; /* owned; NULL: none */
	struct run_helpers *helpers;
	struct gateway_web web;
	struct run_metrics metrics;
	struct loop *loop;
	struct gateway *gateway;
	struct run_bundle *bundle;
	struct gate_keep keep;
};
#define GATE_NONE ((struct gate){ .worker_socket = -1, .tty = -1, .metrics = RUN_METRICS_NONE })

/* Makes an id, finds the places, reads the policy. Returns an exit status and prints what is wrong,
 * as every function here does. */
int gate_prepare(struct gate *gate, struct run_options *options);
/* Makes the loop, unless there is one, the helper programs and the gateway, and finds the upstream
 * proxies. */
int gate_open(struct gate *gate, const struct gate_calls *calls);
/* A part of gate_open(): opens the file that records unanswered questions, if there is one. It is
 * called now because commands cannot change any path yet. */
int gate_open_bundle(struct gate *gate);
/* How long questions wait for an approver to attach. -1: without limit. */
int64_t gate_patience_ms(const struct run_options *options);
/* Forks the worker; the link to it is left in `worker_socket`. */
int gate_workers_fork(struct gate *gate);
/* Forks the worker and lets the gateway serve it. May be called after exec_process_start(): nothing
 * reaches the listeners before the gateway has passed them on. */
int gate_workers_start(struct gate *gate);
/* From now on a worker that dies is not replaced, and only workers have the listeners. */
void gate_workers_end_starters(struct gate *gate);
/* A worker died. Starts another one, and returns the socket of its link, owned; -1: it is not
 * replaced. @words: what happened, for people. */
int gate_workers_next(struct gate *gate, unsigned int number, bool is_hostile,
		      char words[GATE_WHY_MAX]);
/* For struct gateway_config: replaces a worker that died. */
void gate_workers_gone(unsigned int number, bool is_hostile, void *gate);
/* The workers have reported everything, or have ended already. They are killed early so that their
 * exit overlaps the gate's own clean-up. */
void gate_workers_kill(const struct gate *gate);
void gate_workers_reap(struct gate *gate);
/* Reads the policy, and how names are resolved, again when their files change, unless commands may
 * write those files. Call it after the fork of the worker, which does not need it. */
void gate_watch(struct gate *gate);
/* No command runs: none can write anything. After gate_watch(). */
void gate_forget_writable(struct gate *gate);
/* Ignores SIGPIPE and SIGXFSZ: a full file or a closed reader fails a write and must not end the
 * gate. */
void gate_ignore_signals(void);
/* Applies a new @gate->view.writable, the paths that commands may write. After gate_watch(). */
void gate_set_writable(struct gate *gate);
/* Finds tmux for the window of a question, where no command can write; without it the question is
 * shown on the terminal. Call it before a command begins. */
int gate_find_tmux(struct gate *gate);
/* The files that the gate depends on besides the policy: programs that decide, and what
 * `configured` reads. Returned owned. */
char **gate_guarded(const struct gate *gate);
/* Notes for later runs that commands may write below @paths. It may block, so another process may
 * do it. Not 0 with @why: a file that decides lies there; @why names it. */
int gate_note_reach(const struct gate *gate, char *const *paths, struct err *why);
/* As policy_reach_keep(), for a gate whose commands are begun by others. An exit status. */
int gate_keep_files(const struct gate *gate);
/* From now on commands may write below @paths. */
void gate_widen(struct gate *gate, char *const *paths);
const char *gate_session(const struct gate *gate); /* the session's name in records */
/* The policy file to which a line can be added: the user's; with --ci the last --policy, because a
 * job's machine does not keep the user's. NULL: none. */
const char *gate_policy_path(const struct gate *gate);

/* Finds once what commands may see and change. An exit status. */
int gate_view(struct gate *gate);
/* Fills the settings that all commands of @gate share; borrows @gate. */
void gate_apply(const struct gate *gate, struct exec_plan_config *ret);

/* gate_close() ends the worker and the gateway, which denies all waiting requests. Between the two
 * calls the caller may free its own objects while the kernel takes down the sandbox. */
void gate_close(struct gate *gate);
void gate_free(struct gate *gate);
