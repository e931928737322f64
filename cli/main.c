#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* Else the next file that is opened would be one of them, and get what is written there. Reading
 * from, and writing to, one that was closed fails, as before. */
static void occupy_standard(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			(void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
	}
}

/* Output that is lost is an error. CLI_ERROR has its message; an agent's hook denies by CLI_USAGE.
 */
static int check_output(int status)
{
	bool has_failed = ferror(stdout) != 0;

	errno = 0;
	has_failed |= fflush(stdout) == EOF;
	if (!has_failed || status == CLI_ERROR)
		return status;
	(void)cli_fail(0, "cannot write to standard output%s%s", errno ? ": " : "",
		       errno ? strerror(errno) : "");
	return status == CLI_USAGE ? status : CLI_ERROR;
}

int main(int argc, char **argv)
{
	const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
	const char *name = slash ? slash + 1 : argc > 0 ? argv[0] : "";

	occupy_standard();
	return check_output(strcmp(name, SHELL_NAME) == 0 ? run_as_shell(argc, argv)
							  : options_run(functions, argc, argv));
}
