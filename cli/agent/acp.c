#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/agent_acp.h"
#include "base/err.h"
#include "base/fd.h"
#include "cli/agent/agent_impl.h"
#include "cli/cli.h"
#include "cli/gate/gate.h"
#include "cli/options.h"
#include "cli/profiles/profiles.h"

/* Like the MCP server, it is a client of the agent's server in the same process. */
struct front {
	struct acp_config config;
	struct acp *acp;
};

static int front_open(const struct gate *gate, void *arg)
{
	struct front *front = arg;
	struct err why = { 0 };

	front->config.loop = gate->loop;
	front->acp = acp_new(&front->config, &why);
	return front->acp ? CLI_OK : cli_fail(CLI_NO_SANDBOX, "%s", why.text);
}

static int front_status(const void *arg)
{
	const struct front *front = arg;

	return acp_status(front->acp);
}

static void front_close(void *arg)
{
	struct front *front = arg;

	acp_free(front->acp);
}

static int serve(struct agent_options *options, int in, int out, int errors)
{
	int server[2], program[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, server) < 0)
		return cli_fail(CLI_NO_SANDBOX, "cannot make a socket pair");
	auto_close int ours = server[0];
	auto_close int theirs = server[1];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, program) < 0)
		return cli_fail(CLI_NO_SANDBOX, "cannot make a socket pair");
	auto_close int inner = program[0];
	auto_close int outer = program[1];
	struct front front = { .config = {
				       .in = in,
				       .out = out,
				       .errors = errors,
				       .agent = ours,
				       .pipe = { inner, outer },
				       .command = options->run.command,
				       .approval = options->approval,
				       .sandbox = options->sandbox,
			       } };
	const struct agent_front calls = { front_open, front_close, front_status, &front };

	return agent_serve(options, theirs, theirs, NULL, &calls);
}

static int serve_here(struct agent_options *options)
{
	int in = -1, out = -1, errors = -1;
	int status = agent_options_check(options, CLI_ACP);

	if (status == CLI_OK)
		status = agent_own_ends(&in, &out);
	if (status == CLI_OK && agent_own_end(STDERR_FILENO, O_WRONLY, &errors) < 0)
		status = cli_fail(CLI_NO_SANDBOX,
				  "stderr must be open, because the agent writes there");
	if (status == CLI_OK)
		status = serve(options, in, out, errors >= 0 ? errors : STDERR_FILENO);
	for (const int *end = (const int[]){ in, out, errors, -2 }; *end != -2; end++) {
		if (*end > STDERR_FILENO)
			fd_close(*end);
	}
	return status;
}

int cli_acp(const struct options *given)
{
	struct agent_options options;
	int status = agent_options_take(&options, given);

	options.run.command = (const char *const *)given->operands;
	if (status == CLI_OK)
		status = profiles_take(&options.run, given);
	if (status == CLI_OK)
		status = serve_here(&options);
	run_options_free(&options.run);
	return status;
}
