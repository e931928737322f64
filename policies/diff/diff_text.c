#include <stdio.h>
#include <string.h>

#include "policies/diff/diff_impl.h"

#define TEXT_PORTS_MAX      24 /* ranges shown for one difference */
#define TEXT_EXCEPTIONS_MAX 4  /* shown; a cell may have any number */

/* Where the next piece goes, and the remaining size; a text that is too long is cut between
 * pieces. */
struct text_out {
	char *at;
	size_t left;
	size_t exceptions;
};

static void text_add(struct text_out *out, const char *piece)
{
	size_t len = strlen(piece);

	if (len + 1 > out->left)
		return;
	memcpy(out->at, piece, len + 1);
	out->at += len;
	out->left -= len;
}

/* "except A B C ..." */
static bool text_except(struct text_out *out, const char *piece)
{
	bool is_last = out->exceptions == TEXT_EXCEPTIONS_MAX;

	text_add(out, out->exceptions == 0 ? " except " : " ");
	text_add(out, is_last ? "..." : piece);
	out->exceptions++;
	return !is_last;
}

/* Is @name strictly below @top? Everything is below "". */
static bool text_is_below(const struct diff_name *name, const struct diff_name *top)
{
	if (top->len == 0)
		return name->len > 0;
	return name->len > top->len + 1 && name->text[name->len - top->len - 1] == '.' &&
	       memcmp(name->text + name->len - top->len, top->text, top->len) == 0;
}

/* Is there a mark between the two? Then its exception covers this one. */
static bool text_is_nested(const struct diff_marks *marks, const struct diff_name *name,
			   const struct diff_name *top)
{
	const char *dot = memchr(name->text, '.', name->len);

	while (dot) {
		size_t len = name->len - (size_t)(dot + 1 - name->text);

		if (len <= top->len)
			return false;
		if (diff_marks_has_name(marks, dot + 1, len))
			return true;
		dot = memchr(dot + 1, '.', len);
	}
	return false;
}

static void text_name(const struct diff_marks *marks, const struct diff_cell *cell,
		      struct text_out *out)
{
	static const struct diff_name nothing = { "", 0 };
	const struct diff_name *top =
		cell->mark == DIFF_NONE ? &nothing : &marks->names[cell->mark];
	char piece[POLICY_HOST_MAX + 4];

	(void)snprintf(piece, sizeof(piece), "%s%.*s",
		       cell->mark == DIFF_NONE ? "*"
		       : cell->is_below        ? "*."
					       : "",
		       (int)top->len, top->text);
	text_add(out, piece);
	if (!cell->is_below && cell->mark != DIFF_NONE)
		return;
	for (size_t i = 0; i < marks->name_count; i++) {
		const struct diff_name *name = &marks->names[i];

		if (!text_is_below(name, top) || text_is_nested(marks, name, top))
			continue;
		(void)snprintf(piece, sizeof(piece), "**.%.*s", (int)name->len, name->text);
		if (!text_except(out, piece))
			return;
	}
}

static void text_block(const struct addr_block *block, char out[ADDR_TEXT_MAX + 8])
{
	char shown[ADDR_TEXT_MAX];
	bool is_v6 = block->base.family == AF_INET6;
	bool is_one = block->bits == (is_v6 ? 128 : 32);

	(void)snprintf(out, ADDR_TEXT_MAX + 8, is_v6 ? "[%s]" : "%s",
		       addr_text(&block->base, shown));
	if (!is_one)
		(void)snprintf(out + strlen(out), ADDR_TEXT_MAX + 8 - strlen(out), "/%u",
			       block->bits);
}

static void text_address(const struct diff_marks *marks, const struct diff_cell *cell,
			 struct text_out *out)
{
	struct addr_block all = { .base.family = cell->addr.family };
	const struct addr_block itself = { cell->addr, 128 };
	const struct addr_block *top = cell->mark == DIFF_NONE ? &all : &marks->blocks[cell->mark];
	char piece[ADDR_TEXT_MAX + 8];

	text_block(cell->is_carrier ? &itself : top, piece);
	text_add(out, piece);
	for (size_t i = 0; !cell->is_carrier && i < marks->block_count; i++) {
		const struct addr_block *block = &marks->blocks[i];

		if (block == top || block->bits <= top->bits || !addr_block_has(top, &block->base))
			continue;
		text_block(block, piece);
		if (!text_except(out, piece))
			return;
	}
}

void diff_text(const struct diff_marks *marks, const struct diff_cell *cell, char *out, size_t size)
{
	struct text_out to = { out, size, 0 };

	out[0] = '\0';
	if (cell->addr.family == 0)
		text_name(marks, cell, &to);
	else
		text_address(marks, cell, &to);
}

/* ":1-79,443": the ports that have @code. */
static void text_ports(const struct diff_marks *marks, const uint64_t *codes, uint64_t code,
		       char *out, size_t size)
{
	size_t ranges = 0, used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < marks->port_count; i++) {
		size_t first = i;

		if (codes[i * DIFF_CARRIES] != code)
			continue;
		while (i + 1 < marks->port_count && codes[(i + 1) * DIFF_CARRIES] == code)
			i++;
		uint32_t last = i + 1 < marks->port_count ? marks->ports[i + 1] - 1U : UINT16_MAX;
		const char *comma = ranges == 0 ? ":" : ",";

		if (marks->ports[first] == 1 && last == UINT16_MAX)
			used += (size_t)snprintf(out + used, size - used, ":%c", '*');
		else if (marks->ports[first] == last)
			used += (size_t)snprintf(out + used, size - used, "%s%u", comma, last);
		else
			used += (size_t)snprintf(out + used, size - used, "%s%u-%u", comma,
						 marks->ports[first], last);
		if (++ranges == TEXT_PORTS_MAX || used + 32 > size) {
			(void)snprintf(out + used, size - used, ",...");
			return;
		}
	}
}

void diff_text_destination(const struct diff_marks *marks, const struct diff_cell *cell,
			   const uint64_t *codes, uint64_t code, const char *protocol, char *out,
			   size_t size)
{
	char host[DIFF_TEXT_MAX / 2], ports[TEXT_PORTS_MAX * 12 + 48];

	diff_text(marks, cell, host, sizeof(host));
	text_ports(marks, codes, code, ports, sizeof(ports));
	size_t len = strcspn(host, " ");

	(void)snprintf(out, size, "%s://%.*s%s%s", protocol, (int)len, host, ports, host + len);
}
