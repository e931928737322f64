#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/agent_mcp.h"
#include "base/err.h"
#include "base/fd.h"
#include "cli/agent/agent_impl.h"
#include "cli/agent/mcp_root.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/gate/gate.h"
#include "policies/policies_agent.h"

/* The MCP server is a client of the agent in the same process. They talk over a socket pair, in the
 * protocol that every other client uses. */
struct front {
	struct mcp_config config;
	struct mcp *mcp;
};

static int front_open(const struct gate *gate, void *arg)
{
	const struct gateway_helpers *helpers = run_helpers_get(gate->helpers);
	struct front *front = arg;
	struct err why = { 0 };

	front->config.loop = gate->loop;
	front->config.cwd = gate->places.cwd;
	front->config.check_root = mcp_root_check;
	front->config.arg = gate;
	/* With a reviewer, given by --reviewer or by the policy. */
	if (helpers && helpers->reviewer && helpers->reviewer->kinds & POLICY_HELPS_NETWORK)
		front->config.may_wait = true;
	front->mcp = mcp_new(&front->config, &why);
	return front->mcp ? CLI_OK : cli_fail(CLI_NO_SANDBOX, "%s", why.text);
}

static void front_close(void *arg)
{
	struct front *front = arg;

	mcp_free(front->mcp);
}

/* --fail-on-ask: questions wait for approvers that are there, regardless of --prompt-timeout. */
static bool may_wait_for_all(const struct run_options *run)
{
	return run->has_prompt_timeout && !run->must_fail_on_ask;
}

/* May a question about a destination be answered in another place than this client? */
static bool may_wait(const struct run_options *run)
{
	return run->has_web || may_wait_for_all(run) || (run->answers && run->answers[0]) ||
	       run->helpers.has_notify || run->helpers.webhook;
}

static int serve(struct agent_options *options, int in, int out)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) < 0)
		return cli_fail(CLI_NO_SANDBOX, "cannot make a socket pair");
	auto_close int ours = pair[0];
	auto_close int theirs = pair[1];
	struct front front = { .config = {
				       .in = in,
				       .out = out,
				       .agent = ours,
				       .version = SALLYPORT_VERSION,
				       .approval = options->approval,
				       .sandbox = options->sandbox,
				       .may_wait = may_wait(&options->run),
				       .may_wait_for_all = may_wait_for_all(&options->run),
			       } };
	const struct agent_front calls = { front_open, front_close, NULL, &front };

	return agent_serve(options, theirs, theirs, NULL, &calls);
}

static int serve_here(struct agent_options *options)
{
	int in = -1, out = -1;
	int status = agent_options_check(options, CLI_MCP);

	if (status == CLI_OK)
		status = agent_own_ends(&in, &out);
	if (status == CLI_OK)
		status = serve(options, in, out);
	if (in > STDERR_FILENO)
		fd_close(in);
	if (out > STDERR_FILENO)
		fd_close(out);
	return status;
}

int cli_mcp(const struct options *given)
{
	struct agent_options options;
	int status = agent_options_take(&options, given);

	if (status == CLI_OK)
		status = serve_here(&options);
	run_options_free(&options.run);
	return status;
}
