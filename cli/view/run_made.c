#include "cli/view/run_made.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"

#define LINES_MAX 10

static void on_made(const char *path, const char *what, void *arg)
{
	struct run_made *made = arg;
	auto_free char *shown = text_visible_dup(path), *words = text_visible_dup(what);

	made->count++;
	if (made->count <= LINES_MAX)
		mem_append_list(&made->lines,
				mem_printf("%s%s%s", shown, shown[0] ? ": " : "", words));
	if (made->count <= RUN_MADE_MAX)
		made->record(path, what, made->arg);
}

void run_made_find(struct run_made *made, const struct exec_process *process,
		   const struct exec_plan_config *config, exec_made_fn record, void *arg)
{
	struct err why = { 0 };

	made->record = record;
	made->arg = arg;
	if (exec_made(process, config, on_made, made, &why) < 0)
		made->failure = mem_strdup(why.text);
}

/* Does the text contain @word as a word of its own, also in a script? */
static bool names(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = text; (at = strstr(at, word)) != NULL; at += len) {
		bool begins = at == text || (!isalnum((unsigned char)at[-1]) && at[-1] != '.');

		if (begins && !isalnum((unsigned char)at[len]))
			return true;
	}
	return false;
}

/* Is it a command of git's that changes a repository's configuration? Another one, such as git
 * fetch, fails for other reasons. */
static bool changes_config(const char *const *argv)
{
	static const char *const changes[] = { "config", "remote",       "submodule",
					       "branch", "set-upstream", "push -u" };
	auto_free char *text = mem_strdup("");
	bool changes_it = false;

	for (; *argv; argv++)
		mem_append(&text, " %s", *argv);
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++)
		changes_it = changes_it || names(text, changes[i]);
	return changes_it && names(text, "git");
}

static const char *find_config(const struct exec_process *process)
{
	static const char end[] = "/.git/config";

	for (const char *const *path = exec_process_protected(process); *path; path++) {
		size_t len = strlen(*path);

		if (len >= sizeof(end) && strcmp(*path + len - (sizeof(end) - 1), end) == 0)
			return *path;
	}
	return NULL;
}

void run_made_explain(struct run_made *made, const struct exec_process *process,
		      const struct exec_process_result *result, const char *const *argv)
{
	const char *config = find_config(process);

	if (!config || result->end != EXEC_PROCESS_EXITED || result->status == 0 ||
	    !changes_config(argv))
		return;
	auto_free char *shown = text_visible_dup(config);

	made->hint = mem_printf(
		"%s is read-only inside, because git runs programs that it names; git config, git "
		"remote add, git submodule, git branch -u and git push -u cannot change it: run "
		"them outside, or write `unprotect .git/config` into your policy",
		shown);
}

void run_made_print(FILE *out, const struct run_made *made)
{
	for (char *const *line = made->lines; line && *line; line++)
		(void)fprintf(out, "sallyport: the command made %s\n", *line);
	if (made->count > RUN_MADE_MAX)
		(void)fprintf(out,
			      "sallyport: and %zu more; the audit log lists only the first %d\n",
			      made->count - LINES_MAX, RUN_MADE_MAX);
	else if (made->count > LINES_MAX)
		(void)fprintf(out, "sallyport: and %zu more, which the audit log lists\n",
			      made->count - LINES_MAX);
	if (made->count > 0)
		(void)fprintf(
			out,
			"sallyport: this can run code outside of the sandbox; read or remove it "
			"before you use its folder, or allow it with `unprotect` in a policy\n");
	if (made->hint)
		(void)fprintf(out, "sallyport: %s\n", made->hint);
	if (made->failure)
		(void)fprintf(out,
			      "sallyport: cannot tell whether the command made files that run code "
			      "later: %s\n",
			      made->failure);
}

json_t *run_made_json(const struct run_made *made)
{
	json_t *list = json_array();

	for (char *const *line = made->lines; line && *line; line++)
		json_array_append_new(list, json_string(*line));
	return list;
}

void run_made_done(struct run_made *made)
{
	mem_free_list(made->lines);
	free(made->failure);
	free(made->hint);
	*made = (struct run_made){ 0 };
}
