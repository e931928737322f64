#include "gateway/grants/width.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/mem.h"
#include "policies/policies_tools.h"

#define WIDTH_PROGRAM_MAX 256                 /* in a text */
#define WIDTH_BYTES_MAX   (UINT64_C(1) << 40) /* the largest number that the policy accepts */

bool width_is_wide(const struct approver_width *width)
{
	return width->is_domain || width->is_every_port || width->is_program;
}

static bool width_has_budget(const struct approver_width *width)
{
	return width->upload_max || width->download_max || width->connections_max;
}

bool width_is_any(const struct approver_width *width)
{
	return width_is_wide(width) || width->for_s != 0 || width_has_budget(width);
}

const char *width_date(int64_t since_s, bool has_seconds, char out[WIDTH_DATE_MAX])
{
	time_t seconds = (time_t)since_s;
	struct tm parts = { 0 };

	(void)gmtime_r(&seconds, &parts);
	(void)strftime(out, WIDTH_DATE_MAX, has_seconds ? "%Y-%m-%dT%H:%M:%SZ" : "%Y-%m-%dT%H:%MZ",
		       &parts);
	return out;
}

/* "1h": uses the largest unit without a remainder. */
static void width_duration(int64_t seconds, char *out, size_t size)
{
	static const struct {
		int64_t seconds;
		char unit;
	} units[] = { { 86400, 'd' }, { 3600, 'h' }, { 60, 'm' }, { 1, 's' } };

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (seconds % units[i].seconds != 0)
			continue;
		(void)snprintf(out, size, "%" PRId64 "%c", seconds / units[i].seconds,
			       units[i].unit);
		return;
	}
}

/* " upload 64k": uses the largest unit without a remainder. 0: adds nothing. */
static void width_add_size(char out[APPROVER_KEY_MAX], const char *word, uint64_t bytes)
{
	static const char units[] = { 'g', 'm', 'k' };
	size_t len = strlen(out);

	if (bytes == 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		unsigned int shift = 10 * (unsigned int)(ARRAY_SIZE(units) - i);

		if (bytes % (UINT64_C(1) << shift) != 0)
			continue;
		(void)snprintf(out + len, APPROVER_KEY_MAX - len, " %s %" PRIu64 "%c", word,
			       bytes >> shift, units[i]);
		return;
	}
	(void)snprintf(out + len, APPROVER_KEY_MAX - len, " %s %" PRIu64, word, bytes);
}

static void width_add_clauses(char out[APPROVER_KEY_MAX], const struct approver_width *width)
{
	size_t len = strlen(out);

	if (width->for_s > 0) {
		(void)snprintf(out + len, APPROVER_KEY_MAX - len, " for ");
		width_duration(width->for_s, out + len + 5, APPROVER_KEY_MAX - len - 5);
	}
	width_add_size(out, "upload", width->upload_max);
	width_add_size(out, "download", width->download_max);
	len = strlen(out);
	if (width->connections_max > 0)
		(void)snprintf(out + len, APPROVER_KEY_MAX - len, " connections %" PRIu32,
			       width->connections_max);
}

/* Can the policy have it as a word? Not a path that needs quotes, or that was made visible. */
static bool width_is_word(const char *program)
{
	return program[0] == '/' && strlen(program) < WIDTH_PROGRAM_MAX &&
	       strcspn(program, " \t\"#\\") == strlen(program);
}

static int width_check(const struct policy_destination *dst, const char *program,
		       const struct approver_width *width, struct err *why)
{
	if (width->for_s < 0 || width->for_s > INT32_MAX)
		return err_set(why, -EINVAL,
			       "a duration must be at least a second and less than 68 years");
	if (width->is_program && program[0] == '\0')
		return err_set(
			why, -ENOTSUP,
			"the program that asks is not known, so an answer cannot be limited to it");
	if (width->is_program && !width_is_word(program))
		return err_set(why, -ENOTSUP,
			       "the program's path cannot be written in a policy, so an answer "
			       "cannot be limited to it");
	if (width->upload_max > WIDTH_BYTES_MAX || width->download_max > WIDTH_BYTES_MAX ||
	    width->connections_max > UINT16_MAX)
		return err_set(why, -EINVAL,
			       "an answer may allow at most 1024g bytes and 65535 connections");
	if (width->is_domain && dst->addr.family != 0)
		return err_set(why, -EINVAL,
			       "an address has no domain; answer for the address only");
	if (width->is_domain && !policy_host_domain(dst->host))
		return err_set(why, -EINVAL,
			       "anyone can register a name below %s; answer for this host only",
			       dst->host);
	return 0;
}

int width_text(const struct policy_destination *dst, const char *program,
	       const struct approver_width *width, char out[APPROVER_KEY_MAX], struct err *why)
{
	bool is_v6 = dst->addr.family == AF_INET6;
	char port[8] = "*";
	int r = width_check(dst, program, width, why);

	if (r < 0)
		return r;
	const char *host = width->is_domain ? policy_host_domain(dst->host) : dst->host;

	if (!width->is_every_port)
		(void)snprintf(port, sizeof(port), "%u", dst->port);
	(void)snprintf(out, APPROVER_KEY_MAX, "%s://%s%s%s%s:%s",
		       policy_protocol_name(dst->protocol), width->is_domain ? "**." : "",
		       is_v6 ? "[" : "", host, is_v6 ? "]" : "",
		       port); /* fits, with all that is added: a host and some words */
	if (width->is_program) {
		size_t len = strlen(out);

		(void)snprintf(out + len, APPROVER_KEY_MAX - len, " by %s", program);
	}
	width_add_clauses(out, width);
	return 0;
}

bool width_covers(const struct policy *policy, const struct policy_facts *facts)
{
	struct policy_verdict verdict;

	policy_decide(policy, facts, &verdict);
	return verdict.reason == POLICY_ANSWER_ALLOW || verdict.reason == POLICY_ANSWER_DENY;
}

/* Does it decide the destination that it was made for? */
static bool width_covers_own(const struct policy *policy, const struct policy_destination *dst,
			     const char *program, int64_t since_s)
{
	const char *const argv[] = { program, NULL };
	struct policy_asker *asker = policy_asker_new(argv);
	const struct policy_facts facts = {
		.dst = *dst, .carries = dst->protocol, .now = since_s, .asker = asker
	};

	policy_asker_set_program(asker, program);
	bool covers = width_covers(policy, &facts);

	policy_asker_free(asker);
	return covers;
}

/* An answer counts where a rule asks, and about UDP the default does not ask. Returned owned. */
static char *width_asks(const struct policy_destination *dst)
{
	char own[POLICY_DESTINATION_TEXT_MAX];

	if (dst->protocol != POLICY_UDP)
		return mem_strdup("");
	return mem_printf("ask udp://*:*\nask %s\n", policy_destination_text(dst, own));
}

struct policy *width_policy(const struct policy_destination *dst, const char *program,
			    enum policy_action action, const char *text, int64_t since_s,
			    struct err *why)
{
	struct policy *policy = policy_new();
	char date[WIDTH_DATE_MAX];
	auto_free char *asks = width_asks(dst);
	auto_free char *line =
		mem_printf("version 1\nanswer %s %s   # by -, %s\n%s", policy_action_name(action),
			   text, width_date(since_s, true, date), asks);

	policy_set_default(policy, POLICY_ASK);
	policy_set_start(policy, since_s);
	if (policy_load_text_layer(policy, "<answer>", line, POLICY_USER) == 0 &&
	    policy_finish(policy) == 0 && width_covers_own(policy, dst, program, since_s))
		return policy;
	(void)err_set(why, -EINVAL, "there is no such answer: %s%s", text,
		      policy_errors(policy)); /* the caller gets NULL */
	policy_free(policy);
	return NULL;
}
