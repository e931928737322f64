#include "cli/proxy/clients.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crypto/digest.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/session/session_place.h"

#define FILE_MAX_BYTES   65536
#define SECRET_MIN_BYTES 16
#define HASHED           "sha256:"
#define USER             "uid:"

static const char unknown[] = "unknown"; /* clients that nothing identifies */

/* The exec of the client @name, which may be new. 0: there are too many. */
static uint64_t exec_of(struct clients *clients, const char *name, size_t len)
{
	for (size_t i = 1; i < clients->count; i++) {
		if (strlen(clients->names[i]) == len && memcmp(clients->names[i], name, len) == 0)
			return i + 1;
	}
	if (clients->count == CLIENTS_MAX)
		return 0;
	clients->names[clients->count++] = mem_strndup(name, len);
	return clients->count;
}

static bool is_name(const char *name, size_t len)
{
	auto_free char *own = mem_strndup(name, len);

	return session_place_is_name(own) && strcmp(own, unknown) != 0;
}

static int parse_block(const char *text, size_t len, struct addr_block *ret)
{
	if (addr_block_parse(text, len, ret) == 0)
		return 0;
	if (addr_parse(text, len, &ret->base) < 0)
		return -EINVAL;
	ret->bits = ret->base.family == AF_INET ? 32 : 128;
	return 0;
}

/* ADDRESS, ADDRESS/BITS or uid:NUMBER. 0 or -EINVAL. */
static int add_place(struct clients *clients, uint64_t exec, const char *text, size_t len)
{
	struct proxy_source source = { .exec = exec };
	size_t prefix = sizeof(USER) - 1;
	uint64_t uid;

	if (len > prefix && strncmp(text, USER, prefix) == 0) {
		if (text_to_u64(text + prefix, len - prefix, UINT32_MAX - 1, &uid) < 0)
			return -EINVAL;
		clients->users =
			mem_grow(clients->users, clients->user_count + 1, sizeof(*clients->users));
		clients->users[clients->user_count++] = (struct proxy_user){ (uid_t)uid, exec };
		return 0;
	}
	if (parse_block(text, len, &source.block) < 0)
		return -EINVAL;
	clients->sources =
		mem_grow(clients->sources, clients->source_count + 1, sizeof(*clients->sources));
	clients->sources[clients->source_count++] = source;
	return 0;
}

/* NAME=PLACE[,PLACE...] */
static int add_client(struct clients *clients, const char *text)
{
	const char *equals = strchr(text, '=');
	size_t len = equals ? (size_t)(equals - text) : 0;
	uint64_t exec;

	if (len == 0 || !is_name(text, len))
		return options_wrong(CLI_PROXY,
				     "--client: `%s` is not NAME=ADDRESS or NAME=ADDRESS/BITS; a "
				     "name has 1 to 32 letters, digits, _, . and -",
				     text);
	exec = exec_of(clients, text, len);
	if (exec == 0)
		return options_wrong(CLI_PROXY, "--client: at most %d clients are possible",
				     CLIENTS_MAX - 1);
	for (const char *at = equals + 1;; at++) {
		size_t width = strcspn(at, ",");

		if (add_place(clients, exec, at, width) < 0)
			return options_wrong(
				CLI_PROXY,
				"--client: `%.*s` is neither an address nor a block of "
				"addresses such as 10.0.0.0/8 nor uid:NUMBER",
				(int)width, at);
		at += width;
		if (*at == '\0')
			return CLI_OK;
	}
}

static bool is_digest(const char *text)
{
	return strlen(text) == DIGEST_TEXT_MAX - 1 &&
	       text[strspn(text, "0123456789abcdef")] == '\0';
}

/* NAME:SECRET or NAME:sha256:DIGEST. What is wrong; NULL: nothing. */
static const char *add_login(struct clients *clients, const char *line)
{
	const char *colon = strchr(line, ':');
	size_t len = colon ? (size_t)(colon - line) : 0;
	char digest[DIGEST_TEXT_MAX];
	uint64_t exec;

	if (len == 0 || !is_name(line, len))
		return "a line is NAME:SECRET or NAME:sha256:DIGEST, and a name has 1 to 32 "
		       "letters, "
		       "digits, _, . and -";
	const char *secret = colon + 1;

	if (strncmp(secret, HASHED, sizeof(HASHED) - 1) == 0) {
		if (!is_digest(secret + sizeof(HASHED) - 1))
			return "the digest behind sha256: is not 64 lower-case hexadecimal digits";
		memcpy(digest, secret + sizeof(HASHED) - 1, sizeof(digest));
	} else if (strlen(secret) < SECRET_MIN_BYTES) {
		return "the secret is shorter than 16 bytes; take a random one";
	} else if (digest_text(secret, strlen(secret), "", 0, digest) < 0) {
		return "the secret cannot be hashed";
	}
	for (size_t i = 0; i < clients->login_count; i++) {
		if (strlen(clients->logins[i].name) == len &&
		    memcmp(clients->logins[i].name, line, len) == 0)
			return "the name is there twice";
	}
	exec = exec_of(clients, line, len);
	if (exec == 0)
		return "there are too many clients";
	clients->logins =
		mem_grow(clients->logins, clients->login_count + 1, sizeof(*clients->logins));
	clients->logins[clients->login_count++] =
		(struct proxy_login){ mem_strndup(line, len), mem_strdup(digest), exec };
	return NULL;
}

static int add_logins(struct clients *clients, const char *path, char *text)
{
	size_t number = 0;

	for (char *line = text, *next; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		line[strcspn(line, "\r")] = '\0';
		number++;
		if (line[0] == '\0' || line[0] == '#')
			continue;
		const char *wrong = add_login(clients, line);

		if (wrong)
			return cli_fail(CLI_USAGE, "%s:%zu: %s", path, number, wrong);
	}
	return clients->login_count > 0
		       ? CLI_OK
		       : cli_fail(CLI_USAGE, "%s names no client: a line is NAME:SECRET", path);
}

/* Who can read the file is every client in it. */
static int read_logins(struct clients *clients, const char *path)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char *text = NULL;
	struct stat file;
	struct err why = { 0 };
	size_t len = 0;

	if (fd < 0 || fstat(fd, &file) < 0)
		return cli_fail(CLI_USAGE, "--credentials-file: cannot open %s: %s", path,
				strerror(errno));
	if (!S_ISREG(file.st_mode) || (file.st_mode & (S_IRWXG | S_IRWXO)) != 0)
		return cli_fail(
			CLI_USAGE,
			"--credentials-file: %s must be a file that is closed to others (mode "
			"0600)",
			path);
	if (fd_read_all(fd, FILE_MAX_BYTES, &text, &len, &why) < 0)
		return cli_fail(CLI_USAGE, "--credentials-file: %s: %s", path, why.text);
	int status = add_logins(clients, path, text);

	explicit_bzero(text, len);
	free(text);
	return status;
}

int clients_take(struct clients *clients, const struct options *given)
{
	auto_free char **named = options_get_all(given, OPT_CLIENT);
	const char *path = options_get(given, OPT_CREDENTIALS_FILE);
	int status = CLI_OK;

	*clients = (struct clients){ .is_open = options_has(given, OPT_OPEN) };
	clients->names[clients->count++] = mem_strdup(unknown);
	for (char **client = named; client && *client && status == CLI_OK; client++)
		status = add_client(clients, *client);
	if (status == CLI_OK && path)
		status = read_logins(clients, path);
	return status;
}

bool clients_are_bounded(const struct clients *clients)
{
	return clients->is_open || clients->count > 1;
}

/* Without a named client there is only the loopback, and everybody there is served. */
void clients_fill(const struct clients *clients, struct proxy_service *ret)
{
	ret->sources = clients->sources;
	ret->source_count = clients->source_count;
	ret->users = clients->users;
	ret->user_count = clients->user_count;
	ret->logins = clients->logins;
	ret->login_count = clients->login_count;
	ret->exec_count = clients->count;
	ret->is_open = clients->is_open || clients->count == 1;
}

void clients_free(struct clients *clients)
{
	for (size_t i = 0; i < clients->count; i++)
		free(clients->names[i]);
	for (size_t i = 0; i < clients->login_count; i++) {
		free((char *)(uintptr_t)clients->logins[i].name);
		free((char *)(uintptr_t)clients->logins[i].digest);
	}
	free(clients->sources);
	free(clients->users);
	free(clients->logins);
	*clients = (struct clients){ 0 };
}
