#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/replace.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/profiles/profiles.h"
#include "cli/profiles/table.h"
#include "cli/run/run_options.h"

#define COPY_MAX (16U << 20)

/* "~/x" below the home directory. Returned owned; NULL: there is none. */
static char *place_of(const char *path)
{
	const char *home = getenv("HOME");

	if (path[0] != '~')
		return mem_strdup(path);
	return home && home[0] == '/' ? mem_printf("%s%s", home, path + 1) : NULL;
}

/* Keeps @word until the options are freed. */
static char *keep(struct run_options *options, char *word)
{
	mem_append_list(&options->profile_words, word);
	return word;
}

static int no_home(const struct profile *profile)
{
	return cli_fail(CLI_ERROR, "--profile %s needs a home directory; set HOME", profile->name);
}

static int take_folder(struct run_options *options, const struct profile_line *line)
{
	const char *given = line->more ? getenv(line->more) : NULL;
	auto_free char *place = given && given[0] == '/' ? mem_strdup(given) : place_of(line->text);
	auto_free char *shown = place ? text_visible_dup(place) : NULL;
	struct stat info;

	if (!place)
		return no_home(options->profile);
	bool is_missing = lstat(place, &info) < 0 && errno == ENOENT;

	if (is_missing && options->is_dry_run) {
		(void)cli_fail(0, "profile %s: %s would be created", options->profile->name, shown);
		return CLI_OK;
	}
	int r = is_missing ? cli_make_dirs(place) : 0;

	if (r < 0)
		return cli_fail(CLI_NO_SANDBOX, "profile %s: cannot make %s: %s",
				options->profile->name, shown, strerror(-r));
	if (is_missing)
		(void)cli_fail(0, "profile %s: %s was created", options->profile->name, shown);
	mem_append_list(&options->writable, keep(options, take(place)));
	return CLI_OK;
}

static int copy_file(const char *from, const char *to, struct err *why)
{
	auto_free char *folder = mem_strndup(to, (size_t)(strrchr(to, '/') - to));
	auto_free char *fresh = mem_printf(".sallyport-%d", (int)getpid());
	auto_free char *text = NULL;
	auto_close int source = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	size_t len = 0;

	if (source < 0)
		return err_errno(why, errno, "cannot open %s", from);
	int r = fd_read_all(source, COPY_MAX, &text, &len, why);

	if (r < 0)
		return r;
	auto_close int target = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (target < 0)
		return err_errno(why, errno, "cannot open %s", folder);
	const struct replace what = { .folder = target,
				      .name = strrchr(to, '/') + 1,
				      .fresh = fresh,
				      .mode = 0600,
				      .is_new = true };

	r = replace_file(&what, text, len);
	return r < 0 && r != -EEXIST ? err_errno(why, -r, "cannot write %s", to) : 0;
}

/* Only once: later the two files are different ones. */
static int take_copy(const struct run_options *options, const struct profile_line *line)
{
	auto_free char *from = place_of(line->text), *to = place_of(line->more);
	struct err why = { 0 };

	if (!from || !to)
		return no_home(options->profile);
	if (options->is_dry_run || access(from, F_OK) < 0 || access(to, F_OK) == 0)
		return CLI_OK;
	if (copy_file(from, to, &why) < 0)
		return cli_fail(CLI_NO_SANDBOX, "profile %s: %s", options->profile->name, why.text);
	(void)cli_fail(0, "profile %s: %s was copied to %s, which is used from now on",
		       options->profile->name, line->text, line->more);
	return CLI_OK;
}

/* Is the variable given by --env, or, with @value, in our own environment? Theirs counts. */
static bool has_variable(const struct run_options *options, const char *name)
{
	size_t len = strlen(name);

	for (char *const *at = options->env_set; at && *at; at++)
		if (strncmp(*at, name, len) == 0 && ((*at)[len] == '\0' || (*at)[len] == '='))
			return true;
	return false;
}

static int take_variable(struct run_options *options, const struct profile_line *line)
{
	const char *own = getenv(line->text);

	if (has_variable(options, line->text))
		return CLI_OK;
	if (own || line->kind == PROFILE_PASS) {
		if (own)
			mem_append_list(&options->env_set, keep(options, mem_strdup(line->text)));
		return CLI_OK;
	}
	auto_free char *value = place_of(line->more);

	if (!value)
		return no_home(options->profile);
	mem_append_list(&options->env_set, keep(options, mem_printf("%s=%s", line->text, value)));
	return CLI_OK;
}

static int take_line(struct run_options *options, const struct profile_line *line)
{
	bool may_write = !options->has_sandbox || options->sandbox == EXEC_MODE_WORKSPACE_WRITE;

	switch (line->kind) {
	case PROFILE_FOLDER:
		return may_write ? take_folder(options, line) : CLI_OK;
	case PROFILE_COPY:
		return take_copy(options, line);
	case PROFILE_PASS:
	case PROFILE_SET:
		return take_variable(options, line);
	case PROFILE_NOTE:
		(void)cli_fail(0, "profile %s: %s", options->profile->name, line->text);
		return CLI_OK;
	case PROFILE_POLICY:
	case PROFILE_WORD:
	case PROFILE_SETUP:
	case PROFILE_CONFIG:
		break;
	}
	return CLI_OK;
}

/* Puts the profile's words behind the name of the program, if that is the agent's. */
static void take_words(struct run_options *options)
{
	const struct profile *profile = options->profile;
	const char *name = options->command[0];
	const char *slash = name ? strrchr(name, '/') : NULL;
	size_t count = mem_count_list(options->command), words = 0;

	if (!name || strcmp(slash ? slash + 1 : name, profile->program) != 0)
		return;
	options->profile_command =
		mem_new_array(count + profile->count + 1, sizeof(*options->profile_command));
	options->profile_command[words++] = name;
	for (size_t i = 0; i < profile->count; i++)
		if (profile->lines[i].kind == PROFILE_WORD)
			options->profile_command[words++] = profile->lines[i].text;
	for (size_t i = 1; i < count; i++)
		options->profile_command[words++] = options->command[i];
	options->command = options->profile_command;
}

int profiles_take(struct run_options *options, const struct options *given)
{
	const char *name = options_get(given, OPT_PROFILE);
	int status = CLI_OK;

	if (!name)
		return CLI_OK;
	options->profile = profiles_find(name);
	if (!options->profile)
		return profiles_unknown(given->command, name);
	if (options->join)
		return options_wrong(given->command,
				     "--join and --profile cannot be given together: the policy is "
				     "the session's");
	if (options->has_sandbox && options->sandbox == EXEC_MODE_READ_ONLY)
		return options_wrong(given->command,
				     "--profile and --sandbox read-only cannot be given together: "
				     "an agent writes its own state");
	for (size_t i = 0; status == CLI_OK && i < options->profile->count; i++)
		status = take_line(options, &options->profile->lines[i]);
	take_words(options);
	return status;
}
