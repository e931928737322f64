/* wire: the protocol of the gate and the init of a sandbox: one plan in a sealed memfd, then
 * messages of one size over a SOCK_SEQPACKET pair. It is used by both programs, so it needs no C
 * library. */
#pragma once

#include <stdint.h>

#include "exec/exec_probe.h"
#include "exec/run/wire_inner.h"
#include "exec/run/wire_limits.h"
#include "exec/run/wire_step.h"

/* The descriptors that init starts with, besides the command's own 0–2. */
#define WIRE_CONTROL_FD 3
#define WIRE_PLAN_FD    4

#define WIRE_MAGIC      0x31504153U /* "SAP1" */
#define WIRE_PLAN_MAX   (8U << 20)  /* execve accepts less than 6 MiB of argv and environment */
#define WIRE_LIST_MAX   (1U << 20)  /* strings in one list */
#define WIRE_FILES_MAX  16
#define WIRE_MOUNTS_MAX 4096
#define WIRE_DETAIL_MAX 464
#define WIRE_INTO_MAX   16 /* commands that were added to the run's own, at once */

/* The lists of strings in the plan, in this order after its head. */
enum wire_list {
	WIRE_ARGV,
	WIRE_ENV,
	WIRE_FILES,   /* pairs: canonical path inside a fresh directory, text of a new file there */
	WIRE_PROGRAM, /* empty, or the path of the file to execute: see WIRE_HAS_PROGRAM */
	WIRE_MOUNTS,  /* an enum wire_mount, then a canonical path; outer before inner */
	WIRE_LINKS,   /* pairs of canonical paths: a symbolic link of an empty root, its target */
	WIRE_CACHED,  /* pairs of canonical paths: a WIRE_CACHE mount, the folder that is mounted */
	WIRE_GRANTED, /* an enum wire_grant, then a path: sockets of others that may be reached */
	WIRE_SOCKETS, /* canonical paths of the host's sockets: covered by an empty file; one that
			 no longer exists is not an error */
	WIRE_COVERED, /* canonical paths: must stay mounts, or everything is killed */
	WIRE_FOLDERS, /* folders in which the names on the way to these are watched */
	WIRE_ABSENT,  /* canonical paths: if one appears, everything is killed */
	WIRE_INSTEAD, /* pairs of canonical paths: one of WIRE_FILES, the file that it replaces */
	WIRE_BAITS,   /* an enum wire_bait, then text: what the probe tries to reach */
	WIRE_LISTS
};

/* What is done at one path. Capital letters create the path first, because its parent is empty. */
enum wire_mount {
	WIRE_FRESH_TMP = 't',   /* a new empty directory, for all users (1777) */
	WIRE_FRESH = 'f',       /* (0755) */
	WIRE_HIDE = 'd',        /* covered by something empty that cannot be opened */
	WIRE_HIDE_AROUND = 'x', /* the same, but what is attached inside can be reached */
	WIRE_PIN = 'p',  /* mounted on itself so that its contents cannot be moved by a rename */
	WIRE_KEEP = 'k', /* mounted on itself, read-only */
	WIRE_READ = 'r', /* the host's file or directory, read-only */
	WIRE_READ_NEW = 'R',
	WIRE_WRITE = 'w', /* writable */
	WIRE_WRITE_NEW = 'W',
	WIRE_CACHE = 'c', /* another folder of the host's is mounted there, writable */
	WIRE_CACHE_NEW = 'C'
};

enum wire_grant {
	WIRE_GRANT_NAME = 'n',  /* any file there: the command cannot replace it */
	WIRE_GRANT_INODE = 'i', /* the file that is there at the start */
};

enum wire_flag {
	WIRE_TERMINAL_0 = 1, /* descriptor 0 is a terminal: it becomes the command's own pty */
	WIRE_TERMINAL_1 = 2,
	WIRE_TERMINAL_2 = 4,
	WIRE_TERMINALS = 7,
	WIRE_HAS_FILES = 8, /* one of 0–2 is a regular file: without Landlock it could be opened
			       again for writing */
	WIRE_TIMES = 16,    /* report when each stage ended */
	WIRE_DOOR = 32,     /* /run is fresh: the egress's Unix socket is made there */
	WIRE_OPEN = 64,     /* the host's tree stays writable */
	WIRE_EMPTY = 128,   /* the root is empty except for what is attached */
	WIRE_HOST_NETWORK = 256,   /* no network namespace, so no egress descriptors */
	WIRE_UNCONFINED = 512,     /* no namespace at all: only supervised */
	WIRE_HAS_PROGRAM = 1024,   /* execute exactly this file */
	WIRE_TELL_REFUSED = 2048,  /* report what is or may be refused, ends of processes, */
	WIRE_TELL_READS = 4096,    /* files opened for reading, too, */
	WIRE_TELL_PROGRAMS = 8192, /* programs before they are executed */
	WIRE_KEEPS_ABSENT = 16384, /* the command could create an absent path: that is refused */
	WIRE_TELL_BRIEF = 32768,   /* report only names created in read-only folders, and connects
				      that failed */
	WIRE_TELLS = 47104,
	WIRE_PROBE = 65536,        /* try the ways out before the program is executed */
	WIRE_CAPTURE_UDP = 131072, /* datagrams, too, are handed to the gate */
	WIRE_FLAGS = 262143
};

/* Outside. The texts of the first three are decimal numbers. */
enum wire_bait {
	WIRE_BAIT_TCP = '4',  /* a port of the host's 127.0.0.1, */
	WIRE_BAIT_TCP6 = '6', /* and of its ::1 */
	WIRE_BAIT_GATE = 'g', /* the gate's pid, in its own namespace */
	WIRE_BAIT_ABSTRACT = 'a',
	WIRE_BAIT_CONTROL = 'c', /* the path of the control socket */
	WIRE_BAIT_FOLDER = 'f'   /* a folder that the user may write and the command may not */
};

/* Head of the plan. After it come the cwd and the lists: NUL-terminated strings, one after another,
 * nothing after them. */
struct wire_plan {
	uint32_t magic;
	uint32_t bytes; /* all of the plan, including this head */
	uint32_t uid, gid;
	uint32_t flags;
	uint32_t counts[WIRE_LISTS];
	uint64_t device, inode; /* of the program */
	struct wire_limits limits;
};

enum wire_type {
	WIRE_NO_TYPE,
	/* from init */
	WIRE_READY,       /* with the egress descriptors; @value: errno: why nothing is captured */
	WIRE_PTY,         /* with the pty's master */
	WIRE_STARTED,     /* the command's process exists */
	WIRE_FAILED,      /* @step failed with errno @value at @detail; init is gone */
	WIRE_EXEC_FAILED, /* the command's program cannot be executed: errno @value */
	WIRE_EXEC_OTHER,  /* the file there now is not the plan's program */
	WIRE_STATUS,      /* the command's raw wait status in @value */
	WIRE_STOPPED,     /* the command was stopped by signal @value */
	WIRE_LISTENER, /* with the descriptor that reports calls (WIRE_TELLS) and one to read struct
			  wire_told from, before the program is executed */
	WIRE_UNCOVERED, /* the path @detail was replaced, or (@value 1) created: all is killed */
	WIRE_MEMORY,    /* the processes use more than memory_all: all is killed */
	WIRE_TIME,      /* @step ended at @value µs since init's start */
	WIRE_PROBED,    /* with @probe; the command's process waits for WIRE_GO */
	/* to init */
	WIRE_GO,     /* execute the command's program */
	WIRE_SIGNAL, /* send signal @value to the command's process group */
	WIRE_INTO, /* start command @into; with the memfd of a plan, and its 0–2; @value: the size
		      of its pty, 65536 * rows + columns */
	WIRE_TYPES
};

struct wire_message {
	uint32_t type, step;
	int32_t value;
	uint32_t is_full;                     /* STATUS: a fresh directory was found full */
	uint64_t user_us, system_us, rss_kib; /* STATUS: of all processes; rss of the largest */
	uint64_t into; /* the added command that it is about; 0: the run's own */
	union {
		char detail[WIRE_DETAIL_MAX]; /* NUL-terminated: a path, or "" */
		struct exec_probe probe;
	};
};
