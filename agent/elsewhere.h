/* elsewhere: puts the questions that the client is asked to the other approvers of the gate too.
 * The first answer counts. */
#pragma once

struct orchestrator_question;
struct pending;

/* Shows @question, which @pending is about, to them, until pending_retract(). */
void elsewhere_ask(struct pending *pending, const struct orchestrator_question *question);
