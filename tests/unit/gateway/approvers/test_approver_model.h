/* test_approver_model: the screen of a terminal after the bytes that an approver writes to it. */
#pragma once

#include <stddef.h>

#define MODEL_WIDTH_MAX 160
#define MODEL_ROWS_MAX  60

struct model {
	unsigned int width, rows, x, y;
	char cells[MODEL_ROWS_MAX][MODEL_WIDTH_MAX + 1]; /* each row ends with a NUL */
};

void model_init(struct model *model, unsigned int width, unsigned int rows);
/* Text, line ends, and the sequences that an approver uses; fails at any other. */
void model_feed(struct model *model, const char *bytes);
/* The text of the last line that begins with @label, and of those that go on with it, below the
 * last title; "": none. */
const char *model_field(const struct model *model, const char *label, char *out, size_t size);
/* Row @y without the blanks at its end. */
const char *model_row(const struct model *model, unsigned int y, char out[MODEL_WIDTH_MAX + 1]);
