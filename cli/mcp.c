#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/agent_mcp.h"
#include "base/err.h"
#include "base/fd.h"
#include "cli/agent_impl.h"
#include "cli/cli.h"

/* The front of an agent in the same process, over a socket pair: the protocol between them is the
 * one that every other client speaks. */
struct front {
	struct mcp_config config;
	struct mcp *mcp;
};

static void front_hang_up(void *arg)
{
	const struct front *front = arg;

	(void)shutdown(front->config.agent, SHUT_WR); /* it is a socket, and connected */
}

static int front_open(struct loop *loop, void *arg)
{
	struct front *front = arg;
	struct err why = { 0 };

	front->config.loop = loop;
	front->mcp = mcp_new(&front->config, &why);
	return front->mcp ? CLI_OK : cli_fail(CLI_NO_SANDBOX, "%s", why.text);
}

static void front_close(void *arg)
{
	struct front *front = arg;

	mcp_free(front->mcp);
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
				       .may_wait = options->run.has_web ||
						   options->run.has_prompt_timeout,
				       .hang_up = front_hang_up,
				       .arg = &front,
			       } };
	const struct agent_front calls = { front_open, front_close, &front };

	options->front = &calls;
	return agent_serve(options, theirs, theirs, NULL);
}

int cli_mcp(int argc, char **argv)
{
	struct agent_options options;
	int in = -1, out = -1;
	int status = agent_options_parse(&options, argc, argv);

	if (status > 0)
		status--;
	else
		status = agent_own_ends(&in, &out);
	if (status == CLI_OK && in >= 0)
		status = serve(&options, in, out);
	if (in > STDERR_FILENO)
		fd_close(in);
	if (out > STDERR_FILENO)
		fd_close(out);
	agent_options_free(&options);
	return status;
}
