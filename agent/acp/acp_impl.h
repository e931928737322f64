/* acp: what its files share: acp.c has the channels and the end, acp_editor.c the messages of the
 * editor, acp_agent.c those of the program, acp_program.c its streams, acp_ask.c the questions,
 * acp_terminal.c the terminals, acp_shown.c how the editor shows these. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "agent/agent_acp.h"
#include "agent/rpc/rpc.h"
#include "base/loop.h"

struct evbuffer;

#define ACP_VERSION       1          /* of the protocol */
#define ACP_LINE_MAX      (4U << 20) /* bytes of a message of either side */
#define ACP_EVENT_MAX     (2U << 20) /* and of the server, fully escaped */
#define ACP_ASKS_MAX      256
#define ACP_TERMINALS_MAX 64
#define ACP_WAITERS_MAX   16
#define ACP_OUTPUT_MAX    (1U << 20)  /* bytes that are kept of a terminal */
#define ACP_SHOWN_BYTES   4096        /* of a command, and of the output that an editor is shown */
#define ACP_UPDATE_MAX    (64U << 10) /* bytes of an update that is sent again */
#define ACP_SESSION_MAX   256         /* bytes of a session's id */
#define ACP_LEAVE_MS      10000       /* for the program to end after its input has ended */
#define ACP_WARNINGS_MAX  64          /* lines on stderr */
#define ACP_ID_MAX        40
#define ACP_OWN           "sallyport:" /* the begin of our ids, which the program cannot use */
#define ACP_HELLO         "hello"
#define ACP_SESSION       "acp"
#define ACP_PROGRAM       "program"
#define ACP_INPUT         "input"
#define ACP_ANSWER        'q' /* the first letter of the id of an answer, */
#define ACP_TERMINAL      't' /* of a terminal's command, */
#define ACP_KILL          'k' /* and of what ends it */

/* The program and its streams. */
struct acp_program {
	struct evbuffer *output, *errors; /* of it, on their way */
	struct event readable, writable, errors_writable;
	char *input; /* on its way to it; NULL: none */
	size_t input_len, input_at;
	uint64_t exec;  /* 0: not started */
	bool can_write; /* it runs */
	bool is_deaf;   /* it takes no more input */
	bool is_writing, has_sent_end, has_ended, is_errors_file;
	struct loop_timer again, late;
};

/* A question, until it is settled. */
struct acp_ask {
	char id[ACP_ID_MAX]; /* of our request to the editor, and of the tool call that it shows */
	char answer[ACP_ID_MAX];         /* of our answer to the server; "": none was given */
	char *approval, *kind, *session; /* session: NULL: it was not shown yet */
	const char *decision;            /* given; NULL: none; borrowed from offered */
	json_t *event, *offered;
	bool was_answered; /* the editor has replied */
	bool is_long;      /* it cannot be shown to the editor */
	LIST_ENTRY(acp_ask) entry;
};

struct acp_terminal {
	char id[ACP_ID_MAX]; /* of its exec; and its name for the program */
	char *line;          /* the command, visible */
	json_t *create;      /* the request that was not replied to yet */
	json_t *waiters;     /* ids of requests that wait for its end */
	json_t *end;         /* its exit status; NULL: it runs */
	uint64_t exec;
	bool is_released, must_end;
	bool is_in_message; /* the message that is being replaced shows it */
	json_t *shown;      /* the update of a tool call that shows it while it runs; NULL: none */
	char *output;
	size_t len, room, limit;
	bool is_cut;
	LIST_ENTRY(acp_terminal) entry;
};

struct acp {
	struct acp_config config;
	struct rpc *front, *inner, *back; /* of the editor, the program, the server */
	struct acp_program program;
	char *session;   /* the latest that the editor uses; NULL: none */
	json_t *making;  /* the id of its latest request for a new one; NULL: none is open */
	char *refused;   /* why there is no session of the server; NULL: there is one */
	bool is_leaving; /* the editor has closed its end */
	bool is_over;
	int status;
	unsigned int warnings;
	uint64_t last_id;
	LIST_HEAD(, acp_ask) asks;
	LIST_HEAD(, acp_terminal) terminals;
	size_t ask_count, terminal_count; /* without those that are released and have ended */
};

/* Sends a request to the server; takes @params. False: it is longer than the server accepts. */
bool acp_tell(struct acp *acp, const char *method, const char *id, json_t *params);
void acp_make_id(struct acp *acp, const char *prefix, char ret[ACP_ID_MAX]);
/* Is it an id that only we make? */
bool acp_is_own(const json_t *id);
/* A line on stderr; after ACP_WARNINGS_MAX of them no more follow. */
void acp_warn(struct acp *acp, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* @is_patient: what waits for the editor is written before the server is told. */
void acp_end(struct acp *acp, bool is_patient);

void acp_editor_said(const struct rpc_message *message, void *acp);
/* The editor uses this session now; NULL: none. */
void acp_editor_session(struct acp *acp, const char *session);
void acp_agent_said(const struct rpc_message *message, void *acp);

void acp_program_init(struct acp *acp);
void acp_program_done(struct acp *acp);
void acp_program_event(struct acp *acp, const char *event, const json_t *params);
void acp_program_replied(struct acp *acp, const json_t *result, const json_t *error);
void acp_program_took(struct acp *acp, const json_t *result);
/* The editor has closed its end: so the program's input ends, and it has a time to end. */
void acp_program_leave(struct acp *acp);
/* The bytes of an event of the server: owned, *@ret_len of them. */
char *acp_program_bytes(const json_t *event, size_t *ret_len);

void acp_ask_begin(struct acp *acp, const json_t *event);
void acp_ask_resolved(struct acp *acp, const json_t *event);
/* Questions that were not shown yet are shown in the session. */
void acp_ask_show_all(struct acp *acp);
/* The editor's response to our request @id. */
void acp_ask_answered(struct acp *acp, const char *id, const json_t *result);
/* The server's reply to our answer @id; NULL @result: it was refused. */
void acp_ask_replied(struct acp *acp, const char *id, const json_t *result, const json_t *error);
void acp_ask_free_all(struct acp *acp);

/* A request terminal/@what of the program. */
void acp_terminal_request(struct acp *acp, const char *what, const json_t *request,
			  const json_t *params);
/* About the command with the id @id. */
void acp_terminal_event(struct acp *acp, const char *id, const char *event, const json_t *params);
void acp_terminal_replied(struct acp *acp, const char *id, const json_t *result,
			  const json_t *error);
/* NULL: there is none, or it was forgotten since its release. */
struct acp_terminal *acp_terminal_find(struct acp *acp, const char *id);
void acp_terminal_free_all(struct acp *acp);

/* Replaces the terminals in the message @whole, which the program sends to the editor, by text: the
 * editor does not know them. */
void acp_shown_replace(struct acp *acp, json_t *whole);
/* A list of one content: Markdown that shows exactly @text. Owned. */
json_t *acp_shown_block(const char *text);
/* It has ended: what shows it is sent again, with its output. */
void acp_shown_end(struct acp *acp, struct acp_terminal *terminal);
