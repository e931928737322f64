#include "cli/audit/pattern.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/audit/history.h"
#include "policies/policies_gate.h"

/* Hosts with one parent prove a wildcard if their first labels differ only in numbers, or if there
 * are many of them. */
#define NUMBERED_MIN 3
#define VARIOUS_MIN  6
#define LABEL_MAX    64

uint64_t pattern_allowed(const struct history_destination *at)
{
	return at->counts[HISTORY_ALLOWED] + at->counts[HISTORY_ANSWERED];
}

bool pattern_may_suggest(const struct history_destination *at)
{
	uint64_t allowed = pattern_allowed(at);
	bool was_reached = at->connections > 0 || at->counts[HISTORY_FAILED] < allowed;

	return !at->is_odd && at->denied_us == 0 && at->counts[HISTORY_NEVER] == 0 &&
	       at->counts[HISTORY_INSIDE] == 0 && at->counts[HISTORY_PRIVATE] < allowed &&
	       allowed > 0 && was_reached && !policy_destination_is_loopback(&at->dst);
}

const char *pattern_destination(const struct policy_destination *dst,
				char out[POLICY_DESTINATION_TEXT_MAX])
{
	uint16_t implied = dst->protocol == POLICY_HTTPS  ? 443
			   : dst->protocol == POLICY_HTTP ? 80
							  : 0;

	(void)policy_destination_text(dst, out);
	if (dst->port == implied)
		*strrchr(out, ':') = '\0';
	return out;
}

/* The name without its first label; NULL: it has none that a wildcard may stand on. */
static const char *parent_of(const struct history_destination *at)
{
	const char *dot = at->dst.addr.family ? NULL : strchr(at->dst.host, '.');

	return dot && policy_host_domain(dot + 1) ? dot + 1 : NULL;
}

static bool is_member(const struct history_destination *at)
{
	return pattern_may_suggest(at) && at->address[0] == '\0' && parent_of(at) &&
	       !policy_host_is_listed(at->dst.host);
}

static int compare(const void *left, const void *right)
{
	const struct history_destination *a = *(const struct history_destination *const *)left;
	const struct history_destination *b = *(const struct history_destination *const *)right;

	if (a->dst.protocol != b->dst.protocol)
		return a->dst.protocol < b->dst.protocol ? -1 : 1;
	if (a->dst.port != b->dst.port)
		return a->dst.port < b->dst.port ? -1 : 1;
	int r = strcmp(parent_of(a), parent_of(b));

	return r ? r : strcmp(a->dst.host, b->dst.host);
}

static bool is_same_group(const struct history_destination *a, const struct history_destination *b)
{
	return a->dst.protocol == b->dst.protocol && a->dst.port == b->dst.port &&
	       strcmp(parent_of(a), parent_of(b)) == 0;
}

/* The first label with # for every number in it; false: it has none. */
static bool shape_of(const struct history_destination *at, char out[LABEL_MAX])
{
	bool has_number = false;
	size_t len = 0;

	for (const char *c = at->dst.host; *c != '.' && len < LABEL_MAX - 1; c++) {
		bool is_digit = isdigit((unsigned char)*c) != 0;

		if (!is_digit || len == 0 || out[len - 1] != '#')
			out[len++] = is_digit ? '#' : *c;
		has_number |= is_digit;
	}
	out[len] = '\0';
	return has_number;
}

/* Is there a number in one place of enough of them? */
static bool is_numbered(const struct history_destination *const *members, size_t count)
{
	struct tally shapes;
	bool is_found = false;

	tally_init(&shapes, sizeof(size_t), count);
	for (size_t i = 0; i < count && !is_found; i++) {
		char shape[LABEL_MAX];

		if (!shape_of(members[i], shape))
			continue;
		size_t *alike = tally_at(&shapes, shape);

		is_found = ++*alike == NUMBERED_MIN;
	}
	tally_done(&shapes, NULL);
	return is_found;
}

static void write_pattern(const struct history_destination *at, char *out, size_t size)
{
	struct policy_destination dst = at->dst;
	char text[POLICY_DESTINATION_TEXT_MAX];

	(void)snprintf(dst.host, sizeof(dst.host), "%s", parent_of(at));
	(void)pattern_destination(&dst, text);
	char *host = strstr(text, "://") + strlen("://");

	(void)snprintf(out, size, "%.*s*.%s", (int)(host - text), text, host);
}

static bool is_below(const char *host, const char *parent)
{
	size_t len = strlen(host), parent_len = strlen(parent);

	return len > parent_len && strcmp(host + len - parent_len, parent) == 0;
}

/* Does the line hold, without `broad`, and does it allow nothing that the log names and that may
 * not be suggested? */
static bool is_safe(const struct pattern *pattern, void **rows)
{
	auto_free char *line = mem_printf("allow %s\n", pattern->text);
	struct policy *policy = policy_new();
	bool is_good = policy_load_text(policy, "<pattern>", line) == 0;

	policy_set_default(policy, POLICY_DENY);
	is_good = is_good && policy_finish(policy) == 0 && policy_notes(policy)[0] == '\0';
	for (void **row = rows; is_good && *row; row++) {
		const struct history_destination *at = *row;
		struct policy_facts facts = { .dst = at->dst,
					      .carries = at->dst.protocol,
					      .way = POLICY_WAY_CONNECT };
		struct policy_verdict verdict;

		if (at->is_odd || !is_below(at->dst.host, pattern->parent) ||
		    (pattern_may_suggest(at) && at->address[0] == '\0'))
			continue;
		policy_decide_bytes(policy, &facts, &verdict);
		is_good = verdict.action != POLICY_ALLOW;
	}
	policy_free(policy);
	return is_good;
}

static void add_group(struct pattern_list *ret, const struct history_destination **members,
		      size_t count, void **rows)
{
	struct pattern pattern = { .parent = parent_of(members[0]), .count = count };

	if (count < NUMBERED_MIN || (count < VARIOUS_MIN && !is_numbered(members, count)))
		return;
	write_pattern(members[0], pattern.text, sizeof(pattern.text));
	if (!is_safe(&pattern, rows))
		return;
	pattern.members = mem_new_array(count, sizeof(void *));
	memcpy(pattern.members, members, count * sizeof(void *));
	ret->list = mem_grow(ret->list, ret->count + 1, sizeof(*ret->list));
	ret->list[ret->count++] = pattern;
}

void pattern_find(struct pattern_list *ret, void **rows)
{
	size_t count = 0, all = mem_count_list(rows);
	auto_free const struct history_destination **members =
		mem_new_array(all + 1, sizeof(void *));

	for (size_t i = 0; i < all; i++)
		if (is_member(rows[i]))
			members[count++] = rows[i];
	qsort(members, count, sizeof(void *), compare);
	for (size_t from = 0, to; from < count; from = to) {
		for (to = from + 1; to < count && is_same_group(members[from], members[to]);)
			to++;
		add_group(ret, members + from, to - from, rows);
	}
}

bool pattern_has(const struct pattern_list *patterns, const struct history_destination *at)
{
	for (size_t i = 0; i < patterns->count; i++)
		for (size_t member = 0; member < patterns->list[i].count; member++)
			if (patterns->list[i].members[member] == at)
				return true;
	return false;
}

void pattern_done(struct pattern_list *patterns)
{
	for (size_t i = 0; i < patterns->count; i++)
		free(patterns->list[i].members);
	free(patterns->list);
	*patterns = (struct pattern_list){ 0 };
}
