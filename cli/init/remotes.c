#include "cli/init/remotes.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "cli/init/project.h"
#include "policies/configured/configured.h"
#include "policies/policies_tools.h"

#define BLANKS  " \t\r\""
#define FOUND   "tcp://" /* as configured_read() spells what ssh reaches */
#define SSH_MAX (1U << 20)

struct remotes {
	struct project *project;
	char *ssh; /* the user's ssh_config(5); NULL: none */
};

/* The patterns behind "Host". */
static bool is_meant(char *patterns, const char *host)
{
	bool is = false;
	char *rest = NULL;

	for (char *word = strtok_r(patterns, BLANKS, &rest); word;
	     word = strtok_r(NULL, BLANKS, &rest)) {
		bool is_not = word[0] == '!';

		if (fnmatch(word + is_not, host, FNM_CASEFOLD) != 0)
			continue;
		if (is_not)
			return false;
		is = true;
	}
	return is;
}

/* Whether the setting sends ssh elsewhere than to the host and port that git names. */
static bool is_move(const char *key, const char *value, const char *host, const char *port)
{
	if (strcasecmp(key, "hostname") == 0)
		return strcasecmp(value, host) != 0 && strcmp(value, "%h") != 0;
	if (strcasecmp(key, "port") == 0)
		return strcmp(value, port) != 0;
	return strcasecmp(key, "proxyjump") == 0 || strcasecmp(key, "proxycommand") == 0;
}

/* Conditions other than "Host" count as met. */
static bool is_moved(const char *ssh, const char *host, const char *port)
{
	auto_free char *text = mem_strdup(ssh ? ssh : "");
	bool is_met = true;
	char *rest = NULL;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *value = NULL, *key = strtok_r(line, "= \t\r", &value);

		if (!key || key[0] == '#')
			continue;
		value += strspn(value, "=" BLANKS);
		if (strcasecmp(key, "host") == 0) {
			is_met = is_meant(value, host);
			continue;
		}
		value[strcspn(value, BLANKS)] = '\0';
		if (strcasecmp(key, "match") == 0)
			is_met = true;
		else if (is_met && is_move(key, value, host, port))
			return true;
	}
	return false;
}

/* @where without the folder, which is another one for each who has the project. */
static const char *short_where(const char *where)
{
	const char *git = strstr(where, "/.git");

	return git ? git + 1 : where;
}

static void on_found(const char *destination, const char *where, void *arg)
{
	const struct remotes *remotes = arg;
	const char *skip = FOUND;
	size_t len = strlen(skip);
	struct policy_destination parsed;

	if (strncmp(destination, skip, len) != 0)
		return;
	const char *port = strrchr(destination, ':') + 1;
	auto_free char *host =
		mem_strndup(destination + len, (size_t)(port - 1 - destination) - len);
	/* A name without a dot is mostly one that only ssh knows. */
	bool is_name = strpbrk(host, ".:") != NULL && !is_moved(remotes->ssh, host, port);

	if (!is_name || policy_destination_parse(destination, &parsed, NULL) < 0) {
		(void)fprintf(stderr,
			      "sallyport: %s: no line for %s, because ssh's configuration may "
			      "lead it elsewhere\n",
			      short_where(where), host);
		return;
	}
	auto_free char *policy = mem_printf("allow %s", destination);

	(void)project_add(remotes->project, policy, short_where(where));
}

static const char *variable(const char *name, void *arg)
{
	return getenv(name);
}

static char *read_ssh(const char *home)
{
	auto_free char *path = mem_printf("%s/.ssh/config", home ? home : "");
	auto_close int fd = home ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
	char *text = NULL;

	if (fd >= 0)
		(void)fd_read_all(fd, SSH_MAX, &text, NULL, NULL); /* NULL: as without one */
	return text;
}

void remotes_look(struct project *project)
{
	const char *home = getenv("HOME");
	char *cwd = getcwd(NULL, 0);
	struct remotes remotes = { project, read_ssh(home) };
	struct configured_hearer hearer = { .found = on_found, .arg = &remotes };
	/* A person reads what is proposed before it counts. */
	struct configured_environment environment = {
		.home = home, .cwd = cwd, .is_project_trusted = true, .variable = variable
	};
	struct err why = { 0 };

	if (configured_read(CONFIGURED_GIT, &environment, &hearer, &why) < 0)
		(void)fprintf(stderr, "sallyport: no lines for the remotes of git: %s\n", why.text);
	free(remotes.ssh);
	free(cwd);
}
