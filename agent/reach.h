/* reach: what the gateway tells of questions on the way out, and of what the network did to each
 * command. */
#pragma once

#include <jansson.h>

struct agent;
struct approver_question;

/* Fills agent->embedded. */
void reach_init(struct agent *agent);
