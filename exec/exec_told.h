/* exec_told: what a running command reports to the caller, and asks it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A program, identified by its file and not by its name: another file at the same path is not
 * executed, but reported as EXEC_PROCESS_NOT_STARTED with 126. docs/decisions/0030. */
struct exec_program {
	const char
		*path; /* absolute; NULL: argv[0] is used, searched in PATH if it is a bare name */
	uint64_t device, inode;
	const struct exec_program *interpreter; /* on_program: of a #! script; else NULL */
};

/* What the command was refused, as reported by the part that refused it: never guessed from its
 * output. */
enum exec_refused {
	EXEC_REFUSED_WRITE,   /* a path that it may not write */
	EXEC_REFUSED_READ,    /* a path that it may not read */
	EXEC_REFUSED_SOCKET,  /* a Unix socket of the host */
	EXEC_REFUSED_CALL,    /* a system call */
	EXEC_REFUSED_PROGRAM, /* a program, by the answer to on_program */
	EXEC_REFUSED_NETWORK  /* an address outside, past the gate: the path is "ADDRESS:PORT" */
};
#define EXEC_PROGRAM_MAX 64 /* of that name; a longer one is cut */
struct exec_evidence {
	enum exec_refused what;
	int pid;             /* in the pid namespace */
	int error;           /* errno that the command got */
	const char *call;    /* "openat" */
	const char *path;    /* absolute, or ""; see NETWORK */
	const char *program; /* the name of the file that the process executes; "": not known */
};
/* Called from the loop; @evidence is borrowed. At most EXEC_EVIDENCE_MAX different ones are
 * reported; exec_process_result counts the rest, too. A refusal that the host would make without a
 * sandbox is not reported. */
#define EXEC_EVIDENCE_MAX 256
typedef void (*exec_evidence_fn)(const struct exec_evidence *evidence, void *arg);
/* Is it about a connection? */
bool exec_evidence_is_network(const struct exec_evidence *evidence);
/* For a record: "python3: connect 10.1.2.3:53: Network is unreachable". Returned owned. */
char *exec_evidence_text(const struct exec_evidence *evidence);
/* A process inside is about to execute @program, a file that is held open until the answer, with
 * @argv. Answer once with exec_process_answer(), now or later; the process waits meanwhile. */
typedef void (*exec_program_fn)(uint64_t id, const struct exec_program *program,
				const char *const *argv, const char *cwd, void *arg);

/* The probe has ended; runs once, before the command's program is executed. @probe is borrowed. */
struct exec_probe;
typedef void (*exec_probed_fn)(const struct exec_probe *probe, void *arg);

/* Something that the command has made: its path ("": none), and why it is reported, for people. */
typedef void (*exec_made_fn)(const char *path, const char *what, void *arg);
