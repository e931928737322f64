#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "policies/diff_impl.h"

static const char *report_what(enum policy_action before, enum policy_action after)
{
	if (before == after)
		return "other bytes";
	return after == POLICY_ALLOW ? "newly allowed"
	       : after == POLICY_ASK ? "newly asked"
				     : "newly denied";
}

/* What is so from the beginning is not told again for every time at which something else ends. */
static bool report_is_new(struct diff *diff, const struct policy_change *change)
{
	const char *const parts[] = { change->what, policy_action_name(change->before),
				      change->destination, change->resolved };
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

/* "" for what is so from the beginning. */
static void report_from(const struct diff *diff, char out[32])
{
	time_t when = (time_t)diff->times[diff->time];
	struct tm parts;

	if (diff->time > 0 && gmtime_r(&when, &parts))
		(void)strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

static void report_line(struct diff *diff, const struct diff_cell *cell,
			const struct diff_cell *resolved, size_t port, size_t carries)
{
	char text[DIFF_TEXT_MAX], block[DIFF_TEXT_MAX] = "", example[POLICY_DESTINATION_TEXT_MAX],
				  address[ADDR_TEXT_MAX] = "", from[32] = "";
	uint32_t code = diff->codes[port * DIFF_CARRIES + carries];
	struct policy_facts facts;
	struct policy_change change = { .before = (enum policy_action)(code >> 4 & 15),
					.after = (enum policy_action)(code >> 8 & 15),
					.destination = text,
					.resolved = block,
					.example = example,
					.example_address = address,
					.from = from };

	change.what = report_what(change.before, change.after);
	diff_text_destination(&diff->marks, cell, &diff->codes[carries], code,
			      policy_protocol_name(diff_decide_carries(carries)), text,
			      sizeof(text));
	diff_decide_facts(diff, cell, port * DIFF_CARRIES + carries, &facts);
	facts.dst.protocol = facts.carries;
	(void)policy_destination_text(&facts.dst, example);
	if (resolved) {
		diff_text(&diff->marks, resolved, block, sizeof(block));
		(void)addr_text(&resolved->addr, address);
	}
	if (!report_is_new(diff, &change) || diff->count++ >= diff->max)
		return;
	report_from(diff, from);
	diff->report(&change, diff->arg);
}

static void report_clear(struct diff *diff, size_t port, size_t carries)
{
	uint32_t code = diff->codes[port * DIFF_CARRIES + carries];

	for (size_t i = port; i < diff->marks.port_count; i++) {
		if (diff->codes[i * DIFF_CARRIES + carries] == code)
			diff->codes[i * DIFF_CARRIES + carries] = 0;
	}
}

/* Is the change at @port the same for what promises http or https, at every port it has? Then the
 * line for tcp, which covers them, says all. */
static bool report_covers_all(const struct diff *diff, size_t carries, uint32_t code)
{
	for (size_t i = 0; i < diff->marks.port_count; i++) {
		const uint32_t *codes = &diff->codes[i * DIFF_CARRIES];

		if ((codes[0] == code) != (codes[carries] == code))
			return false;
	}
	return true;
}

void diff_report_codes(struct diff *diff, const struct diff_cell *cell,
		       const struct diff_cell *resolved)
{
	for (size_t port = 0; port < diff->marks.port_count; port++) {
		for (size_t carries = 0; carries < DIFF_CARRIES; carries++) {
			uint32_t code = diff->codes[port * DIFF_CARRIES + carries];

			if (code == 0)
				continue;
			report_line(diff, cell, resolved, port, carries);
			for (size_t i = 1; carries == 0 && i < DIFF_CARRIES; i++) {
				if (report_covers_all(diff, i, code))
					report_clear(diff, port, i);
			}
			report_clear(diff, port, carries);
		}
	}
}

void diff_report_addresses(struct diff *diff, const struct diff_cell *host,
			   const struct diff_cell *cell)
{
	size_t bytes = diff->marks.port_count * DIFF_CARRIES * sizeof(*diff->codes);
	const struct diff_cell *told = diff->told;

	if (told && !cell->is_carrier && !told->is_carrier && told->mark == cell->mark &&
	    told->addr.family == cell->addr.family &&
	    memcmp(diff->told_codes, diff->codes, bytes) == 0)
		return;
	diff->told = cell;
	memcpy(diff->told_codes, diff->codes, bytes);
	diff_report_codes(diff, host ? host : cell, host ? cell : NULL);
}
