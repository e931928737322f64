/* ask: a question about an audit log that its index answers. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct err;
struct gateway_logged;
struct options;
struct selection;
struct store;

/* Answers on @out, which is a buffer: if the index is damaged (-EBADMSG), it is made again, and the
 * question is asked again. An exit status, or -errno with @why. @may_repeat: false for a question
 * that prints as it goes on, and not on @out. */
typedef int (*ask_fn)(struct store *store, FILE *out, void *arg, struct err *why);
/* Opens the index of the selection's log, finds the run that began last if it was named, says which
 * lines are not records and counts them in @selection, and asks. Prints what is wrong. Returns an
 * exit status: CLI_DENIED if there are such lines. */
int ask(struct selection *selection, ask_fn question, void *arg, bool may_repeat);

/* The id of a record, "7f3a9c.120": its run, and its number in the log. Visible; returns @out. */
#define ASK_ID_MAX 96
const char *ask_id(const struct gateway_logged *record, char out[ASK_ID_MAX]);
