/* gateway_approver: what an approver is shown, may answer, and is told about the end of a question:
 * for the approvers here, and for a program that answers in its own process (gateway_agent.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "gateway/gateway.h"

struct approver_agent_question;

#define APPROVER_ID_MAX       24 /* "7f3a-12" */
#define APPROVER_COMMANDS_MAX 8
#define APPROVER_KEY_MAX      640 /* of gateway_answer_text() */

/* What a person is warned of. Bits. gateway_typed_because() says when one key is not enough. */
enum approver_risk {
	APPROVER_FIRST_SEEN = 1 << 0, /* no name of its registrable domain was ever allowed */
	APPROVER_LOOKALIKE = 1 << 1,  /* other letters, or one letter off */
	APPROVER_LITERAL = 1 << 2,    /* an address, not a name */
	APPROVER_RAW_TCP = 1 << 3,    /* any bytes: no protocol is enforced */
	APPROVER_LISTED = 1 << 4,     /* a host for pastes, tunnels, request bins or DoH */
	APPROVER_PAINTED = 1 << 5,    /* the command can write to the terminal that shows it */
	/* For these the domain has to be typed, whatever the answer's scope. */
	APPROVER_REAL_RISKS =
		APPROVER_LOOKALIKE | APPROVER_LITERAL | APPROVER_LISTED | APPROVER_PAINTED,
};

/* Borrowed for the call. What is shown is exactly what is granted: @dst is the key. */
struct approver_question {
	char id[APPROVER_ID_MAX];
	uint64_t serial; /* rises with each question; never used again */
	struct policy_destination dst;
	unsigned int waiting;                        /* connections */
	unsigned int command_count;                  /* may exceed what @commands holds */
	const char *commands[APPROVER_COMMANDS_MAX]; /* visible text */
	uint64_t execs[APPROVER_COMMANDS_MAX];       /* their execs; 0: after the last */
	const char *rule;                            /* why policy asks: "FILE:LINE: …" or "" */
	const char *because;
	int64_t age_ms, left_ms; /* since it was asked; until the deadline */
	bool is_private;         /* the host is a private address literal */
	unsigned int risk;       /* enum approver_risk */
	bool is_shared;          /* several commands may share the session: exec is less than it */
	bool is_touched;         /* a person is answering it: gateway_touch() */
	unsigned int times;      /* it was asked recently; more than 1: unanswered before */
	const char *warning;     /* the risks in words, visible text, or "" */
	/* What must be typed where gateway_typed_because() says so: the registrable domain, or the
	 * address. Never "". Questions with the same @typed may share a screen. */
	char typed[POLICY_HOST_MAX];
	/* The purpose as the command states it, visible text, or "". A claim: it may lie. */
	const char *plea;
	const char *program; /* that asked first: path, visible text, or "": not known */
	const char *chain;   /* its parents: "npm ci > node > sh", visible text, or "" */
	/* It came from one of several gateways: its id, and its @session ("": no name), tell them
	 * apart. */
	bool is_watched;
	const char *session;
	/* It is not about a destination: only its id, @typed and times are set. NULL: it is. */
	const struct approver_agent_question *agent;
};

/* What an answer covers when that is not exactly the question's destination. Zero: exactly that. It
 * is not valid in an answer for once, which is only about the requests that wait. */
struct approver_width {
	bool is_domain;      /* the registrable domain and every name below it */
	bool is_every_port;  /* of the protocol */
	bool is_program;     /* only for the program that asked first */
	int64_t for_s;       /* 0: as long as the scope lasts */
	uint64_t upload_max; /* bytes over all its connections; 0: no limit */
	uint64_t download_max;
	uint32_t connections_max;
};

struct approver_answer {
	enum policy_action action; /* allow or deny */
	enum gateway_scope scope;
	bool is_abort;  /* deny, and end the commands that wait */
	const char *by; /* "ana on tty"; borrowed */
	const char
		*words; /* to the requester, in denials and records; NULL or "": none. Borrowed */
	struct approver_width width;
	bool is_review; /* a program answered, not a person: for once, without a width */
	bool is_nobody; /* a denial without a question, for once: not a person's answer */
	/* What the person was shown, as returned by gateway_answer_text(): if the stored text would
	 * differ, nothing is stored (-ESTALE). NULL: nothing was shown. Borrowed. */
	const char *shown;
	const char *typed; /* by that person, to allow despite a warning; or NULL. Borrowed */
};

/* Why a person has to type @question->typed to give @answer; borrowed, visible text. NULL: one key
 * is enough: it is a denial, or nothing of it is a real risk. A destination that is merely new is
 * none. */
const char *gateway_typed_because(const struct approver_question *question,
				  const struct approver_answer *answer);

/* How a question ended, for an approver that shows it. Borrowed for the call. */
struct approver_end {
	const char *id;
	enum policy_action action;
	enum policy_reason reason;
	const char *by;  /* "": no approver answered */
	const char *how; /* "allowed for session by ana on tty" */
	/* A message to show even if the question is not on the screen; or NULL. */
	const struct policy_destination *dst;
	const struct policy_destination *about; /* of the question; NULL: not known */
	int64_t age_ms;                         /* how long it was open; 0: not known */
};
