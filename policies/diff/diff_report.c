#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "policies/diff/diff_impl.h"

/* A difference that exists from the beginning is not reported again for every time at which a rule
 * ends. */
static bool report_is_new(struct diff *diff, const struct policy_change *change)
{
	const char *const parts[] = {
		change->what,        policy_action_name(change->before),
		change->destination, change->resolved,
		change->limits[0],   change->limits[1],
	};
	uint64_t digest = 14695981039346656037ULL; /* FNV-1a */

	if (diff->time_count == 1)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		size_t len = strlen(parts[i]) + 1;

		for (size_t j = 0; j < len; j++)
			digest = (digest ^ (unsigned char)parts[i][j]) * 1099511628211ULL;
	}
	digest |= 1;
	uint64_t *slot = diff_set_slot(&diff->lines, digest);

	if (*slot != 0)
		return false;
	*slot = digest;
	diff->lines.count++;
	return true;
}

/* "" for a difference that exists from the beginning. */
static void report_from(const struct diff *diff, char out[32])
{
	time_t when = (time_t)diff->times[diff->time];
	struct tm parts;

	if (diff->time > 0 && gmtime_r(&when, &parts))
		(void)strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

void diff_report(struct diff *diff, const struct policy_change *change)
{
	if (report_is_new(diff, change) && diff->count++ < diff->max)
		diff->report(change, diff->arg);
}

/* The subject of a line: a host, for a name also what it resolves to, and a point as the example;
 * diff->line says where else it applies. */
struct report_line {
	const struct diff_cell *cell, *resolved; /* NULL: any address */
	size_t point;
	uint64_t code;
};

/* The texts of a line. */
struct report_texts {
	char destination[DIFF_TEXT_MAX], block[DIFF_TEXT_MAX];
	char example[POLICY_DESTINATION_TEXT_MAX], address[ADDR_TEXT_MAX];
	char from[32], limits[2][DIFF_LIMITS_TEXT_MAX];
};

static void report_fill(const struct diff *diff, const struct report_line *line,
			struct policy_facts *facts, struct report_texts *texts)
{
	size_t carries = line->point % DIFF_CARRIES;
	uint32_t pair = (uint32_t)(line->code >> 12);

	diff_text_destination(&diff->marks, line->cell, &diff->line[carries], line->code,
			      policy_protocol_name(diff_decide_carries(carries)),
			      texts->destination, sizeof(texts->destination));
	diff_decide_facts(diff, line->cell, line->point, facts);
	struct policy_destination dst = facts->dst;

	dst.protocol = facts->carries;
	(void)policy_destination_text(&dst, texts->example);
	texts->block[0] = texts->address[0] = texts->from[0] = '\0';
	if (line->resolved) {
		diff_text(&diff->marks, line->resolved, texts->block, sizeof(texts->block));
		(void)addr_text(&line->resolved->addr, texts->address);
	}
	report_from(diff, texts->from);
	diff_limits_text(&diff->limits, pair, false, texts->limits[0]);
	diff_limits_text(&diff->limits, pair, true, texts->limits[1]);
}

static void report_tell(struct diff *diff, const struct report_line *line)
{
	struct report_texts texts;
	struct policy_facts facts;

	report_fill(diff, line, &facts, &texts);
	const struct policy_change change = {
		.before = diff_code_action(line->code, false),
		.after = diff_code_action(line->code, true),
		.what = diff_decide_what(line->code),
		.destination = texts.destination,
		.rule = "",
		.resolved = texts.block,
		.example = texts.example,
		.example_address = texts.address,
		.from = texts.from,
		.limits = { texts.limits[0], texts.limits[1] },
		.facts = &facts,
	};

	diff_report(diff, &change);
}

/* Sets diff->line: the ports at which a request that promises @carries differs by @line->code. */
static void report_find_ports(struct diff *diff, const struct report_line *line, size_t carries)
{
	for (size_t i = carries; i < diff_points(diff); i += DIFF_CARRIES)
		diff->line[i] = diff->codes[i] == line->code ? line->code : 0;
}

/* Marks what diff->line says for @carries as reported. */
static void report_mark(struct diff *diff, size_t carries)
{
	for (size_t i = carries; i < diff_points(diff); i += DIFF_CARRIES)
		diff->is_told[i] |= diff->line[i] != 0;
}

/* Is the difference the same for requests that promise http or https, at all its ports? Then the
 * line for tcp, which covers them, is enough. */
static bool report_covers_all(const struct diff *diff, size_t carries)
{
	for (size_t i = 0; i < diff_points(diff); i += DIFF_CARRIES) {
		if (diff->line[i] != diff->line[i + carries])
			return false;
	}
	return true;
}

static void report_line(struct diff *diff, const struct report_line *line)
{
	size_t carries = line->point % DIFF_CARRIES;

	report_find_ports(diff, line, carries);
	report_tell(diff, line);
	report_mark(diff, carries);
	for (size_t i = 1; carries == 0 && i < DIFF_CARRIES; i++) {
		if (diff_decide_carries(i) == POLICY_UDP)
			continue;
		report_find_ports(diff, line, i);
		if (report_covers_all(diff, i))
			report_mark(diff, i);
	}
}

void diff_report_codes(struct diff *diff, const struct diff_cell *cell,
		       const struct diff_cell *resolved)
{
	size_t points = diff_points(diff);

	memset(diff->is_told, 0, points * sizeof(*diff->is_told));
	for (size_t point = 0; point < points; point++) {
		const struct report_line line = { cell, resolved, point, diff->codes[point] };

		if (line.code != 0 && !diff->is_told[point])
			report_line(diff, &line);
	}
}

void diff_report_addresses(struct diff *diff, const struct diff_cell *host,
			   const struct diff_cell *cell)
{
	const struct diff_cell *told = diff->told;
	size_t bytes = diff_points(diff) * sizeof(*diff->codes);

	if (told && !cell->is_carrier && !told->is_carrier && told->mark == cell->mark &&
	    told->addr.family == cell->addr.family &&
	    memcmp(diff->told_codes, diff->codes, bytes) == 0)
		return;
	diff->told = cell;
	memcpy(diff->told_codes, diff->codes, bytes);
	diff_report_codes(diff, host ? host : cell, host ? cell : NULL);
}
