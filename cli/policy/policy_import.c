#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "policies/policies_tools.h"

#define IMPORT_MAX_BYTES (4U << 20)

static int import_file(const char *format, const char *path)
{
	auto_free char *text = NULL, *policy = NULL, *losses = NULL;
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct err why = { 0 };
	size_t len;

	if (fd < 0)
		return cli_fail(CLI_ERROR, "%s: %s", path, strerror(errno));
	int r = fd_read_all(fd, IMPORT_MAX_BYTES, &text, &len, &why);

	if (r == 0)
		r = policy_import(format, path, text, len, &policy, &losses, &why);
	if (r == -ENOTSUP)
		return options_wrong(CLI_POLICY_IMPORT, "%s", why.text);
	if (r < 0)
		return cli_fail(CLI_ERROR, "%s", why.text);
	(void)fputs(policy, stdout);
	(void)fputs(losses, stderr);
	return CLI_OK;
}

int cli_policy_import(const struct options *options)
{
	return import_file(options->operands[0], options->operands[1]);
}
