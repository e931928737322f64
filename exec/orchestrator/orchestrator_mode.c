#include "exec/orchestrator/orchestrator_mode.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

static const struct {
	const char *word;
	enum orchestrator_mode mode;
} modes[] = {
	{ "untrusted", ORCHESTRATOR_UNTRUSTED },
	{ "on-request", ORCHESTRATOR_ON_REQUEST },
	{ "on-failure", ORCHESTRATOR_ON_FAILURE },
	{ "never", ORCHESTRATOR_NEVER },
};
static const struct {
	const char *word;
	enum orchestrator_category category;
} categories[] = {
	{ "sandbox", ORCHESTRATOR_MAY_ASK_SANDBOX },
	{ "rules", ORCHESTRATOR_MAY_ASK_RULES },
	{ "permissions", ORCHESTRATOR_MAY_ASK_PERMISSIONS },
	{ "elicitation", ORCHESTRATOR_MAY_ASK_ELICITATION },
	{ "network", ORCHESTRATOR_MAY_ASK_NETWORK },
};

/* 0: unknown category. */
static unsigned int find_category(const char *word, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(categories); i++) {
		if (strlen(categories[i].word) == len && memcmp(word, categories[i].word, len) == 0)
			return categories[i].category;
	}
	return 0;
}

/* "" is an error. */
static int parse_categories(const char *list, unsigned int *ret, struct err *why)
{
	unsigned int found = 0;

	while (*list) {
		size_t len = strcspn(list, ",");
		unsigned int category = find_category(list, len);

		if (!category || (list[len] == ',' && !list[len + 1]))
			return err_set(why, -EINVAL,
				       "granular needs a list of sandbox, rules, permissions, "
				       "elicitation and network, separated by commas");
		found |= category;
		list += len + (list[len] == ',');
	}
	*ret = found;
	return 0;
}

int orchestrator_mode_parse(const char *text, enum orchestrator_mode *ret_mode,
			    unsigned int *ret_categories, struct err *why)
{
	static const char granular[] = "granular:", reject[] = "reject:";
	bool is_reject = strncmp(text, reject, strlen(reject)) == 0;
	unsigned int listed;

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		if (strcmp(text, modes[i].word) == 0) {
			*ret_mode = modes[i].mode;
			*ret_categories = ORCHESTRATOR_MAY_ASK_ALL;
			return 0;
		}
	}
	if (!is_reject && strncmp(text, granular, strlen(granular)) != 0)
		return err_set(why, -EINVAL,
			       "the mode of approvals must be untrusted, on-request, on-failure, "
			       "never or granular:WORD,WORD");
	int r = parse_categories(strchr(text, ':') + 1, &listed, why);

	if (r < 0)
		return r;
	*ret_mode = ORCHESTRATOR_GRANULAR;
	*ret_categories = is_reject ? ORCHESTRATOR_MAY_ASK_ALL & ~listed : listed;
	return 0;
}
