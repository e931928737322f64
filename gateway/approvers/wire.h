/* wire: helpers for approvers that send JSON over a descriptor. Private to this folder. */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct approver_agent_question;

/* The first @max_bytes of @text (NULL is ""), returned owned, or NULL out of memory. Bytes that are
 * not UTF-8 are written as \xNN. */
json_t *wire_text(const char *text, size_t max_bytes);
/* The names of @risk, bits of enum approver_risk, as in every protocol. Returned like
 * wire_text(). */
json_t *wire_risks(unsigned int risk);
/* The inverse. An unknown name counts as a risk too. */
unsigned int wire_risks_read(const json_t *risks);
/* A question that is not about a destination: its id, kind, lines, choices and what must be typed.
 * Returned owned; NULL: out of memory. */
json_t *wire_agent(const struct approver_agent_question *question);
/* The inverse of its choices, as enum gateway_agent_choice. An unknown name is no choice. */
unsigned int wire_choices_read(const json_t *choices);
