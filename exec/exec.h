/* exec: one run of a command from start to end, with its streams; for callers that run hundreds in
 * one loop, and for sessions. Every event is reported from the loop, never inside the call that
 * caused it; only exec_free() waits. The caller ignores SIGPIPE. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "exec/exec_process.h"

struct exec;

enum exec_stream { EXEC_STDOUT, EXEC_STDERR, EXEC_MERGED, EXEC_STREAMS };
enum exec_io {
	EXEC_IO_PIPES,    /* one each: MERGED is in the order in which they were read */
	EXEC_IO_ONE_PIPE, /* 2 is a copy of 1: all is STDOUT, in the order of writing */
	EXEC_IO_PTY       /* 0–2 are the command's own terminal: all is STDOUT */
};

/* A field that is 0 has the default in brackets. */
struct exec_config {
	enum exec_io io;
	struct exec_size size;     /* PTY [24 × 80] */
	bool has_input;            /* 0 is a pipe for exec_write(), else /dev/null */
	size_t input_max;          /* bytes that wait to be read by the command [64 KiB] */
	int64_t limit_ms;          /* of running time, see exec_pause_clock() [no limit] */
	int64_t grace_ms;          /* between SIGTERM and SIGKILL [2000] */
	size_t head_max, tail_max; /* kept of each stream and of MERGED [64 KiB each] */
	unsigned int events_max;   /* on_output calls [10000] */
	uint64_t event_bytes_max;  /* and their bytes [1 MiB] */
	size_t unread_max;         /* bytes kept for exec_poll() [0: no polls] */
	size_t window; /* back-pressure: the command is not read from while this many bytes are
			  neither consumed nor polled; no more are ever kept [0: off] */
	const char *spill_dir;  /* owned by our user, mode 0700, hidden from the command; copied */
	const char *spill_name; /* files are NAME.stdout, … [no name]; copied */
	unsigned int spill; /* BIT(EXEC_STDOUT)…: these are written whole to a file once they exceed
			       what is kept */
	uint64_t spill_max; /* bytes per file [64 MiB] */
};

enum exec_end {
	EXEC_EXITED,      /* .code */
	EXEC_SIGNALLED,   /* not by us; .code 128 + signal */
	EXEC_TIMED_OUT,   /* .code 124 */
	EXEC_CANCELLED,   /* .code of its own exit, if it exited by itself; else 137 */
	EXEC_INTERRUPTED, /* it died of exec_interrupt(); .code 130 */
	EXEC_DENIED,      /* stopped because it was refused something; .code as for CANCELLED */
	EXEC_NOT_STARTED, /* .code 127 (not found), 126 (not executable) or 125 (no sandbox) */
	EXEC_KILLED       /* by another process, or with the sandbox; .code 137 */
};
struct exec_result {
	enum exec_end end;
	int code;                       /* as in a shell: 0 only if it exited with 0 */
	struct exec_process_result raw; /* how the process ended, whatever it was stopped for */
	char why[512]; /* for people: NOT_STARTED, KILLED, and the reason given with a stop */
	bool was_interrupted; /* exec_interrupt() reached it, even if it went on */
	bool is_cut; /* a process outside still held a pipe: its output is not waited for */
	int64_t running_ms, total_ms; /* without and with the time that the clock was paused */
};

/* @bytes are borrowed. @dropped: set in the last event of an exec that exceeded events_max or
 * event_bytes_max: this many bytes had no event (len is 0). */
struct exec_output {
	enum exec_stream stream; /* never MERGED */
	uint64_t offset;         /* in its stream */
	const char *bytes;
	size_t len;
	uint64_t dropped;
};
struct exec_events {
	exec_egress_fn on_egress; /* required */
	/* Runs once, after all output and the answer to a poll. These three may be NULL. */
	void (*on_end)(struct exec *exec, const struct exec_result *result, void *arg);
	void (*on_output)(struct exec *exec, const struct exec_output *output, void *arg);
	/* exec_write() had no room before; there is some now. */
	void (*on_room)(struct exec *exec, void *arg);
};

/* Returned owned; keeps @loop, @events and @arg, borrows @config. Every callback may free it. */
struct exec *exec_new(struct loop *loop, const struct exec_config *config,
		      const struct exec_events *events, void *arg);
/* Call it once. Borrows @plan; exec sets its stdio, pty and on_pty, and passes exec_new()'s @arg to
 * on_refused and on_program. Failures are reported as NOT_STARTED. */
void exec_start(struct exec *exec, const struct exec_plan_config *plan);
void exec_refuse(struct exec *exec, const char *why); /* instead: NOT_STARTED, 125 */
/* Kills what is left and waits for it, unless on_end() has run. No callback runs after it. Called
 * inside one, it frees the rest when that returns, or in the next turn of the loop. NULL is
 * fine. */
void exec_free(struct exec *exec);

/* Ends it in steps: SIGTERM to the process group, the grace period, then SIGKILL to all. @end:
 * CANCELLED, DENIED or TIMED_OUT, with @why. Before the start (INTERRUPTED is allowed, too) it
 * never starts. The first reason counts. 0, or -ESRCH: it had ended, nothing changes. */
int exec_stop(struct exec *exec, enum exec_end end, const char *why);
/* SIGINT to the process group (PTY: the foreground one), once it exists. -EAGAIN: not started. */
int exec_interrupt(struct exec *exec);

/* While a question about it is open, its time limit and the wait of a poll are paused. Calls are
 * counted: it takes as many resumes as pauses. Suspend of the machine is not running time
 * (CLOCK_MONOTONIC). */
void exec_pause_clock(struct exec *exec);
void exec_resume_clock(struct exec *exec);
/* The answer to on_program(): the program runs, or it does not. -ENOENT: that question is not open;
 * -ESRCH: nothing runs. */
int exec_answer(struct exec *exec, uint64_t id, bool is_allowed);

/* Returns how many bytes were copied, at least 1 of @len ≥ 1; -EAGAIN: no room, see on_room;
 * -EPIPE: nothing reads, or input is closed. */
ssize_t exec_write(struct exec *exec, const void *bytes, size_t len);
/* End of file, after what was written. In a PTY it is the end-of-file character, which works only
 * if the command reads in line mode. */
void exec_close_input(struct exec *exec);
/* -ENOTTY: no PTY; -ESRCH. */
int exec_resize(struct exec *exec, struct exec_size size);
/* The consumer has finished with @bytes of on_output. See window. */
void exec_consumed(struct exec *exec, size_t bytes);

/* @bytes are borrowed: what came since the last poll, of all streams, in order of arrival.
 * @dropped: bytes before them that exceeded the limit. @result: NULL, or it has ended and this is
 * the rest. */
struct exec_poll {
	const char *bytes;
	size_t len;
	uint64_t dropped;
	const struct exec_result *result;
};
typedef void (*exec_poll_fn)(struct exec *exec, const struct exec_poll *poll, void *arg);
/* Calls @done once: when it has ended, when @wait_ms of running time have passed, or when
 * @max_bytes (0: as many as are kept) are there. -EBUSY: another poll waits; -EINVAL: no polls. */
int exec_poll(struct exec *exec, int64_t wait_ms, size_t max_bytes, exec_poll_fn done, void *arg);
void exec_poll_withdraw(struct exec *exec); /* the bytes stay for the next poll */

/* What is kept of a stream: @head, then @omitted bytes that were dropped, then @tail; no UTF-8
 * character is split. Borrowed until the loop continues. @spill: the file with all of it, -1: none;
 * @spill_error: the file is incomplete, with @spill_bytes bytes (-EFBIG: spill_max). */
struct exec_kept {
	const char *head, *tail;
	size_t head_len, tail_len;
	uint64_t omitted;
	int spill, spill_error;
	uint64_t spill_bytes;
};
void exec_kept(struct exec *exec, enum exec_stream stream, struct exec_kept *ret);
/* Head, a line that says how much is omitted, and tail; *@ret_len may count NULs. Owned. */
char *exec_text(struct exec *exec, enum exec_stream stream, size_t *ret_len);
