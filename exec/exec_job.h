/* exec_job: one attempt at a command, run to its end with its streams: for who runs hundreds at
 * once in one loop, and for sessions. Everything is told from the loop, never inside the call that
 * asked; nothing waits in a call but exec_job_free(). Who uses it ignores SIGPIPE. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "exec/exec.h"

struct exec_job;

enum exec_stream { EXEC_STDOUT, EXEC_STDERR, EXEC_MERGED, EXEC_STREAMS };
enum exec_job_io {
	EXEC_JOB_PIPES,    /* one each: MERGED has them in the order in which they were read */
	EXEC_JOB_ONE_PIPE, /* 2 is 1: all comes as STDOUT, in the order in which it was written */
	EXEC_JOB_PTY       /* 0–2 are a terminal of the command's own: all comes as STDOUT */
};

/* What is 0 is the default, in brackets. */
struct exec_job_config {
	enum exec_job_io io;
	struct exec_size size;     /* PTY [24 × 80] */
	bool has_input;            /* 0 is a pipe for exec_job_write(), else /dev/null */
	size_t input_max;          /* bytes that wait to be read by the command [64 KiB] */
	int64_t limit_ms;          /* of running time, see exec_job_pause_clock() [no limit] */
	int64_t grace_ms;          /* between SIGTERM and SIGKILL [2000] */
	size_t head_max, tail_max; /* kept of each stream and of MERGED [64 KiB each] */
	unsigned int events_max;   /* on_output calls [10000] */
	uint64_t event_bytes_max;  /* and their bytes [1 MiB] */
	size_t unread_max;         /* for exec_job_poll() [0: not polled] */
	size_t window; /* back-pressure: nothing is read from the command while so many bytes are
			  neither consumed nor polled; more are never held [0: none] */
	const char *spill_dir;  /* ours, mode 0700, and hidden from the command; copied */
	const char *spill_name; /* files are NAME.stdout, … [no name]; copied */
	unsigned int spill;     /* BIT(EXEC_STDOUT)…: these go whole into a file once they
				   are more than is kept */
	uint64_t spill_max;     /* bytes a file [64 MiB] */
};

enum exec_job_end {
	EXEC_JOB_EXITED,      /* .code */
	EXEC_JOB_SIGNALLED,   /* not by us; .code 128 + signal */
	EXEC_JOB_TIMED_OUT,   /* .code 124 */
	EXEC_JOB_CANCELLED,   /* .code as it ended, if it did so by itself; else 137 */
	EXEC_JOB_INTERRUPTED, /* it died of exec_job_interrupt(); .code 130 */
	EXEC_JOB_DENIED,      /* stopped because something was refused to it; .code the same */
	EXEC_JOB_NOT_STARTED, /* .code 127 (not found), 126 (not executable) or 125 (no sandbox) */
	EXEC_JOB_KILLED       /* from outside, or with the sandbox; .code 137 */
};
struct exec_job_result {
	enum exec_job_end end;
	int code;               /* as a shell says it: 0 only when it exited so */
	struct exec_result raw; /* what became of the process whatever it was stopped for */
	char why[512];        /* for people: NOT_STARTED, KILLED, and what was given with a stop */
	bool was_interrupted; /* exec_job_interrupt() reached it, even if it went on */
	bool is_cut; /* a stranger still held a pipe of its: what it writes is not awaited */
	int64_t running_ms, total_ms; /* without and with the time the clock was paused */
};

/* @bytes are borrowed. @dropped: the one last event of a job that had more than events_max or
 * event_bytes_max: so many bytes came without an event (len is 0). */
struct exec_output {
	enum exec_stream stream; /* never MERGED */
	uint64_t offset;         /* in its stream */
	const char *bytes;
	size_t len;
	uint64_t dropped;
};
struct exec_job_events {
	exec_egress_fn on_egress; /* needed */
	/* Once, after all output and the answer to a poll. NULL is fine for these. */
	void (*on_end)(struct exec_job *job, const struct exec_job_result *result, void *arg);
	void (*on_output)(struct exec_job *job, const struct exec_output *output, void *arg);
	/* exec_job_write() had no room: there is some now. */
	void (*on_room)(struct exec_job *job, void *arg);
};

/* Returned owned; keeps @loop, @events and @arg, borrows @config. Every callback may free it. */
struct exec_job *exec_job_new(struct loop *loop, const struct exec_job_config *config,
			      const struct exec_job_events *events, void *arg);
/* Once. Borrows @plan, whose stdio, pty and on_pty are the job's; on_refused and on_program get
 * exec_job_new()'s @arg. What fails comes as NOT_STARTED. */
void exec_job_start(struct exec_job *job, const struct exec_plan_config *plan);
/* Kills what is left and waits for it, unless on_end() was told. No callback any more; from inside
 * one, what has to go goes when it returns, or in the next turn of the loop. NULL is fine. */
void exec_job_free(struct exec_job *job);

/* The end by degrees: SIGTERM to the process group, the grace, and then nothing is left. @end:
 * CANCELLED, DENIED or TIMED_OUT, with words. Before the start: it never starts. The first reason
 * counts. 0, or -ESRCH: it has ended, nothing changes. */
int exec_job_stop(struct exec_job *job, enum exec_job_end end, const char *why);
int exec_job_kill(struct exec_job *job, enum exec_job_end end, const char *why); /* no grace */
/* SIGINT to the process group (in a PTY: the one in front), as soon as there is one. -EAGAIN:
 * before exec_job_start(); -ESRCH. */
int exec_job_interrupt(struct exec_job *job);
int exec_job_signal(struct exec_job *job, int signal); /* any other; as exec_job_interrupt() */

/* While a question about it is open its time limit and the wait of a poll stand still. Counted:
 * as many resumes as pauses. Time that the machine is suspended is no running time
 * (CLOCK_MONOTONIC). */
void exec_job_pause_clock(struct exec_job *job);
void exec_job_resume_clock(struct exec_job *job);
/* For exec_program_answer(); borrowed for this turn of the loop. NULL: nothing runs. */
struct exec *exec_job_exec(const struct exec_job *job);

/* How many bytes were taken (there is a copy), at least 1 of @len ≥ 1; -EAGAIN: no room, see
 * on_room; -EPIPE: nobody reads, or input is closed. */
ssize_t exec_job_write(struct exec_job *job, const void *bytes, size_t len);
/* End of file, after what was written. In a PTY: its end-of-file key, which means that only where
 * the command reads lines. */
void exec_job_close_input(struct exec_job *job);
/* -ENOTTY: no PTY; -ESRCH. */
int exec_job_resize(struct exec_job *job, struct exec_size size);
/* The consumer of on_output is done with @bytes of it. See window. */
void exec_job_consumed(struct exec_job *job, size_t bytes);

/* @bytes are borrowed: what came since the last poll, of all streams, in order of arrival.
 * @dropped: bytes that came before them and were too many. @result: NULL, or it has ended and this
 * is the rest. */
struct exec_poll {
	const char *bytes;
	size_t len;
	uint64_t dropped;
	const struct exec_job_result *result;
};
typedef void (*exec_poll_fn)(struct exec_job *job, const struct exec_poll *poll, void *arg);
/* Calls @done, once, when it has ended, when @wait_ms of running time have passed or when
 * @max_bytes (0: as many as are kept) are there. -EBUSY: another poll waits; -EINVAL: not polled.
 */
int exec_job_poll(struct exec_job *job, int64_t wait_ms, size_t max_bytes, exec_poll_fn done,
		  void *arg);
void exec_job_poll_withdraw(struct exec_job *job); /* what came stays for the next */

/* What is kept of a stream: @head, @omitted bytes that are not, @tail; no character of UTF-8 is cut
 * by that. Borrowed until the loop runs on. @spill: the file with all of it, -1: none;
 * @spill_error: it is not whole, of @spill_bytes bytes (-EFBIG: spill_max). */
struct exec_kept {
	const char *head, *tail;
	size_t head_len, tail_len;
	uint64_t omitted;
	int spill, spill_error;
	uint64_t spill_bytes;
};
void exec_job_kept(struct exec_job *job, enum exec_stream stream, struct exec_kept *ret);
/* Head, one line that says how much is left out, and tail; *@ret_len may hold NULs. Owned. */
char *exec_job_text(struct exec_job *job, enum exec_stream stream, size_t *ret_len);
const struct exec_job_result *exec_job_result(const struct exec_job *job); /* NULL: not ended */
