#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/approve/approve_bundle.h"
#include "policies/policies_tools.h"

#define LINE_MAX_BYTES 512
#define DATE_MAX       32

/* The reason why an allow must be typed out, owned; NULL: one key is enough. */
static char *risk_of(const struct bundle_request *request, const char **ret_words)
{
	const struct policy_destination *dst = &request->dst;
	const char *domain = dst->addr.family == 0 ? policy_host_domain(dst->host) : NULL;
	struct policy_host_resembles other;
	struct policy_host_warning warning;

	*ret_words = NULL;
	if (dst->addr.family != 0)
		*ret_words = "a bare IP address";
	else if (policy_host_is_listed(dst->host))
		*ret_words = "a known file-drop or tunnel service (baseline list)";
	else if (policy_host_warning(dst->host, &warning))
		*ret_words = "its letters may be look-alikes of other letters";
	else if (policy_host_resembles(NULL, dst->host, &other))
		*ret_words = "it looks like a well-known domain";
	else if (dst->protocol == POLICY_TCP || dst->protocol == POLICY_UDP)
		*ret_words = "raw bytes: the protocol cannot be checked";
	return *ret_words ? mem_strdup(domain ? domain : dst->host) : NULL;
}

static const char *date(int64_t at_s, char out[DATE_MAX])
{
	time_t at = (time_t)at_s;
	struct tm parts;

	if (!gmtime_r(&at, &parts) || strftime(out, DATE_MAX, "%Y-%m-%dT%H:%MZ", &parts) == 0)
		out[0] = '\0';
	return out;
}

static void show_text(const char *name, const char *text)
{
	if (text[0] != '\0')
		(void)printf("  %-9s %s\n", name, text);
}

/* All text of a bundle is printable ASCII: bundle_file_read() rejects anything else. */
void approve_bundle_ask_show(const struct bundle_request *request, size_t number, size_t count)
{
	char text[POLICY_DESTINATION_TEXT_MAX], first[DATE_MAX], last[DATE_MAX];
	struct policy_host_resembles other;
	struct policy_host_warning warning;

	(void)printf("[%zu/%zu] %s\n", number, count, policy_destination_text(&request->dst, text));
	(void)printf("  %-9s %" PRIu64 " time%s in %" PRIu64 " run%s, %s to %s\n", "asked",
		     request->count, request->count == 1 ? "" : "s", request->runs,
		     request->runs == 1 ? "" : "s", date(request->first_s, first),
		     date(request->last_s, last));
	for (size_t i = 0; i < BUNDLE_COMMANDS_MAX && request->commands[i]; i++)
		show_text(i == 0 ? "by" : "", request->commands[i]);
	show_text("program", request->program);
	show_text("started", request->chain);
	show_text("rule", request->rule);
	show_text("because", request->because);
	show_text("it says", request->plea);
	if (request->dst.addr.family == 0 && policy_host_warning(request->dst.host, &warning))
		show_text("warning", warning.text);
	else if (request->dst.addr.family == 0 &&
		 policy_host_resembles(NULL, request->dst.host, &other))
		show_text("warning", other.text);
}

/* A line without its line end; false: EOF. What was typed before the prompt is not an answer, so it
 * is dropped. */
static bool read_typed(const char *prompt, char line[LINE_MAX_BYTES])
{
	(void)tcflush(STDIN_FILENO, TCIFLUSH); /* fails if it is not a terminal: nothing to drop */
	(void)fputs(prompt, stdout);
	(void)fflush(stdout);
	if (!fgets(line, LINE_MAX_BYTES, stdin))
		return false;
	line[strcspn(line, "\r\n")] = '\0';
	return true;
}

/* A risky allow must be typed out. */
static bool confirm_risk(const struct bundle_request *request, bool *ret_is_typed)
{
	const char *words;
	auto_free char *typed = risk_of(request, &words);
	char line[LINE_MAX_BYTES];

	*ret_is_typed = true;
	if (!typed)
		return true;
	auto_free char *prompt = mem_printf("  %s: type %s to allow it: ", words, typed);

	if (!read_typed(prompt, line))
		return false;
	*ret_is_typed = strcmp(line, typed) == 0;
	if (!*ret_is_typed)
		(void)puts("  this is not the domain; try again");
	return true;
}

static bool ask_one(const struct bundle_request *request, enum approve_choice *ret)
{
	char line[LINE_MAX_BYTES];

	while (read_typed("  Allow, deny, skip or quit? [y/n/s/q] ", line)) {
		bool is_typed = false;

		if (strcmp(line, "q") == 0)
			return false;
		if (strcmp(line, "n") == 0 || strcmp(line, "s") == 0) {
			*ret = line[0] == 'n' ? APPROVE_DENY : APPROVE_SKIP;
			return true;
		}
		if (strcmp(line, "y") != 0) {
			(void)puts(
				"  Type y to allow, n to deny, s to skip, or q to write nothing.");
			continue;
		}
		if (!confirm_risk(request, &is_typed))
			return false;
		if (is_typed) {
			*ret = APPROVE_ALLOW;
			return true;
		}
	}
	return false;
}

/* False also at EOF: without a yes nothing is signed. */
static bool ask_to_sign(void)
{
	char line[LINE_MAX_BYTES];

	while (read_typed("Sign it? [y/n] ", line)) {
		if (strcmp(line, "y") == 0 || strcmp(line, "yes") == 0)
			return true;
		if (strcmp(line, "n") == 0 || strcmp(line, "no") == 0)
			return false;
		(void)puts("  Type y to sign, or n to write nothing.");
	}
	return false;
}

bool approve_bundle_ask(const struct bundle *bundle, enum approve_choice *choices)
{
	size_t count = bundle_count(bundle), allowed = 0, denied = 0;

	for (size_t i = 0; i < count; i++) {
		if (choices[i] == APPROVE_SKIP) {
			approve_bundle_ask_show(bundle_look(bundle, i), i + 1, count);
			if (!ask_one(bundle_look(bundle, i), &choices[i]))
				return false;
		}
		allowed += choices[i] == APPROVE_ALLOW;
		denied += choices[i] == APPROVE_DENY;
	}
	if (allowed + denied == 0)
		return true;
	(void)puts("This is what will be signed:");
	for (size_t i = 0; i < count; i++) {
		char text[POLICY_DESTINATION_TEXT_MAX];

		if (choices[i] != APPROVE_SKIP)
			(void)printf("  %s %s\n", choices[i] == APPROVE_ALLOW ? "allow" : "deny",
				     policy_destination_text(&bundle_look(bundle, i)->dst, text));
	}
	return ask_to_sign();
}
