#include "exec/orchestrator/judging/access.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

static const char *const class_words[ORCHESTRATOR_CLASSES] = {
	[ORCHESTRATOR_WRITE_PATH] = "write", [ORCHESTRATOR_READ_PATH] = "read",
	[ORCHESTRATOR_SOCKET] = "socket",    [ORCHESTRATOR_DESTINATION] = "network",
	[ORCHESTRATOR_PROGRAM] = "program",  [ORCHESTRATOR_SYSTEM_CALL] = "system call",
};
static const char *const protocols[] = { "http", "https", "tcp", "udp" };

/* It becomes part of a policy line, and is shown to a person: so no other bytes are accepted. */
static bool is_host(const char *host)
{
	size_t len = strspn(host, "abcdefghijklmnopqrstuvwxyz0123456789.-_:");

	return len > 0 && len <= 255 && host[len] == '\0';
}

static bool is_protocol(const char *protocol)
{
	for (size_t i = 0; protocol && i < ARRAY_SIZE(protocols); i++) {
		if (strcmp(protocol, protocols[i]) == 0)
			return true;
	}
	return false;
}

int access_check(const struct orchestrator_access *access, struct err *why)
{
	if ((unsigned int)access->what >= ORCHESTRATOR_CLASSES || !access->name)
		return err_set(why, -EINVAL, "an access has neither a kind nor a name");
	switch (access->what) {
	case ORCHESTRATOR_WRITE_PATH:
	case ORCHESTRATOR_READ_PATH:
	case ORCHESTRATOR_SOCKET:
	case ORCHESTRATOR_PROGRAM:
		if (access->name[0] != '/' || strlen(access->name) >= COMMAND_PATH_MAX)
			return err_set(why, -EINVAL, "%s needs an absolute path",
				       class_words[access->what]);
		return 0;
	case ORCHESTRATOR_DESTINATION:
		if (!is_host(access->name) || !is_protocol(access->protocol) || access->port == 0)
			return err_set(why, -EINVAL,
				       "a destination needs a protocol (http, https, tcp or udp), "
				       "a host in lower case and a port");
		return 0;
	case ORCHESTRATOR_SYSTEM_CALL:
	case ORCHESTRATOR_CLASSES:
		break;
	}
	return err_set(why, -EINVAL, "system calls cannot be granted");
}

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

bool access_is_equal(const struct orchestrator_access *a, const struct orchestrator_access *b)
{
	if (a->what != b->what || !is_same_text(a->name, b->name))
		return false;
	return a->what != ORCHESTRATOR_DESTINATION ||
	       (is_same_text(a->protocol, b->protocol) && a->port == b->port);
}

bool access_has(const struct access_list *list, const struct orchestrator_access *access)
{
	for (size_t i = 0; i < list->count; i++) {
		if (access_is_equal(&list->list[i], access))
			return true;
	}
	return false;
}

bool access_add(struct access_list *list, const struct orchestrator_access *access)
{
	if (access_has(list, access))
		return true;
	if (list->count == ARRAY_SIZE(list->list))
		return false;
	list->list[list->count++] = (struct orchestrator_access){
		.what = access->what,
		.name = mem_strdup(access->name),
		.protocol = mem_strdup_or_null(access->protocol),
		.port = access->port,
		.is_listable = access->is_listable,
	};
	return true;
}

bool access_is_destinations(const struct access_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->list[i].what != ORCHESTRATOR_DESTINATION)
			return false;
	}
	return list->count > 0;
}

void access_done(struct access_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free((char *)list->list[i].name);
		free((char *)list->list[i].protocol);
	}
	list->count = 0;
}

bool access_is_given(const struct exec_sandbox *sandbox, const struct orchestrator_access *access)
{
	switch (access->what) {
	case ORCHESTRATOR_WRITE_PATH:
		return exec_sandbox_access(sandbox, access->name) >= EXEC_WRITE;
	case ORCHESTRATOR_READ_PATH:
		return exec_sandbox_access(sandbox, access->name) >= EXEC_READ;
	case ORCHESTRATOR_SOCKET:
		for (const char *const *path = exec_sandbox_sockets(sandbox); path && *path;
		     path++) {
			if (strcmp(*path, access->name) == 0)
				return true;
		}
		return false;
	case ORCHESTRATOR_DESTINATION:
	case ORCHESTRATOR_PROGRAM:
	case ORCHESTRATOR_SYSTEM_CALL:
	case ORCHESTRATOR_CLASSES:
		break;
	}
	return false;
}

/* @sandbox itself if the access is not part of a sandbox. NULL with @why. Takes @sandbox. */
static struct exec_sandbox *widen_by(struct exec_sandbox *sandbox,
				     const struct orchestrator_access *access, struct err *why)
{
	struct exec_sandbox *wider;

	if (access->what == ORCHESTRATOR_WRITE_PATH || access->what == ORCHESTRATOR_READ_PATH)
		wider = exec_sandbox_widen(
			sandbox, access->name,
			access->what == ORCHESTRATOR_WRITE_PATH ? EXEC_WRITE : EXEC_READ, why);
	else if (access->what == ORCHESTRATOR_SOCKET)
		wider = exec_sandbox_add_socket(sandbox, access->name, why);
	else
		return sandbox;
	exec_sandbox_free(sandbox);
	return wider;
}

struct exec_sandbox *access_widen(const struct exec_sandbox *sandbox,
				  const struct access_list *list, struct err *why)
{
	struct exec_sandbox *wider = exec_sandbox_copy(sandbox);

	for (size_t i = 0; wider && i < list->count; i++) {
		if (!access_is_given(wider, &list->list[i]))
			wider = widen_by(wider, &list->list[i], why);
	}
	return wider;
}

struct exec_sandbox *access_widen_if(struct exec_sandbox *sandbox,
				     const struct orchestrator_access *access)
{
	if (access_is_given(sandbox, access))
		return sandbox;
	struct exec_sandbox *wider = widen_by(exec_sandbox_copy(sandbox), access, NULL);

	if (wider)
		exec_sandbox_free(sandbox);
	return wider ? wider : sandbox;
}

/* "https://a.test:443", "https://[2001:db8::1]:443" */
static char *destination_text(const struct orchestrator_access *access)
{
	bool is_v6 = strchr(access->name, ':') != NULL;

	return mem_printf("%s://%s%s%s:%u", access->protocol, is_v6 ? "[" : "", access->name,
			  is_v6 ? "]" : "", access->port);
}

char *access_text(const struct orchestrator_access *access)
{
	if (access->what == ORCHESTRATOR_DESTINATION && access->protocol)
		return destination_text(access);
	return mem_printf("%s %s", class_words[access->what], access->name);
}

/* Can it stand in quotes in a line of the policy as it is? */
static bool is_plain(const char *path)
{
	for (const unsigned char *at = (const unsigned char *)path; *at; at++) {
		if (*at < 0x20 || *at >= 0x7f || *at == '"' || *at == '\\')
			return false;
	}
	return true;
}

char *access_line(const struct orchestrator_access *access, bool is_denial)
{
	if (access_check(access, NULL) < 0)
		return NULL;
	if (access->what == ORCHESTRATOR_DESTINATION) {
		auto_free char *text = destination_text(access);

		return mem_printf("%s %s", is_denial ? "deny" : "allow", text);
	}
	if (is_denial || !is_plain(access->name))
		return NULL;
	if (access->what == ORCHESTRATOR_SOCKET)
		return mem_printf("socket \"%s\"", access->name);
	if (access->what == ORCHESTRATOR_WRITE_PATH && access->is_listable)
		return mem_printf("write \"%s\"", access->name);
	return NULL; /* a line `read` would restrict reading to its paths */
}
