#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "policies/diff_cover_impl.h"

#define COVER_ALL (BIT(DIFF_MET) | BIT(DIFF_UNMET) | BIT(DIFF_UNKNOWN))

bool diff_cover_has(const struct diff *diff, const struct diff_space *space, size_t number)
{
	for (size_t i = 0; i < space->atom_count; i++) {
		if (!(diff->masks[i] & BIT(diff_space_says(space, number, i))))
			return false;
	}
	return true;
}

/* Do all cases that are meant differ by @code? */
static bool cover_holds(const struct diff *diff, const struct diff_space *space, size_t point,
			uint64_t code)
{
	for (size_t i = 0; i < diff_space_cases(space); i++) {
		if (diff->codes[i * diff_points(diff) + point] != code &&
		    diff_decide_applies(space, i, point) && diff_cover_has(diff, space, i))
			return false;
	}
	return true;
}

/* Of @atom, what else may be said? */
static void cover_widen(struct diff *diff, const struct diff_space *space, size_t atom,
			size_t point, uint64_t code)
{
	static const uint8_t more[] = { COVER_ALL, BIT(DIFF_UNMET) | BIT(DIFF_UNKNOWN),
					BIT(DIFF_MET) | BIT(DIFF_UNKNOWN),
					BIT(DIFF_MET) | BIT(DIFF_UNMET) };
	uint8_t own = diff->masks[atom];

	for (size_t i = 0; i < ARRAY_SIZE(more); i++) {
		diff->masks[atom] = more[i] | own;
		if (diff->masks[atom] == more[i] && cover_holds(diff, space, point, code))
			return;
	}
	diff->masks[atom] = own;
}

static size_t cover_count(const struct diff *diff, const struct diff_space *space, size_t point)
{
	size_t count = 0;

	for (size_t i = 0; i < diff_space_cases(space); i++)
		count += diff_decide_applies(space, i, point) && diff_cover_has(diff, space, i);
	return count;
}

/* Says no more than is needed for the same cases. */
static void cover_shorten(struct diff *diff, const struct diff_space *space, size_t number,
			  size_t point)
{
	size_t count = cover_count(diff, space, point);

	for (size_t i = 0; i < space->atom_count; i++) {
		uint8_t mask = diff->masks[i];

		if (mask == COVER_ALL)
			continue;
		diff->masks[i] = (uint8_t)BIT(diff_space_says(space, number, i));
		if (cover_count(diff, space, point) != count)
			diff->masks[i] = mask;
	}
}

/* What is not met is let go of first: what is met reads better. */
void diff_cover(struct diff *diff, const struct diff_space *space, size_t number, size_t point)
{
	uint64_t code = diff->codes[number * diff_points(diff) + point];

	for (size_t i = 0; i < space->atom_count; i++)
		diff->masks[i] = (uint8_t)BIT(diff_space_says(space, number, i));
	for (size_t pass = 0; pass < 2; pass++) {
		for (size_t i = space->atom_count; i-- > 0;) {
			bool is_met = diff_space_says(space, number, i) == DIFF_MET;

			if (is_met == (pass == 1))
				cover_widen(diff, space, i, point, code);
		}
	}
	cover_shorten(diff, space, number, point);
}

#define COVER_CUT "..."

struct cover_out {
	char *at;
	size_t left; /* beside the room for COVER_CUT */
	bool is_cut;
};

static void cover_begin(struct cover_out *out, char *text, size_t size)
{
	*out = (struct cover_out){ text, size - sizeof(COVER_CUT), false };
	text[0] = '\0';
}

/* What does not fit is cut, visibly: the example says all. */
static void cover_add(struct cover_out *out, const char *before, const char *text)
{
	size_t len = strlen(before), text_len = strlen(text);

	if (out->is_cut)
		return;
	if (len + text_len >= out->left) {
		out->is_cut = true;
		memcpy(out->at, COVER_CUT, sizeof(COVER_CUT));
		return;
	}
	memcpy(out->at, before, len);
	memcpy(out->at + len, text, text_len + 1);
	out->at += len + text_len;
	out->left -= len + text_len;
}

static void cover_value(struct cover_out *out, const struct diff_atom *atom, const char *value)
{
	bool is_quoted = atom->kind == CLAUSE_FROM || strpbrk(value, " \t#\"") != NULL;
	auto_free char *shown = text_visible_dup(value);

	cover_add(out, is_quoted ? " \"" : " ", shown);
	if (is_quoted)
		cover_add(out, "\"", "");
}

static void cover_atom(struct cover_out *out, const struct diff_atom *atom, uint8_t mask)
{
	static const char *const words[] = {
		[CLAUSE_METHOD] = "method", [CLAUSE_PATH] = "path", [CLAUSE_QUERY] = "query",
		[CLAUSE_HEADER] = "header", [CLAUSE_FROM] = "from", [CLAUSE_BY] = "by"
	};
	bool is_known = mask == (BIT(DIFF_MET) | BIT(DIFF_UNMET));
	bool may_be_unknown = mask & BIT(DIFF_UNKNOWN);

	cover_add(out, words[atom->kind], "");
	if (is_known || mask == BIT(DIFF_UNKNOWN)) {
		cover_add(out, " ", is_known ? "known" : "not known");
		return;
	}
	if (mask & BIT(DIFF_UNMET))
		cover_add(out, " ", "not");
	for (size_t i = 0; i < atom->count; i++)
		cover_value(out, atom, atom->values[i]);
	if (atom->has_twin && !atom->is_loosening)
		cover_add(out, " ", "in any reading");
	if (may_be_unknown)
		cover_add(out, " ", "or not known");
}

/* As in the language, so long as nothing is left open in one of them. */
static const char *cover_comma(const struct diff *diff, const struct diff_space *space)
{
	for (size_t i = 0; i < space->atom_count; i++) {
		uint8_t mask = diff->masks[i];

		if (mask != COVER_ALL && mask != BIT(DIFF_UNKNOWN) && mask & BIT(DIFF_UNKNOWN))
			return ", ";
	}
	return " ";
}

void diff_cover_text(const struct diff *diff, const struct diff_space *space, char *out,
		     size_t size)
{
	const char *comma = cover_comma(diff, space);
	struct cover_out to;

	cover_begin(&to, out, size);
	for (size_t pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < space->atom_count; i++) {
			bool is_met = diff->masks[i] & BIT(DIFF_MET);

			if (diff->masks[i] == COVER_ALL || is_met != (pass == 0))
				continue;
			cover_add(&to, out[0] ? comma : "", "");
			cover_atom(&to, &space->atoms[i], diff->masks[i]);
		}
	}
}

static void cover_request(struct cover_out *out, const struct policy_request *request)
{
	if (!request->method && !request->path && !request->query && !request->fields) {
		cover_add(out, "", "a tunnel, in which no request is seen");
		return;
	}
	auto_free char *method = text_visible_dup(request->method ? request->method : "");
	auto_free char *path = text_visible_dup(request->path ? request->path : "");
	auto_free char *query = text_visible_dup(request->query ? request->query : "");

	cover_add(out, "", request->method ? method : "(a method that is not known)");
	cover_add(out, " ", request->path ? path : "(a path that is not known)");
	if (!request->query || query[0])
		cover_add(out, "?", request->query ? query : "(a query that is not known)");
	if (!request->fields)
		cover_add(out, ", ", "fields that are not known");
	for (size_t i = 0; request->fields && i < request->field_count; i++) {
		auto_free char *field =
			mem_printf("%s: %s", request->fields[i].name, request->fields[i].value);
		auto_free char *shown = text_visible_dup(field);

		cover_add(out, ", header \"", shown);
		cover_add(out, "\"", "");
	}
	if (request->has_override && !request->fields)
		cover_add(out, ", ", "one of which overrides method or path");
}

static bool cover_asks(const struct diff_space *space, enum clause_kind kind)
{
	for (size_t i = 0; i < space->atom_count; i++) {
		if (space->atoms[i].kind == kind)
			return true;
	}
	return false;
}

static void cover_asker(struct cover_out *out, const struct diff_space *space,
			const struct diff_asker *asker, const char *comma)
{
	if (!asker->asker) {
		cover_add(out, comma, "from a command that is not known");
		return;
	}
	if (cover_asks(space, CLAUSE_FROM)) {
		auto_free char *line =
			text_command_line((const char *const *)asker->argv, DIFF_TEXT_MAX / 2);

		cover_add(out, comma, "from \"");
		cover_add(out, line, "\"");
		comma = ", ";
	}
	if (cover_asks(space, CLAUSE_BY)) {
		cover_add(out, comma, "by ");
		cover_add(out, asker->program ? asker->program : "a program that is not known", "");
	}
}

void diff_cover_example(const struct diff_space *space, size_t number, char *out, size_t size)
{
	const struct diff_asker *asker = &space->asker_list[number % space->askers.count];
	struct cover_out to;

	cover_begin(&to, out, size);
	if (space->request_atoms > 0)
		cover_request(&to, &space->request_list[number / space->askers.count]);
	if (space->atom_count > space->request_atoms)
		cover_asker(&to, space, asker, out[0] ? ", " : "");
}
