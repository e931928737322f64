/* configured: the destinations that a tool's own configuration names on this machine, for
 * `configured TOOL` in a policy. Read when the policy is loaded, on the trusted side. It uses no
 * processes and no sockets: the caller may supply a function that asks the tool itself. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct err;

enum configured_tool {
	CONFIGURED_NPM,
	CONFIGURED_PIP,
	CONFIGURED_CARGO,
	CONFIGURED_GO,
	CONFIGURED_MAVEN,
	CONFIGURED_APT,
	CONFIGURED_DOCKER,
	CONFIGURED_GIT,
	CONFIGURED_TOOLS,
};

#define CONFIGURED_FILE_MAX_BYTES   (1U << 20) /* of one configuration file */
#define CONFIGURED_FOLDER_MAX       256        /* files in one folder, for example sources.list.d */
#define CONFIGURED_DESTINATIONS_MAX 256        /* of one tool */
#define CONFIGURED_SETTINGS_MAX     1024       /* values kept while one tool's files are read */
#define CONFIGURED_NOTES_MAX        64
#define CONFIGURED_ANSWER_MAX_BYTES 4096 /* what a tool prints when asked */
#define CONFIGURED_ASK_MS           5000 /* how long it may take; a limit for @ask */

/* The environment of the search. All borrowed for the call; paths are absolute. Zero is the safe
 * value of each member: nothing is read or asked. */
struct configured_environment {
	const char *home; /* NULL: none */
	const char *cwd;  /* of the command, which may write what lies in it; NULL: none */
	/* false: files within @cwd, and in the repository around it, are not read, unless
	 * @is_trusted accepts them; a link in @cwd is never followed */
	bool is_project_trusted;
	bool tells_all;   /* notes also say what nobody can do anything about */
	const char *root; /* put before every path; NULL: "" */
	const char *(*variable)(const char *name, void *arg); /* as getenv(3); NULL: none is set */
	/* Runs @argv and returns the first CONFIGURED_ANSWER_MAX_BYTES of its output, owned. It
	 * must run in "/" and find the program in absolute folders of PATH outside @cwd, otherwise
	 * the project could answer in place of the tool; no input; killed after CONFIGURED_ASK_MS.
	 * -ENOENT: not installed. NULL: tools are not asked. */
	int (*ask)(const char *const *argv, char **ret_output, void *arg, struct err *why);
	/* Instead of the disk: returns the text of @path, owned, or -errno. NULL: the disk. */
	int (*read)(const char *path, char **ret_text, size_t *ret_len, void *arg, struct err *why);
	void *arg;
	/* Are these bytes of a file within @cwd trusted? @path: its real path. NULL: none is
	 * trusted. */
	bool (*is_trusted)(const char *path, const void *bytes, size_t len, void *trust_arg);
	/* Could a command have written what is at @path, a file outside of @cwd? Then it is judged
	 * by @is_trusted, too. NULL: none could. */
	bool (*may_be_theirs)(const char *path, void *arg);
	/* Called with the real path of every file that was read and not judged by @is_trusted.
	 * NULL: not called. */
	void (*was_read)(const char *path, void *trust_arg);
	void *trust_arg;
};

/* The receiver of the results. Called once for each destination, after everything was read without
 * error. @destination: a pattern of one host and one port, "https://packages.example.org:443",
 * never a wildcard, never with a user. @where: "/etc/pip.conf:3", "$GOPROXY", "npm config get
 * registry"; safe to show. Both borrowed. */
struct configured_hearer {
	void (*found)(const char *destination, const char *where, void *arg);
	void (*note)(const char *text,
		     void *arg); /* what could not be determined or was left out; may be NULL */
	void *arg;
};

/* 0 also if nothing was found (then a note says why). -EBADMSG: a file or value that cannot be read
 * as the tool does; -E2BIG: a limit; -EPERM: a file that others can write; other -errno from the
 * disk. @why begins with the file and line. */
int configured_read(enum configured_tool tool, const struct configured_environment *env,
		    const struct configured_hearer *hearer, struct err *why);
/* "npm" -> CONFIGURED_NPM; false: no such tool. */
bool configured_find(const char *name, size_t len, enum configured_tool *ret_tool);
/* "npm"; static. */
const char *configured_name(enum configured_tool tool);
