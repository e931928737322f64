/* report_forms: the forms of `audit report`. */
#pragma once

#include <stdint.h>
#include <stdio.h>

struct selection;

struct report_row {
	const char *key; /* visible ASCII; borrowed */
	uint64_t allowed, denied, unanswered, failed, connections, bytes_up, bytes_down;
	int64_t first_us, last_us;
};
struct report_sheet { /* all borrowed */
	FILE *out;
	const struct selection *selection;
	const char *by;
	struct report_row *const *rows; /* NULL-terminated */
};
void report_forms_text(const struct report_sheet *sheet);
void report_forms_json(const struct report_sheet *sheet);
/* A cell that a spreadsheet would take for a formula begins with an apostrophe. */
void report_forms_csv(const struct report_sheet *sheet);
/* One such cell, in quotation marks. */
void report_forms_cell(FILE *out, const char *text);
