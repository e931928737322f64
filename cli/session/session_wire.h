/* session_wire: the messages between a session's holder and its runs. Private to session*.c and
 * run_join*.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/frame.h"
#include "gateway/gateway_agent.h"
#include "gateway/gateway_note.h"
#include "gateway/gateway_tools.h"

struct bundle;
struct err;

#define SESSION_VERSION     7
#define SESSION_NAME_MAX    32
#define SESSION_WAIT_MS     10000 /* for a holder to reply, or to start */
#define SESSION_COMMAND_MAX 1024  /* bytes of a command in a frame */

/* Frame types. The first frame in each direction is SESSION_HELLO, and both ends must be the same
 * program. */
enum session_frame {
	SESSION_HELLO = 1,
	/* sent to the holder */
	SESSION_JOIN,    /* → TERMS or REFUSED */
	SESSION_BEGIN,   /* the command + its argv, the paths it may write */
	SESSION_WORKER,  /* + the link to the worker; another one follows after LOST */
	SESSION_WAY,     /* + the descriptors that the exec provides */
	SESSION_PROGRAM, /* a program that the command was not allowed to execute */
	SESSION_NOTE,    /* an enum gateway_note */
	SESSION_ENDED,   /* the exec's status → TRIP… OVER */
	SESSION_LOOK,    /* → STATE */
	SESSION_STOP,    /* the session must end → the link closes when it has ended */
	/* sent to the run */
	SESSION_TERMS,
	SESSION_REFUSED, /* the reason */
	SESSION_KILL,    /* enum session_kill: end the command */
	SESSION_LOST,    /* the worker's link closed, 1: because it broke its protocol */
	SESSION_TRIP,    /* one destination */
	SESSION_OVER,    /* other destinations; the last frame; + unanswered questions */
	SESSION_STATE,
};
enum session_kill { SESSION_BY_PERSON, SESSION_BY_WORKER, SESSION_BY_END, SESSION_KILLS };

void session_wire_hello(struct frame *frame);
int session_wire_check_hello(struct frame *frame, struct err *why);

/* A list of strings is sent in a sealed memory file. Both return 0 or -errno; @ret is returned
 * owned. */
int session_wire_pack(const char *const *list, struct err *why); /* a descriptor */
int session_wire_unpack(int fd, char ***ret, struct err *why);   /* takes @fd */

/* What a run sends at its start. */
struct session_begin {
	char command[SESSION_COMMAND_MAX];
	bool wants_bundle;       /* of unanswered questions */
	bool is_impatient;       /* deny questions at once */
	char **argv, **writable; /* owned */
};
/* As session_wire_put_terms() and session_wire_get_terms(). */
enum { SESSION_BEGIN_LISTS = 2 };
int session_wire_put_begin(struct frame *frame, const struct session_begin *begin, int *ret_fds,
			   struct err *why);
int session_wire_get_begin(struct frame *frame, int *fds, size_t count, struct session_begin *ret,
			   struct err *why);
void session_wire_free_begin(struct session_begin *begin);

/* The unanswered questions, as a descriptor; unpacking adds them to @into. */
int session_bundle_pack(const struct bundle *bundle, struct err *why);
int session_bundle_unpack(int fd, struct bundle *into, struct err *why); /* takes @fd */

/* What a run must know of the session that it joins. */
enum session_fact {
	SESSION_ID,     /* of the session's run in records, and in the ids of questions */
	SESSION_DIGEST, /* of the policy in force */
	SESSION_USER,   /* where the policy is from: see struct policy_layers; "": NULL */
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
	uint16_t metrics_port; /* 0: none */
	/* Owned. The facts; --policy; the project's files; paths that no command may change; files
	 * that must not lie in a writable folder; paths that no command may see. */
	union {
		char **lists[SESSION_LISTS];
		struct {
			char **facts, **arguments, **projects, **guarded, **programs, **hidden;
		};
	};
};
/* @ret_fds[SESSION_LISTS]: must be sent with the frame. */
int session_wire_put_terms(struct frame *frame, const struct session_terms *terms, int *ret_fds,
			   struct err *why);
/* Takes @fds; free the result in every case. */
int session_wire_get_terms(struct frame *frame, int *fds, size_t count, struct session_terms *ret,
			   struct err *why);
void session_wire_free_terms(struct session_terms *terms);

void session_wire_put_trip(struct frame *frame, enum session_frame type,
			   const struct gateway_trip *trip);
/* gateway_trip_done() frees its texts. */
int session_wire_get_trip(struct frame *frame, struct gateway_trip *ret);

/* A refused program as it is sent. */
struct session_refused {
	char path[4096], command[SESSION_COMMAND_MAX], rule[POLICY_TEXT_MAX],
		because[POLICY_TEXT_MAX];
};
void session_wire_put_refused(struct frame *frame, const struct gateway_refused *refused);
int session_wire_get_refused(struct frame *frame, struct session_refused *text,
			     struct gateway_refused *ret);

struct session_note {
	enum gateway_note what;
	char path[4096], words[POLICY_TEXT_MAX]; /* may be truncated */
};
void session_wire_put_note(struct frame *frame, enum gateway_note what, const char *path,
			   const char *words);
int session_wire_get_note(struct frame *frame, struct session_note *ret);

/* What `session list` shows. */
#define SESSION_ERRORS_MAX 1024
struct session_state {
	char id[16], cwd[4096];
	char grants_of[SESSION_NAME_MAX + 1]; /* the session whose grants it began with; "": none */
	char errors[SESSION_ERRORS_MAX];      /* of a changed policy that is not in force; or "" */
	int64_t since_s;
	uint32_t runs, questions, grants;
};
void session_wire_put_state(struct frame *frame, const struct session_state *state);
int session_wire_get_state(struct frame *frame, struct session_state *ret);

/* Waits on @socket for one frame of type @type. -errno with @why, which has the reason of a
 * REFUSED. The descriptors are returned owned in @ret_fds[FD_PASS_MAX]. */
int session_wire_expect(int socket, enum session_frame type, struct frame *ret, int *ret_fds,
			size_t *ret_count, struct err *why);
/* As frame_link_send_on(), for a frame without contents. */
int session_wire_say(int socket, enum session_frame type);
