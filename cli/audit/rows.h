/* rows: records in the forms of `audit query`. */
#pragma once

#include <stdio.h>

#include "cli/audit/store/store.h"

struct gateway_logged;

enum rows_form { ROWS_TABLE, ROWS_JSON, ROWS_CSV, ROWS_OCSF };

/* Columns of the terminal on standard output; 0: it is none, and no line is cut. */
unsigned int rows_width(void);

/* The destination of a record, or what else it is about. Returned owned; not visible text. */
char *rows_what(const struct gateway_logged *record);

struct rows {
	struct store *store;
	FILE *out;
	enum rows_form form;
	unsigned int width;
	struct err *why;
};
void rows_head(const struct rows *rows);
/* 0, or -errno with @why. JSON is the line of the log; OCSF leaves out what is not about a
 * destination. */
int rows_put(const struct gateway_logged *record, enum store_verdict verdict, void *rows);
