#include "cli/run/run_into.h"

#include <signal.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/gate/gate.h"
#include "cli/into/into_serve.h"
#include "cli/run/run_options.h"
#include "cli/view/run_commands.h"
#include "exec/exec_into.h"
#include "gateway/gateway.h"
#include "policies/commands/commands.h"

#define COMMAND_MAX    512
#define OWN_EXEC       1       /* of the run's own command */
#define STATUS_DROPPED SIGKILL /* as that of a killed command */

struct run_into {
	struct gate *gate;
	struct exec_process *process;
	struct into_serve *serve;
};

/* Its number among the added ones follows that of the run's own command. */
static uint64_t exec_of(uint64_t number)
{
	return OWN_EXEC + number;
}

static int begin(const struct run_into *into, const struct exec_into_config *config, uint64_t exec,
		 uint64_t *ret, struct err *why)
{
	struct gateway *gateway = into->gate->gateway;
	auto_free char *command = text_command_line(config->argv, COMMAND_MAX);

	gateway_exec_begin(gateway, exec, command);
	gateway_exec_set_argv(gateway, exec, config->argv);
	if (exec_into_start(into->process, config, ret, why) == 0)
		return CLI_OK;
	gateway_exec_end(gateway, exec, CLI_NO_SANDBOX);
	return CLI_NO_SANDBOX;
}

static int on_start(struct exec_into_config *config, bool is_typed, uint64_t *ret, struct err *why,
		    void *arg)
{
	const struct run_into *into = arg;
	const struct gate *gate = into->gate;
	struct command_file file;
	int status = run_commands_judge(gate->options, &gate->places, gate->policy, config->argv,
					is_typed, &file, why);

	if (status != CLI_OK)
		return status;
	if (file.path[0])
		config->program = (struct exec_program){ file.path, file.device, file.inode, NULL };
	return begin(into, config, exec_of(exec_into_next(into->process)), ret, why);
}

static void on_signal(uint64_t number, int signal, void *arg)
{
	const struct run_into *into = arg;

	exec_into_signal(into->process, number, signal);
}

static void on_ended(uint64_t number, const struct exec_process_result *result, void *arg)
{
	const struct run_into *into = arg;

	gateway_exec_end(into->gate->gateway, exec_of(number), result->status);
}

static void on_drop(uint64_t number, void *arg)
{
	const struct run_into *into = arg;

	exec_into_drop(into->process, number);
	gateway_exec_end(into->gate->gateway, exec_of(number), STATUS_DROPPED);
}

struct run_into *run_into_new(struct gate *gate, struct exec_process *process)
{
	struct err why = { 0 };

	/* Without the control socket nobody is to attach. */
	if (!gate->control || gate->options->asks_nobody)
		return NULL;
	struct run_into *into = mem_new(sizeof(*into));
	const struct into_serve_config config = {
		.loop = gate->loop,
		.control_dir = gate->places.control_dir,
		.run = gate->id,
		.start = on_start,
		.signal = on_signal,
		.drop = on_drop,
		.ended = on_ended,
		.arg = into,
	};

	into->gate = gate;
	into->process = process;
	into->serve = into_serve_new(&config, &why);
	if (!into->serve)
		log_warn("no command can be added to this run: %s", why.text);
	return into;
}

void run_into_free(struct run_into *into)
{
	if (!into)
		return;
	into_serve_free(into->serve);
	free(into);
}
