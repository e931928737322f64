#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/options.h"

static char *shell_of_user(void)
{
	static char otherwise[] = "/bin/sh";
	char *shell = getenv("SHELL");

	return shell && shell[0] == '/' ? shell : otherwise;
}

/* `run` with the shell as its command. The variables mark the prompt, unless the shell's start-up
 * files set another one: bash's on Debian show debian_chroot, other shells take PS1 as it is. They
 * come first, so that --env can set others. */
int cli_shell(const struct options *options)
{
	static char chroot[] = "debian_chroot=sallyport", prompt[] = "PS1=(sallyport) $ ";
	const struct options_given marks[] = { { OPT_ENV, chroot }, { OPT_ENV, prompt } };
	char *command[] = { shell_of_user(), NULL };
	struct options run = *options;

	auto_free struct options_given *given =
		mem_new_array(options->given_count + ARRAY_SIZE(marks), sizeof(*given));

	memcpy(given, marks, sizeof(marks));
	for (size_t i = 0; i < options->given_count; i++)
		given[ARRAY_SIZE(marks) + i] = options->given[i];
	run.given = given;
	run.given_count = ARRAY_SIZE(marks) + options->given_count;
	run.operands = command;
	run.operand_count = 1;
	return cli_run(&run);
}
