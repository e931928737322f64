#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "policies/exchange/export_impl.h"
#include "policies/policies_tools.h"

static const struct {
	const char *name;
	int (*import)(struct exchange *exchange, const char *text, size_t len);
	const struct export_format *export;
} formats[] = {
#define FORMAT(name, read, write) { name, (read), &(write) },
#include "policies/exchange/formats.def"
#undef FORMAT
};

const char *policy_import_format(size_t number)
{
	return number < ARRAY_SIZE(formats) ? formats[number].name : NULL;
}

/* The number of @format, or -ENOTSUP. */
static int format_find(const char *format, struct err *why)
{
	auto_free char *all = mem_strdup("");

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		if (strcmp(formats[i].name, format) == 0)
			return (int)i;
		mem_append(&all, "%s%s", i > 0 ? ", " : "", formats[i].name);
	}
	auto_free char *shown = text_visible_dup(format);

	return err_set(why, -ENOTSUP, "unknown format: %s; use one of %s", shown, all);
}

int policy_import(const char *format, const char *name, const char *text, size_t len,
		  char **ret_text, char **ret_losses, struct err *why)
{
	auto_free char *shown = text_visible_dup(name);
	struct exchange exchange = { .name = shown, .why = why };
	int i = format_find(format, why);

	if (i < 0)
		return i;
	if (len > EXCHANGE_MAX_BYTES)
		return err_set(why, -E2BIG, "%s is larger than 4 MiB", shown);
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

int policy_export(const char *format, const struct policy *policy, bool may_widen, char **ret_text,
		  char **ret_losses, struct err *why)
{
	struct exchange exchange = { .name = format, .why = why };
	int i = format_find(format, why);

	if (i < 0)
		return i;
	int r = export_run(&exchange, formats[i].export, policy, may_widen);

	if (r == 0) {
		*ret_text = exchange.text ? take(exchange.text) : mem_strdup("");
		*ret_losses = exchange.losses ? take(exchange.losses) : mem_strdup("");
	}
	free(exchange.text);
	free(exchange.losses);
	return r;
}
