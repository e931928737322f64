#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "policies/policies_tools.h"

#define IMPORT_MAX_BYTES (4U << 20)

static const char help[] =
	"usage: sallyport policy import FORMAT FILE\n"
	"\n"
	"Prints FILE as a policy, and on stderr everything the policy does not say. What it "
	"allows\n"
	"is never wider than FILE; a denial that cannot be said is an error. Read it before use.\n"
	"\n"
	"  codex-config      [permissions.PROFILE.network] of a config.toml\n"
	"  codex-rules       prefix_rule, network_rule and host_executable calls\n"
	"  sandbox-runtime   network.allowedDomains and deniedDomains, in JSON\n"
	"  claude-settings   the same below \"sandbox\"\n"
	"  smokescreen       an ACL in YAML: its default, or its only service\n"
	"  harden-runner     allowed-endpoints, in a workflow or alone\n"
	"\n"
	"Exit status: 0 done, 3 error.\n"
	"\n"
	"  sallyport policy import harden-runner endpoints.txt > ci.policy\n";

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
	if (r < 0)
		return cli_fail(CLI_ERROR, "%s", why.text);
	(void)fputs(policy, stdout);
	(void)fputs(losses, stderr);
	return CLI_OK;
}

int cli_policy_import(int argc, char **argv)
{
	if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		(void)fputs(help, stdout);
		return CLI_OK;
	}
	if (argc > 1 && argv[1][0] == '-')
		return cli_usage_error("policy import", CLI_ERROR, "no such option: %s", argv[1]);
	if (argc != 3)
		return cli_usage_error("policy import", CLI_ERROR, "a format and a file, please");
	for (size_t i = 0; policy_import_format(i); i++) {
		if (strcmp(argv[1], policy_import_format(i)) == 0)
			return import_file(argv[1], argv[2]);
	}
	return cli_usage_error("policy import", CLI_ERROR, "no such format: %s", argv[1]);
}
