#include "cli/cli.h"
#include "cli/options.h"

static const options_run_fn functions[CLI_COMMANDS] = {
#define COMMAND(id, words, function, ...) [CLI_##id] = function,
#define GROUP(...)
#include "cli/commands.def"
#undef COMMAND
#undef GROUP
};

int main(int argc, char **argv)
{
	return options_run(functions, argc, argv);
}
