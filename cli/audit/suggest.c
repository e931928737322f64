/* From what was allowed to the smallest policy that allows it. Safe by construction: a line is
 * written only for what was allowed and never denied by a person or a rule, a wildcard only where
 * the hosts seen prove it, and the whole text is read back and held against every destination. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/audit/pattern.h"
#include "cli/audit/history.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "policies/policies_gate.h"

#define NAME "<suggested>"

struct suggest {
	struct selection selection;
	struct history history;
	struct pattern_list patterns;
	char *text; /* of the policy */
	size_t rules;
	FILE *out;
};

static void put_evidence(const struct suggest *suggest, const struct history_destination *at)
{
	char last[SELECTION_TIME_MAX], up[32], down[32];

	text_bytes(up, sizeof(up), at->bytes_up);
	text_bytes(down, sizeof(down), at->bytes_down);
	(void)fprintf(suggest->out, "%" PRIu64 " allowed", pattern_allowed(at));
	if (at->observed > 0)
		(void)fprintf(suggest->out, " (%" PRIu64 " only observed)", at->observed);
	if (at->by[0])
		(void)fprintf(suggest->out, " by %s", at->by);
	(void)fprintf(suggest->out, ", last %s in run %s", selection_utc(at->last_us, last),
		      at->run);
	if (at->command[0])
		(void)fprintf(suggest->out, ": %s", at->command);
	if (at->connections > 0)
		(void)fprintf(suggest->out, "; %s up, %s down", up, down);
	if (at->address[0])
		(void)fprintf(suggest->out, "; PRIVATE ADDRESS %s", at->address);
	if (policy_host_is_listed(at->dst.host))
		(void)fprintf(suggest->out,
			      "; CAUTION: listed as a paste, file drop, tunnel or DNS service");
	(void)fputc('\n', suggest->out);
}

static void put_rule(struct suggest *suggest, const struct history_destination *at)
{
	char text[POLICY_DESTINATION_TEXT_MAX];
	bool is_private = at->address[0] && !at->dst.addr.family;

	(void)fprintf(suggest->out, "allow %s%s  # ", pattern_destination(&at->dst, text),
		      is_private ? " private" : "");
	put_evidence(suggest, at);
	suggest->rules++;
}

static void put_patterns(struct suggest *suggest)
{
	for (size_t i = 0; i < suggest->patterns.count; i++) {
		const struct pattern *pattern = &suggest->patterns.list[i];

		(void)fprintf(suggest->out, "# %zu hosts below %s were allowed, and none denied:\n",
			      pattern->count, pattern->parent);
		for (size_t host = 0; host < pattern->count; host++) {
			(void)fprintf(suggest->out, "#   %s: ", pattern->members[host]->dst.host);
			put_evidence(suggest, pattern->members[host]);
		}
		(void)fprintf(suggest->out, "allow %s\n", pattern->text);
		suggest->rules++;
	}
}

enum group { GROUP_DENIED, GROUP_NEVER, GROUP_UNANSWERED, GROUP_FAILED, GROUPS };
static const char *const headings[GROUPS] = {
	[GROUP_DENIED] = "Not suggested: a person or a rule denied these.",
	[GROUP_NEVER] = "Not suggested: private addresses, cloud metadata and the like.",
	[GROUP_UNANSWERED] =
		"Not suggested: nobody allowed these. To allow one, remove its first #.",
	[GROUP_FAILED] = "Not suggested: allowed, but never reached.",
};

static enum group group_of(const struct history_destination *at)
{
	if (at->denied_us != 0)
		return GROUP_DENIED;
	if (at->is_odd || at->counts[HISTORY_NEVER] > 0 || at->counts[HISTORY_PRIVATE] > 0)
		return GROUP_NEVER;
	return pattern_allowed(at) > 0 ? GROUP_FAILED : GROUP_UNANSWERED;
}

static void put_other(const struct suggest *suggest, const struct history_destination *at,
		      enum group group)
{
	char text[POLICY_DESTINATION_TEXT_MAX], when[SELECTION_TIME_MAX];
	uint64_t count = 0;

	for (size_t i = 0; i < HISTORY_VERDICTS; i++)
		count += at->counts[i];
	if (group == GROUP_DENIED)
		(void)fprintf(suggest->out, "# %s: %s on %s%s%s\n",
			      pattern_destination(&at->dst, text), policy_reason_code(at->denied),
			      selection_utc(at->denied_us, when), at->denied_by[0] ? ": " : "",
			      at->denied_by);
	else
		(void)fprintf(suggest->out, "# %s%s  # %" PRIu64 " times %s%s%s\n",
			      group == GROUP_UNANSWERED ? "allow " : "",
			      pattern_destination(&at->dst, text), count,
			      policy_reason_code(at->reason), at->command[0] ? ", by: " : "",
			      at->command);
}

/* What is asked for and not suggested, with the reason. What only the rest of the log knows is not
 * listed. */
static void put_others(const struct suggest *suggest, void **rows)
{
	for (enum group group = 0; group < GROUPS; group++) {
		bool has_heading = false;

		for (void **row = rows; *row; row++) {
			const struct history_destination *at = *row;

			if (at->last_us == 0 || at->counts[HISTORY_INSIDE] > 0 ||
			    pattern_may_suggest(at) || group_of(at) != group || at->is_odd ||
			    policy_destination_is_loopback(&at->dst))
				continue;
			if (!has_heading)
				(void)fprintf(suggest->out, "\n# %s\n", headings[group]);
			has_heading = true;
			put_other(suggest, at, group);
		}
	}
}

static void put_heading(const struct suggest *suggest)
{
	const struct selection *selection = &suggest->selection;
	auto_free char *path = text_visible_dup(selection->path);
	auto_free char *run = text_visible_dup(selection->run);
	char since[SELECTION_TIME_MAX], now[SELECTION_TIME_MAX];

	(void)fprintf(suggest->out, "version 1\n# Suggested by `sallyport policy suggest` from %s",
		      path);
	if (run[0])
		(void)fprintf(suggest->out, ", run %s", run);
	if (selection->since_us > 0)
		(void)fprintf(suggest->out, ", since %s",
			      selection_utc(selection->since_us, since));
	(void)fprintf(suggest->out,
		      ",\n# on %s: %" PRIu64 " decision%s. Read it before you use it.\n\n",
		      selection_utc(selection->now_us, now), suggest->history.decisions,
		      suggest->history.decisions == 1 ? "" : "s");
}

static bool may_reach(const struct policy *policy, const struct policy_destination *dst,
		      const char *address)
{
	struct policy_facts facts = { .dst = *dst,
				      .carries = dst->protocol,
				      .way = dst->protocol == POLICY_HTTP ? POLICY_WAY_HTTP
									  : POLICY_WAY_CONNECT };
	struct policy_verdict verdict;
	struct addr addr;

	policy_decide_bytes(policy, &facts, &verdict);
	if (verdict.action == POLICY_ALLOW && address[0] &&
	    addr_parse(address, strlen(address), &addr) == 0)
		policy_decide_address(policy, dst, &verdict, &addr, &verdict);
	return verdict.action == POLICY_ALLOW;
}

/* Reads the text back: it has no error, allows what it was made for, and nothing else that the log
 * names. */
static int check_text(const struct suggest *suggest, void **rows)
{
	struct policy *policy = policy_new();
	int r = policy_load_text(policy, NAME, suggest->text);

	policy_set_default(policy, POLICY_DENY);
	if (r == 0)
		r = policy_finish(policy);
	if (r < 0)
		(void)fputs(policy_errors(policy), stderr);
	for (void **row = rows; r == 0 && *row; row++) {
		const struct history_destination *at = *row;

		if (at->is_odd || policy_destination_is_loopback(&at->dst))
			continue;
		if (may_reach(policy, &at->dst, at->address) != pattern_may_suggest(at))
			r = cli_fail(-EINVAL, "the policy that was made is wrong about %s",
				     at->dst.host);
	}
	policy_free(policy);
	return r;
}

static int suggest_write(struct suggest *suggest, void **rows)
{
	auto_free char *text = NULL;
	size_t len = 0;

	suggest->out = open_memstream(&text, &len);
	if (!suggest->out)
		return cli_fail(CLI_ERROR, "cannot make the policy: %s", strerror(errno));
	put_heading(suggest);
	for (void **row = rows; *row; row++)
		if (pattern_may_suggest(*row) && !pattern_has(&suggest->patterns, *row))
			put_rule(suggest, *row);
	put_patterns(suggest);
	put_others(suggest, rows);
	bool is_whole = fclose(suggest->out) == 0;

	suggest->text = take(text);
	if (!is_whole || check_text(suggest, rows) < 0)
		return cli_fail(CLI_ERROR, "no policy is suggested; report this as a defect");
	(void)fputs(suggest->text, stdout);
	return suggest->rules > 0 ? CLI_OK : CLI_DENIED;
}

static int suggest_run(struct suggest *suggest)
{
	auto_free void **rows = NULL;
	int status = history_read(&suggest->history, &suggest->selection, &rows);

	if (status != CLI_OK)
		return status;
	/* A denial may be among what was left out, so no wildcard is safe then. */
	if (!suggest->history.destinations.is_full)
		pattern_find(&suggest->patterns, rows);
	status = suggest_write(suggest, rows);
	if (status == CLI_DENIED)
		(void)cli_fail(0, "no destination was allowed in the records that were selected");
	pattern_done(&suggest->patterns);
	return status;
}

int cli_policy_suggest(const struct options *options)
{
	struct suggest suggest = { .rules = 0 };
	int status = selection_take(&suggest.selection, options, 0);

	history_init(&suggest.history);
	if (status == CLI_OK)
		status = suggest_run(&suggest);
	free(suggest.text);
	history_done(&suggest.history);
	selection_done(&suggest.selection);
	return status;
}
