#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "policies/configured/configured.h"
#include "tests/fuzz/fuzz.h"

#define PASSWORD "fuzz-password"

/* Whatever file a tool looks for has the input in it; so has its answer. */
struct input {
	const char *text;
	size_t len;
};

static int input_read(const char *path, char **ret_text, size_t *ret_len, void *arg,
		      struct err *why)
{
	const struct input *input = arg;
	char *text = mem_new(input->len + 1);

	fuzz_must(path[0] == '/');
	memcpy(text, input->text, input->len);
	*ret_text = text;
	*ret_len = input->len;
	return 0;
}

static int input_ask(const char *const *argv, char **ret_output, void *arg, struct err *why)
{
	const struct input *input = arg;

	*ret_output = mem_strndup(input->text, input->len);
	return 0;
}

static const char *input_variable(const char *name, void *arg)
{
	return strcmp(name, "REG") == 0 ? "https://ana:" PASSWORD "@reg.test" : NULL;
}

static void check_shown(const char *text)
{
	fuzz_must(!strstr(text, PASSWORD));
	for (; *text; text++)
		fuzz_must(*text >= 0x20 && *text < 0x7f);
}

/* One host, one port, nothing that a policy could take for more. */
static void check_found(const char *destination, const char *where, void *arg)
{
	const char *host = strstr(destination, "://");

	check_shown(where);
	fuzz_must(strncmp(destination, "http://", 7) == 0 ||
		  strncmp(destination, "https://", 8) == 0 ||
		  strncmp(destination, "tcp://", 6) == 0);
	host += 3;
	const char *port = strrchr(host, ':');

	fuzz_must(port && port > host && isdigit((unsigned char)port[1]));
	fuzz_must(port[1 + strspn(port + 1, "0123456789")] == '\0');
	fuzz_must(strspn(host, "abcdefghijklmnopqrstuvwxyz0123456789.-_[]:") == strlen(host));
	fuzz_must(host[0] == '[' || strchr(host, ':') == port);
}

static void check_note(const char *text, void *arg)
{
	check_shown(text);
}

/* The first byte chooses the tool, the rest is its configuration. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct input input = { (const char *)bytes + 1, len - 1 };
	struct configured_environment env = {
		.home = "/home",
		.cwd = "/project",
		.is_project_trusted = true,
		.variable = input_variable,
		.ask = input_ask,
		.read = input_read,
		.arg = &input,
	};
	struct configured_hearer hearer = { check_found, check_note, NULL };
	struct err why = { 0 };

	if (len == 0)
		return 0;
	int r = configured_read((enum configured_tool)(bytes[0] % CONFIGURED_TOOLS), &env, &hearer,
				&why);

	fuzz_must(r <= 0 && (r < 0) == (why.text[0] != '\0'));
	check_shown(why.text);
	return 0;
}
