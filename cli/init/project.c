#include "cli/init/project.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"

/* To add a kind of project, add a line; several files may lead to one line of policy. */
static const struct {
	const char *file, *policy;
} signs[] = {
	{ "package.json", "include preset npm" },
	{ "package-lock.json", "include preset npm" },
	{ "pyproject.toml", "include preset pip" },
	{ "requirements.txt", "include preset pip" },
	{ "setup.py", "include preset pip" },
	{ "Pipfile", "include preset pip" },
	{ "go.mod", "include preset go" },
	{ "Cargo.toml", "include preset cargo" },
	{ "pom.xml", "include preset maven" },
	{ "build.gradle", "include preset maven" },
	{ "build.gradle.kts", "include preset maven" },
	{ "Dockerfile", "include preset docker" },
	{ "Dockerfile", "include preset apt" },
	{ "compose.yaml", "include preset docker" },
	{ "docker-compose.yml", "include preset docker" },
	{ ".github", "include preset github" },
	{ ".gitlab-ci.yml", "include preset gitlab" },
};
static const struct {
	const char *file, *profile;
} agents[] = {
	{ ".claude", "claude" },     { "CLAUDE.md", "claude" },
	{ ".codex", "codex" },       { ".gemini", "gemini" },
	{ "GEMINI.md", "gemini" },   { "opencode.json", "opencode" },
	{ ".opencode", "opencode" }, { ".aider.conf.yml", "aider" },
};

static bool is_there(int folder, const char *name)
{
	struct stat info;

	return fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool has_line(const struct project *project, const char *policy)
{
	for (size_t i = 0; i < project->count; i++)
		if (strcmp(project->lines[i].policy, policy) == 0)
			return true;
	return false;
}

bool project_add(struct project *project, const char *policy, const char *file)
{
	if (project->count == PROJECT_LINES_MAX || has_line(project, policy))
		return false;
	project->lines[project->count++] =
		(struct project_line){ mem_strdup(policy), mem_strdup(file) };
	return true;
}

void project_done(struct project *project)
{
	for (size_t i = 0; i < project->count; i++) {
		free(project->lines[i].policy);
		free(project->lines[i].file);
	}
	project->count = 0;
}

void project_look(int folder, struct project *ret)
{
	*ret = (struct project){ .count = 0 };
	for (size_t i = 0; i < ARRAY_SIZE(signs); i++) {
		if (is_there(folder, signs[i].file))
			(void)project_add(ret, signs[i].policy, signs[i].file);
	}
	(void)project_add(ret, "include preset baseline",
			  "every project: pastes, tunnels and the like");
	for (size_t i = 0; i < ARRAY_SIZE(agents) && !ret->profile; i++) {
		if (!is_there(folder, agents[i].file))
			continue;
		ret->profile = agents[i].profile;
		ret->profile_file = agents[i].file;
	}
}
