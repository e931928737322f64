/* `sallyport init`: a first policy for a project, or for the user. It never overwrites a file and
 * never trusts one: that is left to a person who has read it. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
#include "cli/init/install.h"
#include "cli/init/project.h"
#include "cli/init/remotes.h"
#include "cli/options.h"
#include "cli/profiles/profiles.h"

#define FOLDER     ".sallyport"
#define ANSWER_MAX 16

struct init {
	struct project project;
	bool may_ask, is_dry_run, is_user;
	char *folder; /* where the file `policy` is written; owned */
};

/* One line of the terminal: an empty one is yes. -EINVAL: the input has ended. */
static int ask(const char *line, const char *file)
{
	char answer[ANSWER_MAX];

	for (;;) {
		(void)printf("%-28s (%s)  add it? [Y/n] ", line, file);
		(void)fflush(stdout);
		if (!fgets(answer, sizeof(answer), stdin))
			return -EINVAL;
		if (strcmp(answer, "\n") == 0 || strcmp(answer, "y\n") == 0 ||
		    strcmp(answer, "Y\n") == 0 || strcmp(answer, "yes\n") == 0)
			return 1;
		if (strcmp(answer, "n\n") == 0 || strcmp(answer, "N\n") == 0 ||
		    strcmp(answer, "no\n") == 0)
			return 0;
		(void)puts("please answer y or n");
	}
}

/* Returned owned; NULL: the input has ended. */
static char *make_text(const struct init *init)
{
	char *text = mem_printf("version 1\n"
				"# Made by `sallyport init`. What no line allows or denies becomes "
				"a question.\n\n");

	for (size_t i = 0; i < init->project.count; i++) {
		const struct project_line *line = &init->project.lines[i];
		int is_wanted = init->may_ask ? ask(line->policy, line->file) : 1;

		if (is_wanted < 0) {
			free(text);
			return NULL;
		}
		if (is_wanted == 0)
			continue;
		mem_append(&text, "%s   # %s\n", line->policy, line->file);
	}
	return text;
}

static int write_policy(const struct init *init, const char *text, struct err *why)
{
	auto_free char *fresh = mem_printf(".policy-%d", (int)getpid());
	int r = init->is_user                                      ? cli_make_dirs(init->folder)
		: mkdir(init->folder, 0755) < 0 && errno != EEXIST ? -errno
								   : 0;

	if (r < 0)
		return err_errno(why, -r, "cannot make %s", init->folder);
	/* A link could lead to a file of somebody else. */
	auto_close int folder = open(init->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (folder < 0)
		return err_errno(why, errno, "cannot open the folder %s", init->folder);
	const struct replace what = { .folder = folder,
				      .name = "policy",
				      .fresh = fresh,
				      .mode = init->is_user ? 0600 : 0644,
				      .is_durable = true,
				      .is_new = true };

	r = replace_file(&what, text, strlen(text));
	return r < 0 ? err_errno(why, -r, "cannot write %s/policy", init->folder) : 0;
}

static void print_next(const struct init *init)
{
	const char *profile = init->project.profile;

	(void)printf("next:\n");
	if (!init->is_user)
		(void)printf(
			"  read %s/policy, then: sallyport policy trust %s/policy\n"
			"  (its allows do not count before; after each change, trust it again)\n",
			init->folder, init->folder);
	if (profile)
		(void)printf("  sallyport run --profile %s -- %s   # %s is here\n", profile,
			     profiles_program(profiles_find(profile)), init->project.profile_file);
	else
		(void)printf("  sallyport run -- COMMAND\n");
	(void)printf(
		"  sallyport run --observe -- COMMAND, then sallyport policy suggest, to learn "
		"what else it needs\n");
}

static int find_folder(struct init *init)
{
	init->folder = init->is_user ? cli_config_dir() : mem_strdup(FOLDER);
	return init->folder ? CLI_OK : cli_fail(CLI_ERROR, "there is no home directory; set HOME");
}

/* It is found before anything is asked. */
static int check_absent(const struct init *init)
{
	auto_free char *path = mem_printf("%s/policy", init->folder);
	auto_free char *shown = text_visible_dup(path);
	struct stat info;

	if (lstat(path, &info) < 0)
		return CLI_OK;
	return cli_fail(
		CLI_DENIED,
		"%s exists and is not changed; `sallyport init --dry-run` prints what could "
		"be added to it",
		shown);
}

static int propose(struct init *init)
{
	struct err why = { 0 };
	int status = find_folder(init);

	if (status == CLI_OK && !init->is_dry_run)
		status = check_absent(init);
	if (status != CLI_OK)
		return status;
	auto_close int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (here < 0)
		return cli_fail(CLI_ERROR, "cannot open the working directory: %s",
				strerror(errno));
	project_look(here, &init->project);
	remotes_look(&init->project);
	auto_free char *text = make_text(init);

	if (!text)
		return cli_fail(CLI_DENIED, "the input has ended; nothing was written");
	if (init->is_dry_run) {
		(void)fputs(text, stdout);
		return CLI_OK;
	}
	if (write_policy(init, text, &why) < 0)
		return cli_fail(CLI_ERROR, "%s", why.text);
	auto_free char *shown = text_visible_dup(init->folder);

	(void)printf("%s/policy was written\n", shown);
	print_next(init);
	return CLI_OK;
}

static int set_up_agent(const struct options *options, const char *name)
{
	const struct profile *profile = profiles_find(name);
	bool adds = options_has(options, OPT_INIT_INSTALL);
	bool removes = options_has(options, OPT_INIT_UNINSTALL);

	if (!profile)
		return profiles_unknown(CLI_INIT, name);
	if (adds && removes)
		return options_wrong(options->command, "--install and --uninstall exclude each "
						       "other");
	if (removes && options_has(options, OPT_INIT_DRY_RUN))
		return options_wrong(options->command, "--dry-run prints what --install would "
						       "write");
	if (removes)
		return install_agent(profile, INSTALL_REMOVE);
	if (adds)
		return install_agent(profile, options_has(options, OPT_INIT_DRY_RUN) ? INSTALL_SHOW
										     : INSTALL_ADD);
	(void)printf("# %s as a whole in a sandbox: sallyport run --profile %s -- %s\n\n",
		     profiles_title(profile), name, profiles_program(profile));
	profiles_print_setup(profile);
	return CLI_OK;
}

int cli_init(const struct options *options)
{
	const char *agent = options_get(options, OPT_INIT_AGENT);
	bool is_sure = options_has(options, OPT_YES);
	struct init init = { .is_dry_run = options_has(options, OPT_INIT_DRY_RUN),
			     .is_user = options_has(options, OPT_INIT_USER) };

	if (!agent &&
	    (options_has(options, OPT_INIT_INSTALL) || options_has(options, OPT_INIT_UNINSTALL)))
		return options_wrong(options->command, "--install and --uninstall need --agent");
	if (agent)
		return set_up_agent(options, agent);
	init.may_ask = !is_sure && !init.is_dry_run;
	if (init.may_ask && !isatty(STDIN_FILENO))
		return options_wrong(options->command, "there is no terminal to ask on; give --yes "
						       "or --dry-run");
	char here[PATH_MAX];
	int status = init.is_user || getcwd(here, sizeof(here)) ? propose(&init)
								: cli_fail_cwd(CLI_ERROR);

	project_done(&init.project);
	free(init.folder);
	return status;
}
