#include "cli/policy_change.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/mem.h"
#include "policies/policies_tools.h"

char *policy_change_others(const struct policy_matches *matches)
{
	struct policy_rule_look own, other;
	size_t count = 0, number = matches->verdict->number;

	if (number == 0)
		return mem_strdup("");
	policy_rule_look(matches->policy, number, NULL, &own);
	for (size_t i = 1; i <= policy_rule_count(matches->policy); i++) {
		policy_rule_look(matches->policy, i, matches->facts, &other);
		count += i != number && other.match == POLICY_MATCHES &&
			 strcmp(own.word, other.word) == 0;
	}
	if (count == 0)
		return mem_strdup("");
	return mem_printf(" (and %zu more rule%s that say%s the same)", count,
			  count == 1 ? "" : "s", count == 1 ? "s" : "");
}

/* The owner by number: their name may be in a directory that is far away, and asking for it would
 * make a program without shared libraries load some. */
bool policy_change_file(const char *rule, char ret_when[POLICY_CHANGE_TEXT_MAX],
			char ret_owner[POLICY_CHANGE_TEXT_MAX])
{
	const char *end = strstr(rule, ": ");
	struct stat status;
	struct tm parts;

	ret_when[0] = ret_owner[0] = '\0';
	while (end && end > rule && end[-1] != ':')
		end--;
	if (!end || end == rule)
		return false;
	auto_free char *path = mem_strndup(rule, (size_t)(end - 1 - rule));

	if (stat(path, &status) < 0 || !S_ISREG(status.st_mode) ||
	    !gmtime_r(&status.st_mtime, &parts))
		return false;
	(void)strftime(ret_when, POLICY_CHANGE_TEXT_MAX, "%Y-%m-%dT%H:%M:%SZ", &parts);
	(void)snprintf(ret_owner, POLICY_CHANGE_TEXT_MAX, "uid %u", (unsigned int)status.st_uid);
	return true;
}
