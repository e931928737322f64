/* gateway_agent_question: shows people everywhere a question that is not about a destination: a
 * command, a patch, permissions. The program that holds the gateway (gateway_agent.h) asks it, and
 * its own client may answer it too. The first answer counts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gateway/gateway_approver.h"

/* Text of one question; more is not shown, and then it can only be denied here. */
#define GATEWAY_AGENT_TEXT_MAX 16384
/* Open at the same time; further ones are not shown. */
#define GATEWAY_AGENT_QUESTIONS_MAX 32

struct gateway_agent_line {
	const char *label; /* "command": static */
	const char *text;  /* visible text: text_visible() */
};
/* The answers that a question offers. Bits; a denial for once is always one. */
enum gateway_agent_choice {
	GATEWAY_AGENT_ONCE = 1 << 0,
	GATEWAY_AGENT_SESSION = 1 << 1,
	GATEWAY_AGENT_ALWAYS = 1 << 2,
	GATEWAY_AGENT_DENY_ALWAYS = 1 << 3,
	GATEWAY_AGENT_ABORT = 1 << 4,
};
/* Borrowed for the call, except @kind and @answer. */
struct gateway_agent_question {
	const char *kind; /* "exec", "patch", "permissions", "elicitation", "network"; "program":
			   * started by the command of a run; static */
	const struct gateway_agent_line *lines; /* all that an allow grants */
	size_t line_count;
	unsigned int choices; /* enum gateway_agent_choice */
	const char *typed;    /* what a person must type to allow it; NULL: nothing */
	int64_t left_ms;
	/* A person has answered with one of @choices; @through is static. 0: it counts, and the
	 * question is over. -ENOENT: it was answered elsewhere; -EACCES: answer->typed is not the
	 * text; -EINVAL. With @why. It must not retract the question. */
	int (*answer)(const struct approver_answer *answer, const char *through, struct err *why,
		      void *arg);
	void *arg;
};

struct gateway_agent_asked;
/* NULL: too many are open. Ends with gateway_agent_retract(), with an answer that counts, or with
 * the gateway. */
struct gateway_agent_asked *gateway_agent_ask(struct gateway *gw,
					      const struct gateway_agent_question *question);
/* @how: "was answered by the agent's client". NULL is fine. */
void gateway_agent_retract(struct gateway_agent_asked *asked, const char *how);
/* Can anybody see such questions and answer them now? */
bool gateway_agent_is_attended(const struct gateway *gw);
