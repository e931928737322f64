#include "policies/policies_protected.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#include "tests/unit/policies/policies_test.h"

static const char *const homes[] = { "/home/ana", "/root", NULL };
static const char *const protect[] = { "/srv/keys", "secrets", NULL };
static const char *const unprotect[] = { ".idea", "/w/free", ".git/config", "/w/secrets", NULL };
static const struct policy_protection protection = { .homes = homes,
						     .protect = protect,
						     .unprotect = unprotect };

static const struct {
	const char *path, *line; /* NULL: may be written */
} cases[] = {
	{ "/w/.git/hooks", "hooks" },
	{ "/w/a/b/.git/hooks/pre-commit", "hooks" },
	{ "/w/.git/config", NULL }, /* freed */
	{ "/w/.git/config.worktree", "config.worktree" },
	{ "/w/.git/commondir", "commondir" },
	{ "/w/.git/modules/a/b/hooks/x", "hooks" },
	{ "/w/.git/modules/a/config", "config" },
	{ "/w/.git/worktrees/x/gitdir", "gitdir" },
	{ "/w/.git/worktrees/x/index", NULL },
	{ "/w/.git/refs/heads/hooks", NULL },
	{ "/w/.git/objects/00/config", NULL },
	{ "/w/.git", ".git" }, /* a file, written by any program */
	{ "/w/x.git/hooks", NULL },
	{ "/w/.vscode", ".vscode" },
	{ "/w/.vscode/tasks.json", ".vscode" },
	{ "/w/.vscodes", NULL },
	{ "/w/vscode", NULL },
	{ "/w/.idea/workspace.xml", NULL }, /* freed */
	{ "/w/a/.envrc", ".envrc" },
	{ "/w/a/.claude/settings.json", ".claude" },
	{ "/w/.config/git/config", ".config/git" },
	{ "/w/.config/other", NULL },
	{ "/w/opencode.json", "opencode.json" },
	{ "/w/a/my app.code-workspace", "*.code-workspace" },
	{ "/w/a.code-workspace/x", "*.code-workspace" },
	{ "/w/code-workspace", NULL },
	{ "/w/a.code-workspaces", NULL },
	{ "/home/ana/.local/bin/x", ".local/bin" },
	{ "/home/ana/.kube/config", ".kube" },
	{ "/w/.kube/config", NULL }, /* a home's only */
	{ "/home/ana/bin/x", "bin" },
	{ "/home/ana/src/bin/x", NULL },
	{ "/root/.aws", ".aws" },
	{ "/w/free/.vscode/x", NULL },
	{ "/w/free/.git/hooks", NULL },
	{ "/srv/keys/a", "/srv/keys" },
	{ "/w/srv/keys", NULL },
	{ "/w/a/secrets/x", "secrets" },
	{ "/w/secrets", "secrets" }, /* what is added is not freed */
	{ "/", NULL },
};

START_TEST(what_runs_code_later)
{
	const char *line = NULL;
	bool is = policy_protected_find(&protection, cases[_i].path, &line);

	ck_assert_msg(is == (cases[_i].line != NULL), "%s", cases[_i].path);
	if (is)
		ck_assert_str_eq(line, cases[_i].line);
}
END_TEST

/* The search looks by the first component: none of the table may be passed over. */
START_TEST(every_line_is_found_by_its_beginning)
{
	size_t count;
	const struct policy_protected_line *lines = policy_protected_lines(&count);

	for (size_t i = 0; i < count; i++) {
		char first[64], path[128];

		(void)snprintf(first, sizeof(first), "%.*s", (int)strcspn(lines[i].path, "/"),
			       lines[i].path);
		(void)snprintf(path, sizeof(path), "/home/ana/%s", lines[i].path);
		ck_assert_msg(policy_protected_is(&(struct policy_protection){ .homes = homes },
						  path, NULL),
			      "%s", path);
		if (lines[i].where == POLICY_PROTECTED_ANYWHERE)
			ck_assert_msg(policy_protected_begins(&protection, first), "%s", first);
	}
	ck_assert(policy_protected_begins(&protection, "secrets"));
	ck_assert(policy_protected_begins(&protection, "my app.code-workspace"));
	ck_assert(!policy_protected_begins(&protection, ".code-workspaces"));
	/* A file system may ignore the case of letters. */
	ck_assert(policy_protected_begins(&protection, ".ENVRC"));
	ck_assert(policy_protected_begins(&protection, ".Vscode"));
	ck_assert(policy_protected_begins(&protection, "my.Code-Workspace"));
	ck_assert(!policy_protected_begins(&protection, "src"));
}
END_TEST

TCase *protected_cases(void)
{
	TCase *tcase = tcase_create("protected");

	tcase_add_loop_test(tcase, what_runs_code_later, 0, (int)ARRAY_SIZE(cases));
	tcase_add_test(tcase, every_line_is_found_by_its_beginning);
	return tcase;
}
