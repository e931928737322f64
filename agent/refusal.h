/* refusal: what was refused to an attempt, from what refused it: for the orchestrator, and for the
 * client. */
#pragma once

#include <stdbool.h>

struct exec_evidence;
struct policy_destination;
struct trial;

void refusal_add_evidence(struct trial *trial, const struct exec_evidence *evidence);
/* @is_final: no answer can change it. @why: a reason's code. */
void refusal_add_destination(struct trial *trial, const struct policy_destination *dst,
			     bool is_final, const char *why);
void refusal_forget(struct trial *trial);
