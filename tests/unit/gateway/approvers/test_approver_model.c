#include "tests/unit/gateway/approvers/test_approver_model.h"

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODEL_TITLE  "sallyport   " /* what stood above it is old */
#define MODEL_INDENT 12             /* of what a field goes on with */

static void model_blank(struct model *model, unsigned int y, unsigned int from)
{
	memset(model->cells[y] + from, ' ', model->width - from);
	model->cells[y][model->width] = '\0';
}

void model_init(struct model *model, unsigned int width, unsigned int rows)
{
	ck_assert(width <= MODEL_WIDTH_MAX && rows <= MODEL_ROWS_MAX);
	*model = (struct model){ .width = width, .rows = rows };
	for (unsigned int y = 0; y < rows; y++)
		model_blank(model, y, 0);
}

static void model_down(struct model *model)
{
	if (model->y + 1 < model->rows) {
		model->y++;
		return;
	}
	memmove(model->cells[0], model->cells[1], (model->rows - 1) * sizeof(model->cells[0]));
	model_blank(model, model->rows - 1, 0);
}

static void model_put(struct model *model, char byte)
{
	if (model->x == model->width) { /* it wraps */
		model->x = 0;
		model_down(model);
	}
	model->cells[model->y][model->x++] = byte;
}

static void model_erase_below(struct model *model)
{
	model_blank(model, model->y, model->x < model->width ? model->x : model->width - 1);
	for (unsigned int y = model->y + 1; y < model->rows; y++)
		model_blank(model, y, 0);
}

/* ECMA-48 §8.3; what only resets modes moves nothing. Returns behind it. */
static const char *model_sequence(struct model *model, const char *at)
{
	unsigned long number;

	if (*at == '(')
		return at + 2;
	if (*at != '[')
		return at + 1; /* ST, save and restore, which enclose nothing of ours */
	number = strtoul(at + 1, NULL, 10);
	for (at++; *at && (*at < 0x40 || *at > 0x7e);)
		at++;
	switch (*at) {
	case 'A':
		model->y = number > model->y ? 0 : model->y - (unsigned int)number;
		break;
	case 'J':
		model_erase_below(model);
		break;
	case 'm':
	case 'n':
	case 'h':
	case 'l':
	case 'r':
	case 'i':
		break;
	default:
		ck_abort_msg("a sequence that the model does not know: %s", at);
	}
	return at + 1;
}

void model_feed(struct model *model, const char *bytes)
{
	while (*bytes) {
		char byte = *bytes++;

		if (byte == '\x1b')
			bytes = model_sequence(model, bytes);
		else if (byte == '\r')
			model->x = 0;
		else if (byte == '\n')
			model_down(model);
		else if (byte >= ' ')
			model_put(model, byte);
	}
}

const char *model_row(const struct model *model, unsigned int y, char out[MODEL_WIDTH_MAX + 1])
{
	size_t len = model->width;

	memcpy(out, model->cells[y], len);
	while (len > 0 && out[len - 1] == ' ')
		len--;
	out[len] = '\0';
	return out;
}

const char *model_field(const struct model *model, const char *label, char *out, size_t size)
{
	char row[MODEL_WIDTH_MAX + 1], begin[32];
	bool is_in = false;

	(void)snprintf(begin, sizeof(begin), "  %-9s ", label);
	out[0] = '\0';
	for (unsigned int y = 0; y < model->rows; y++) {
		bool is_first = strncmp(model_row(model, y, row), begin, MODEL_INDENT) == 0;

		is_in = is_first || (is_in && strspn(row, " ") >= MODEL_INDENT);
		if (is_first || strncmp(row, MODEL_TITLE, strlen(MODEL_TITLE)) == 0)
			out[0] = '\0';
		if (is_in)
			(void)snprintf(out + strlen(out), size - strlen(out), "%s",
				       row + MODEL_INDENT);
	}
	return out;
}
