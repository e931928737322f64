#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/approve.h"
#include "cli/cli.h"

#define OPTION_BYTES_MAX       (UINT64_C(1) << 40)
#define OPTION_CONNECTIONS_MAX 65535

enum {
	OPT_HELP = 'h',
	OPT_JSON = 256,
	OPT_PLAIN,
	OPT_SCOPE,
	OPT_DOMAIN,
	OPT_ALL_PORTS,
	OPT_PROGRAM,
	OPT_FOR,
	OPT_UPLOAD,
	OPT_DOWNLOAD,
	OPT_CONNECTIONS,
	OPT_WORDS,
	OPT_CONFIRM,
	OPT_SESSION,
};

static const struct option options_all[] = {
	{ "help", no_argument, NULL, OPT_HELP },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "plain", no_argument, NULL, OPT_PLAIN },
	{ "scope", required_argument, NULL, OPT_SCOPE },
	{ "domain", no_argument, NULL, OPT_DOMAIN },
	{ "all-ports", no_argument, NULL, OPT_ALL_PORTS },
	{ "program", no_argument, NULL, OPT_PROGRAM },
	{ "for", required_argument, NULL, OPT_FOR },
	{ "upload", required_argument, NULL, OPT_UPLOAD },
	{ "download", required_argument, NULL, OPT_DOWNLOAD },
	{ "connections", required_argument, NULL, OPT_CONNECTIONS },
	{ "words", required_argument, NULL, OPT_WORDS },
	{ "confirm", required_argument, NULL, OPT_CONFIRM },
	{ "session", required_argument, NULL, OPT_SESSION },
	{ 0 },
};

/* "64k", as in the policy's language. */
static bool option_bytes(const char *text, json_int_t *ret)
{
	static const char units[] = "kmg";
	size_t len = strlen(text);
	const char *unit = len > 0 ? strchr(units, text[len - 1]) : NULL;
	unsigned int shift = unit ? 10 * (unsigned int)(unit - units + 1) : 0;
	uint64_t value;

	if (text_to_u64(text, unit ? len - 1 : len, OPTION_BYTES_MAX >> shift, &value) < 0 ||
	    value == 0)
		return false;
	value <<= shift;
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

/* What does not arrive whole is not sent. */
static const char *option_words(const char *text, const char **ret)
{
	json_t *words = json_string(text);

	json_decref(words);
	*ret = text;
	if (!words)
		return "--words is no text";
	return strlen(text) < APPROVE_WORDS_MAX ? NULL : "--words is too long: 255 bytes at most";
}

/* What is wrong with its value, or NULL. */
static const char *option_take(int option, struct approve_options *ret)
{
	struct approve_width *width = &ret->width;

	switch (option) {
	case OPT_HELP:
		ret->is_help = true;
		return NULL;
	case OPT_JSON:
		ret->is_json = true;
		return NULL;
	case OPT_PLAIN:
		ret->is_plain = true;
		return NULL;
	case OPT_SCOPE:
		ret->scope = approve_input_scope(optarg);
		return ret->scope ? NULL : "--scope is once, exec, session or always";
	case OPT_DOMAIN:
		width->is_domain = true;
		return NULL;
	case OPT_ALL_PORTS:
		width->is_every_port = true;
		return NULL;
	case OPT_PROGRAM:
		width->is_program = true;
		return NULL;
	case OPT_FOR:
		return option_duration(optarg, width->duration)
			       ? NULL
			       : "--for is a duration, such as 30m";
	case OPT_UPLOAD:
		return option_bytes(optarg, &width->upload) ? NULL : "--upload is a size: 64k";
	case OPT_DOWNLOAD:
		return option_bytes(optarg, &width->download) ? NULL : "--download is a size: 64k";
	case OPT_CONNECTIONS:
		return option_connections(optarg, &width->connections)
			       ? NULL
			       : "--connections is a number from 1 to 65535";
	case OPT_SESSION:
		ret->session = optarg;
		return NULL;
	case OPT_WORDS:
		return option_words(optarg, &ret->words);
	default:
		ret->confirm = optarg;
		return strlen(optarg) < APPROVE_CONFIRM_MAX ? NULL : "--confirm is too long";
	}
}

/* Only the options that @takes names are known. */
static size_t options_choose(const char *takes, struct option *known)
{
	size_t count = 0;

	for (const struct option *option = options_all; option->name; option++) {
		auto_free char *word = mem_printf(" %s ", option->name);

		if (strstr(takes, word))
			known[count++] = *option;
	}
	known[count] = (struct option){ 0 };
	return count;
}

static const char *option_name(int option)
{
	size_t i = 0;

	while (options_all[i].name && options_all[i].val != option)
		i++;
	return options_all[i].name;
}

/* What is said twice is not guessed about. */
static bool option_is_again(int option, unsigned int *seen)
{
	unsigned int bit = option < OPT_JSON ? 0 : 1U << (option - OPT_JSON);
	bool is_again = (*seen & bit) != 0;

	*seen |= bit;
	return is_again;
}

int approve_options_parse(int argc, char **argv, const char *takes, struct approve_options *ret,
			  struct err *why)
{
	struct option known[ARRAY_SIZE(options_all)];
	unsigned int seen = 0;

	(void)options_choose(takes, known);
	optind = 0;
	for (int option; (option = getopt_long(argc, argv, ":h", known, NULL)) != -1;) {
		auto_free char *word = approve_text_shown(argv[optind - 1]);

		if (option == ':')
			return err_set(why, -EINVAL, "%s needs a value", word);
		if (option == '?')
			return err_set(why, -EINVAL, "no such option: %s", word);
		if (option_is_again(option, &seen))
			return err_set(why, -EINVAL, "--%s stands there twice",
				       option_name(option));
		const char *wrong = option_take(option, ret);

		if (wrong)
			return err_set(why, -EINVAL, "%s", wrong);
	}
	return 0;
}

int approve_options_read(int argc, char **argv, const char *takes, const char *name,
			 struct approve_options *ret)
{
	struct err why = { 0 };

	return approve_options_parse(argc, argv, takes, ret, &why) < 0
		       ? cli_usage_error(name, CLI_ERROR, "%s", why.text)
		       : 0;
}

/* All of it fits: it was read by its length. */
void approve_options_answer(const struct approve_options *options, struct approve_answer *ret)
{
	ret->scope = options->scope;
	ret->width = options->width;
	if (options->words)
		(void)snprintf(ret->words, sizeof(ret->words), "%s", options->words);
	if (options->confirm)
		(void)snprintf(ret->confirm, sizeof(ret->confirm), "%s", options->confirm);
}
