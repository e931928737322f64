/* notify_frames: the protocol between the gate and the process that inspects a command's calls, and
 * what both of them know about a call. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "exec/exec_told.h"

struct frame;
struct wire_told;

enum notify_frame {
	NOTIFY_START = 1, /* to the process, with the listener and the wall's socket */
	NOTIFY_ANSWER,    /* to the process */
	NOTIFY_EVIDENCE,
	NOTIFY_WORDS, /* of the next program, each with its NUL; perhaps several frames */
	NOTIFY_PROGRAM
};
#define NOTIFY_WORDS_PART 16000U /* per frame */

/* A program that the gate has to judge. Strings are borrowed. */
struct notify_program {
	uint64_t id, request; /* @request is the kernel's */
	uint32_t slot;        /* below INTERCEPT_ASKED_MAX: the previous question in it is over */
	struct exec_program program;
	const char *cwd;
	uint32_t argc;
};
void notify_frames_put_program(struct frame *frame, const struct notify_program *program);
void notify_frames_put_evidence(struct frame *frame, const struct exec_evidence *evidence);

/* Decodes a frame; @room is the storage for what it says. 0 or -EBADMSG. */
struct notify_frames_room {
	struct exec_program interpreter;
	char path[4096], interpreter_path[4096], cwd[4096], call[64], program[EXEC_PROGRAM_MAX];
};
int notify_frames_get_program(struct frame *frame, struct notify_frames_room *room,
			      struct notify_program *ret);
int notify_frames_get_evidence(struct frame *frame, struct notify_frames_room *room,
			       struct exec_evidence *ret);

/* Reads a report of the wall: 1, with the task's pidfd, owned; 0: none now; -errno: no more will
 * come. */
int notify_frames_read_told(int from, struct wire_told *ret, int *ret_pidfd);
/* The answer for a call that cannot be inspected, which allows nothing: an error, or 0 if the
 * kernel decides. */
int notify_frames_error(const struct wire_told *told, bool *ret_is_program);
