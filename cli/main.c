#include <string.h>

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/options.h"

/* The name by which it is a shell: for programs that take the path of one, and no words behind it.
 */
#define SHELL_NAME "sallyport-sh"

static const options_run_fn functions[CLI_COMMANDS] = {
#define COMMAND(id, words, function, ...) [CLI_##id] = function,
#define GROUP(...)
#include "cli/commands.def"
#undef COMMAND
#undef GROUP
};

/* `sallyport-sh WORDS...` is `sallyport sh WORDS...`. */
static int run_as_shell(int argc, char **argv)
{
	static char command[] = "sh";
	auto_free char **words = mem_new_array((size_t)argc + 2, sizeof(*words));

	words[0] = argv[0];
	words[1] = command;
	for (int i = 1; i < argc; i++)
		words[i + 1] = argv[i];
	return options_run(functions, argc + 1, words);
}

int main(int argc, char **argv)
{
	const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
	const char *name = slash ? slash + 1 : argc > 0 ? argv[0] : "";

	return strcmp(name, SHELL_NAME) == 0 ? run_as_shell(argc, argv)
					     : options_run(functions, argc, argv);
}
