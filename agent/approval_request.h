/* approval_request: puts a question of a session's orchestrator to the client. These are operations
 * of the orchestrator, with the session as their argument: see struct orchestrator_ops. */
#pragma once

struct orchestrator_question;

int approval_request_ask(const struct orchestrator_question *question, void *session);
void approval_request_changed(const struct orchestrator_question *question, void *session);
void approval_request_retract(const char *id, const char *why, void *session);
