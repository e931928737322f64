/* session: a gate that several runs share. Its process (the holder) has the policy, the questions,
 * the grants and the records; each run has its sandbox and its worker, and joins over a socket.
 * Private to session*.c and run_join*.c. docs/decisions/0120 says why. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/frame.h"
#include "gateway/gateway_agent.h"
#include "gateway/gateway_tools.h"

struct err;

#define SESSION_VERSION     2
#define SESSION_NAME_MAX    32
#define SESSION_WAIT_MS     10000 /* for a holder to say something, or to begin */
#define SESSION_COMMAND_MAX 1024  /* bytes of a command in a frame */

/* Names a socket, so: letters, digits, _ . and -, and none of the last two in front. */
bool session_place_is_name(const char *name);

/* The folder of control sockets, which no sandbox sees: session_place_open() fills it, and done()
 * closes. Texts are owned. */
struct session_place {
	int dir_fd;
	char *dir, *name;
};
#define SESSION_NOWHERE ((struct session_place){ .dir_fd = -1 })
int session_place_open(const char *name, struct session_place *ret, struct err *why);
void session_place_done(struct session_place *place);
/* Names that have a socket there; returned owned. */
int session_place_list(const struct session_place *place, char ***ret_names, struct err *why);
/* Who has the lock holds the session, until it dies: a descriptor, or -EBUSY. */
int session_place_lock(const struct session_place *place, struct err *why);
/* Is there a holder? Its pid, or 0. */
pid_t session_place_holder(const struct session_place *place);
/* A listening socket, moved into place when it listens; what a dead holder left is replaced. Only
 * with the lock. */
int session_place_bind(const struct session_place *place, struct err *why);
/* The one that a service manager made and handed over, if it is the one for here: else -errno.
 * *@ret -1: none was. */
int session_place_given(const struct session_place *place, int *ret, struct err *why);
void session_place_unbind(const struct session_place *place);
/* Connected to the holder, who is ours, and greeted both ways; waits are limited. -ENOENT: nobody
 * holds it. */
int session_place_connect(const struct session_place *place, struct err *why);

/* Frames. The first either way is SESSION_HELLO: both ends are the same program. */
enum session_frame {
	SESSION_HELLO = 1,
	/* to the holder */
	SESSION_JOIN,    /* → TERMS or REFUSED */
	SESSION_BEGIN,   /* the command + its argv, what it may write */
	SESSION_WORKER,  /* + the link to the worker */
	SESSION_WAY,     /* + what the exec hands out */
	SESSION_PROGRAM, /* one that the command was not let execute */
	SESSION_ENDED,   /* the exec's status → TRIP… OVER */
	SESSION_LOOK,    /* → STATE */
	SESSION_STOP,    /* the session is to end → the link closes when it has */
	/* to the run */
	SESSION_TERMS,
	SESSION_REFUSED, /* words */
	SESSION_KILL,    /* enum session_kill: end the command */
	SESSION_TRIP,    /* one destination */
	SESSION_OVER,    /* the others, and that was it */
	SESSION_STATE,
};
enum session_kill { SESSION_BY_PERSON, SESSION_BY_WORKER, SESSION_BY_END, SESSION_KILLS };

void session_wire_hello(struct frame *frame);
int session_wire_check_hello(struct frame *frame, struct err *why);

/* A list of texts goes in a sealed memory file. Both return 0 or -errno; @ret is returned owned. */
int session_wire_pack(const char *const *list, struct err *why); /* a descriptor */
int session_wire_unpack(int fd, char ***ret, struct err *why);   /* takes @fd */

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

/* What the text of one is in. */
struct session_refused {
	char path[4096], command[SESSION_COMMAND_MAX], rule[POLICY_TEXT_MAX],
		because[POLICY_TEXT_MAX];
};
void session_wire_put_refused(struct frame *frame, const struct gateway_refused *refused);
int session_wire_get_refused(struct frame *frame, struct session_refused *text,
			     struct gateway_refused *ret);

/* What `session list` shows. */
struct session_state {
	char id[16], cwd[4096];
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
