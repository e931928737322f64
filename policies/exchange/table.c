#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "policies/exchange/exchange_impl.h"
#include "policies/policies_tools.h"

static const struct {
	const char *name;
	int (*import)(struct exchange *exchange, const char *text, size_t len);
} formats[] = {
	{ "codex-config", codex_config_import }, { "codex-rules", codex_rules_import },
	{ "sandbox-runtime", runtime_import },   { "claude-settings", runtime_import },
	{ "smokescreen", smokescreen_import },   { "harden-runner", harden_import },
};

const char *policy_import_format(size_t number)
{
	return number < ARRAY_SIZE(formats) ? formats[number].name : NULL;
}

int policy_import(const char *format, const char *name, const char *text, size_t len,
		  char **ret_text, char **ret_losses, struct err *why)
{
	auto_free char *shown = text_visible_dup(name);
	struct exchange exchange = { .name = shown, .why = why };
	size_t i = 0;

	while (i < ARRAY_SIZE(formats) && strcmp(formats[i].name, format) != 0)
		i++;
	if (i == ARRAY_SIZE(formats))
		return err_set(why, -EINVAL, "no such format: %s", format);
	if (len > EXCHANGE_MAX_BYTES)
		return err_set(why, -E2BIG, "%s: more than 4 MiB", shown);
	exchange_line(&exchange, "version 1");
	exchange_line(&exchange, "# from %s, %s", formats[i].name, shown);
	int r = formats[i].import(&exchange, text, len);

	if (r == 0) {
		*ret_text = take(exchange.text);
		*ret_losses = exchange.losses ? take(exchange.losses) : mem_strdup("");
	}
	free(exchange.text);
	free(exchange.losses);
	return r;
}
