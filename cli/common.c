#include "cli/cli.h"
#include "gateway/gateway_tools.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

int cli_fail(int status, const char *format, ...)
{
	va_list args;

	(void)fputs("sallyport: ", stderr);
	va_start(args, format);
	(void)vfprintf(stderr, format, args);
	va_end(args);
	(void)fputc('\n', stderr);
	return status;
}

int cli_fail_cwd(int status)
{
	if (errno == ENOENT)
		return cli_fail(status, "the working directory was deleted; go to another one, and "
					"try again");
	return cli_fail(status, "cannot determine the working directory: %s", strerror(errno));
}

bool cli_may_colour(FILE *stream)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	if (no_color && *no_color)
		return false;
	return isatty(fileno(stream)) && term && strcmp(term, "dumb") != 0;
}

/* XDG Base Directory: a relative value must be ignored. */
static char *cli_xdg_dir(const char *variable, const char *under_home)
{
	const char *dir = getenv(variable), *home = getenv("HOME");

	if (dir && dir[0] == '/')
		return mem_printf("%s/sallyport", dir);
	if (home && home[0] == '/')
		return mem_printf("%s/%s/sallyport", home, under_home);
	return NULL;
}

char *cli_state_dir(void)
{
	return cli_xdg_dir("XDG_STATE_HOME", ".local/state");
}

char *cli_config_dir(void)
{
	return cli_xdg_dir("XDG_CONFIG_HOME", ".config");
}

char *cli_audit_dir(void)
{
	auto_free char *state = cli_state_dir();

	auto_free char *above = state ? take(state) : gateway_control_dir(NULL);

	return above ? mem_printf("%s/audit", above) : NULL;
}

int cli_make_dirs(const char *path)
{
	if (mkdir(path, 0700) == 0 || errno == EEXIST)
		return 0;

	auto_free char *copy = mem_strdup(path);

	for (char *at = strchr(copy + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		if (mkdir(copy, 0700) < 0 && errno != EEXIST)
			return -errno;
		*at = '/';
	}
	return mkdir(copy, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

void cli_remove_dir(const char *path)
{
	DIR *folder = opendir(path);

	for (struct dirent *entry; folder && (entry = readdir(folder));) {
		/* The kernel refuses to unlink "." and ".."; a file that cannot be removed is left.
		 */
		if (entry->d_name[0] != '.')
			(void)unlinkat(dirfd(folder), entry->d_name, 0);
	}
	if (folder)
		(void)closedir(folder);
	(void)rmdir(path);
}
