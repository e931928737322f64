/* session_wire: what a session's holder and its runs say to each other. Private to session*.c and
 * run_join*.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/frame.h"
#include "gateway/gateway_tools.h"

struct bundle;
struct err;

#define SESSION_VERSION     2
#define SESSION_NAME_MAX    32
#define SESSION_WAIT_MS     10000 /* for a holder to say something, or to begin */
#define SESSION_COMMAND_MAX 1024  /* bytes of a command in a frame */

/* Frames. The first either way is SESSION_HELLO: both ends are the same program. */
enum session_frame {
	SESSION_HELLO = 1,
	/* to the holder */
	SESSION_JOIN,   /* → TERMS or REFUSED */
	SESSION_BEGIN,  /* the command + its argv, what it may write */
	SESSION_WORKER, /* + the link to the worker */
	SESSION_WAY,    /* + what the exec hands out */
	SESSION_ENDED,  /* the exec's status → TRIP… OVER */
	SESSION_LOOK,   /* → STATE */
	SESSION_STOP,   /* the session is to end → the link closes when it has */
	/* to the run */
	SESSION_TERMS,
	SESSION_REFUSED, /* words */
	SESSION_KILL,    /* enum session_kill: end the command */
	SESSION_TRIP,    /* one destination */
	SESSION_OVER,    /* the others, and that was it; + what nobody answered, if it asked */
	SESSION_STATE,
};
enum session_kill { SESSION_BY_PERSON, SESSION_BY_WORKER, SESSION_BY_END, SESSION_KILLS };

void session_wire_hello(struct frame *frame);
int session_wire_check_hello(struct frame *frame, struct err *why);

/* A list of texts goes in a sealed memory file. Both return 0 or -errno; @ret is returned owned. */
int session_wire_pack(const char *const *list, struct err *why); /* a descriptor */
int session_wire_unpack(int fd, char ***ret, struct err *why);   /* takes @fd */

/* What a run begins with. */
struct session_begin {
	char command[SESSION_COMMAND_MAX];
	bool wants_bundle;       /* of what nobody answers */
	bool is_impatient;       /* deny that at once */
	char **argv, **writable; /* owned */
};
/* As session_wire_put_terms(), and so on. */
enum { SESSION_BEGIN_LISTS = 2 };
int session_wire_put_begin(struct frame *frame, const struct session_begin *begin, int *ret_fds,
			   struct err *why);
int session_wire_get_begin(struct frame *frame, int *fds, size_t count, struct session_begin *ret,
			   struct err *why);
void session_wire_free_begin(struct session_begin *begin);

/* Requests that nobody answered, as a descriptor; what is in it is added to @into. */
int session_bundle_pack(const struct bundle *bundle, struct err *why);
int session_bundle_unpack(int fd, struct bundle *into, struct err *why); /* takes @fd */

/* What a run has to know of the session it joins. */
enum session_fact {
	SESSION_ID,     /* of its run in records, and in the ids of questions */
	SESSION_DIGEST, /* of the policy in force */
	SESSION_USER,   /* where that is from: see struct policy_layers; "": NULL */
	SESSION_CWD,
	SESSION_STATE_DIR,
	SESSION_AUDIT,
	SESSION_AUDIT_HEAD,
	SESSION_FACTS
};
enum { SESSION_LISTS = 6 };
struct session_terms {
	uint64_t exec;
	uint16_t web_port; /* 0: no page */
	bool has_default;
	uint8_t default_action;
	int64_t start;
	/* Owned. The facts; --policy; the project's files; what no command of it may change; what
	 * must not even lie where it may write; what it may not see. */
	union {
		char **lists[SESSION_LISTS];
		struct {
			char **facts, **arguments, **projects, **guarded, **programs, **hidden;
		};
	};
};
/* @ret_fds[SESSION_LISTS]: to be sent with it. */
int session_wire_put_terms(struct frame *frame, const struct session_terms *terms, int *ret_fds,
			   struct err *why);
/* Takes @fds; free what comes back in every case. */
int session_wire_get_terms(struct frame *frame, int *fds, size_t count, struct session_terms *ret,
			   struct err *why);
void session_wire_free_terms(struct session_terms *terms);

void session_wire_put_trip(struct frame *frame, enum session_frame type,
			   const struct gateway_trip *trip);
int session_wire_get_trip(struct frame *frame, struct gateway_trip *ret);

/* What `session list` shows. */
#define SESSION_ERRORS_MAX 1024
struct session_state {
	char id[16], cwd[4096];
	char grants_of[SESSION_NAME_MAX + 1]; /* that it began with copies of; "": none */
	char errors[SESSION_ERRORS_MAX]; /* of a policy that changed, and is not in force; or "" */
	int64_t since_s;
	uint32_t runs, questions, grants;
};
void session_wire_put_state(struct frame *frame, const struct session_state *state);
int session_wire_get_state(struct frame *frame, struct session_state *ret);

/* One frame of type @type on a socket that waits, or -errno with words: also what a REFUSED says.
 * The descriptors are returned owned in @ret_fds[FD_PASS_MAX]. */
int session_wire_expect(int socket, enum session_frame type, struct frame *ret, int *ret_fds,
			size_t *ret_count, struct err *why);
/* As frame_link_send_on() of a frame without contents. */
int session_wire_say(int socket, enum session_frame type);
