/* The options of an answer: of `approve allow` and similar commands, and of a typed line. */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/approve/approve.h"
#include "cli/cli.h"
#include "cli/options.h"

#define OPTION_BYTES_MAX       (UINT64_C(1) << 40)
#define OPTION_CONNECTIONS_MAX 65535

static bool option_bytes(const char *text, json_int_t *ret)
{
	uint64_t value;

	if (text_to_size(text, strlen(text), OPTION_BYTES_MAX, &value) < 0)
		return false;
	*ret = (json_int_t)value;
	return true;
}

static bool option_connections(const char *text, json_int_t *ret)
{
	uint64_t value;

	if (text_to_u64(text, strlen(text), OPTION_CONNECTIONS_MAX, &value) < 0 || value == 0)
		return false;
	*ret = (json_int_t)value;
	return true;
}

static bool option_duration(const char *text, char ret[APPROVE_DURATION_MAX])
{
	int64_t ms;

	if (strlen(text) >= APPROVE_DURATION_MAX || text_to_duration_ms(text, &ms) < 0 || ms < 1000)
		return false;
	memcpy(ret, text, strlen(text) + 1);
	return true;
}

/* Text that does not fit is an error; it is not cut. */
static int option_copy(enum cli_option option, const char *text, char *out, size_t size,
		       struct err *why)
{
	const char *name = option == OPT_WORDS ? "words" : "confirm";
	json_t *words = json_string(text);

	json_decref(words);
	if (!words)
		return err_set(why, -EINVAL, "--%s must be valid UTF-8 text", name);
	if (strlen(text) >= size)
		return err_set(why, -EINVAL, "--%s is too long; at most %zu bytes are allowed",
			       name, size - 1);
	memcpy(out, text, strlen(text) + 1);
	return 0;
}

static int option_take(const struct options_given *given, struct approve_answer *ret,
		       struct err *why)
{
	struct approve_width *width = &ret->width;
	const char *value = given->value;

	switch ((int)given->option) {
	case OPT_SCOPE:
		ret->scope = approve_input_scope(value);
		return 0;
	case OPT_DOMAIN:
		width->is_domain = true;
		return 0;
	case OPT_ALL_PORTS:
		width->is_every_port = true;
		return 0;
	case OPT_PROGRAM:
		width->is_program = true;
		return 0;
	case OPT_FOR:
		return option_duration(value, width->duration)
			       ? 0
			       : err_set(why, -EINVAL, "--for needs a duration, such as 30m");
	case OPT_UPLOAD:
		return option_bytes(value, &width->upload)
			       ? 0
			       : err_set(why, -EINVAL, "--upload needs a size, such as 64k");
	case OPT_DOWNLOAD:
		return option_bytes(value, &width->download)
			       ? 0
			       : err_set(why, -EINVAL, "--download needs a size, such as 64k");
	case OPT_CONNECTIONS:
		return option_connections(value, &width->connections)
			       ? 0
			       : err_set(why, -EINVAL,
					 "--connections needs a number from 1 to 65535");
	case OPT_WORDS:
		return option_copy(OPT_WORDS, value, ret->words, sizeof(ret->words), why);
	case OPT_CONFIRM:
		return option_copy(OPT_CONFIRM, value, ret->confirm, sizeof(ret->confirm), why);
	default:
		return 0; /* not an option of the answer */
	}
}

int approve_options_answer(const struct options *options, struct approve_answer *ret,
			   struct err *why)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < options->given_count; i++)
		r = option_take(&options->given[i], ret, why);
	return r;
}

int approve_options_scope(const struct options *options, const char *scope, struct err *why)
{
	static const struct {
		enum cli_option option;
		const char *name;
	} widths[] = {
		{ OPT_DOMAIN, "--domain" },           { OPT_ALL_PORTS, "--all-ports" },
		{ OPT_PROGRAM, "--program" },         { OPT_FOR, "--for" },
		{ OPT_UPLOAD, "--upload" },           { OPT_DOWNLOAD, "--download" },
		{ OPT_CONNECTIONS, "--connections" },
	};

	for (size_t i = 0; (!scope || strcmp(scope, "once") == 0) && i < ARRAY_SIZE(widths); i++)
		if (options_has(options, widths[i].option))
			return err_set(why, -EINVAL,
				       "%s needs an answer that lasts; add --scope exec, --scope "
				       "session or --scope always",
				       widths[i].name);
	return 0;
}
