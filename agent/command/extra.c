#include "agent/command/extra.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/command/confine.h"
#include "agent/rpc/fields.h"
#include "agent/rpc/limits.h"
#include "base/err.h"
#include "base/mem.h"
#include "gateway/gateway_warning.h"
#include "policies/policies_tools.h"

struct lists {
	const char **read, **write, **network, **socket;
};
static const struct fields_entry list_fields[] = {
	{ "read", FIELDS_WORDS, offsetof(struct lists, read), AGENT_LIST_MAX, false, NULL },
	{ "write", FIELDS_WORDS, offsetof(struct lists, write), AGENT_LIST_MAX, false, NULL },
	{ "network", FIELDS_WORDS, offsetof(struct lists, network), AGENT_LIST_MAX, false, NULL },
	{ "socket", FIELDS_WORDS, offsetof(struct lists, socket), AGENT_LIST_MAX, false, NULL },
	{ 0 },
};

/* Adds one entry; its text is taken. */
static struct orchestrator_access *add(struct extra *extra, char *text)
{
	struct orchestrator_access *access = &extra->list[extra->count];

	extra->texts[extra->count++] = text;
	access->name = text;
	return access;
}

static int check_room(const struct extra *extra, struct err *why)
{
	if (extra->count < ORCHESTRATOR_ACCESSES_MAX)
		return 0;
	return err_set(why, -EINVAL, "\"additional_permissions\" has more than %d entries",
		       ORCHESTRATOR_ACCESSES_MAX);
}

static int add_paths(struct extra *extra, const char *const *paths, enum orchestrator_class what,
		     const char *cwd, struct err *why)
{
	for (size_t i = 0; paths && paths[i]; i++) {
		int r = check_room(extra, why);
		char *path = r == 0 ? confine_path(cwd, paths[i], why) : NULL;

		if (!path)
			return -EINVAL;
		add(extra, path)->what = what;
	}
	return 0;
}

static int add_destinations(struct extra *extra, const char *const *list, struct err *why)
{
	for (size_t i = 0; list && list[i]; i++) {
		struct policy_destination dst;
		int r = check_room(extra, why);

		if (r == 0)
			r = policy_destination_parse(list[i], &dst, why);
		if (r < 0)
			return -EINVAL;
		struct orchestrator_access *access = add(extra, mem_strdup(dst.host));

		access->what = ORCHESTRATOR_DESTINATION;
		access->protocol = policy_protocol_name(dst.protocol);
		access->port = dst.port;
	}
	return 0;
}

char *extra_destination(const struct orchestrator_access *access)
{
	bool is_v6 = strchr(access->name, ':') != NULL;

	return mem_printf("%s://%s%s%s:%u", access->protocol, is_v6 ? "[" : "", access->name,
			  is_v6 ? "]" : "", (unsigned int)access->port);
}

int extra_check(const struct extra *extra, struct gateway *gw, const char *const *argv,
		struct err *why)
{
	int r = 0;

	/* Without a gateway no destination is granted, and the command does not start. */
	for (size_t i = 0; r == 0 && gw && i < extra->count; i++) {
		if (extra->list[i].what != ORCHESTRATOR_DESTINATION)
			continue;
		auto_free char *text = extra_destination(&extra->list[i]);

		r = gateway_may_grant(gw, text, argv, why);
	}
	return r;
}

void extra_set_path(struct extra *extra, size_t at, const char *path)
{
	if (at >= extra->count)
		return;
	free(extra->texts[at]);
	extra->texts[at] = mem_strdup(path);
	extra->list[at].name = extra->texts[at];
}

int extra_read(struct extra *extra, const json_t *object, const char *cwd, struct err *why)
{
	struct lists lists = { 0 };
	int r = fields_read(object, list_fields, true, &lists, why);

	if (r == 0)
		r = add_paths(extra, lists.read, ORCHESTRATOR_READ_PATH, cwd, why);
	if (r == 0)
		r = add_paths(extra, lists.write, ORCHESTRATOR_WRITE_PATH, cwd, why);
	if (r == 0)
		r = add_paths(extra, lists.socket, ORCHESTRATOR_SOCKET, cwd, why);
	if (r == 0)
		r = add_destinations(extra, lists.network, why);
	fields_forget(list_fields, &lists);
	return r;
}

void extra_put(struct extra *extra, const struct orchestrator_access *access)
{
	struct policy_destination dst;
	auto_free char *text = extra_destination(access);

	/* The protocol's name must not be freed before this list. */
	if (extra->count == ORCHESTRATOR_ACCESSES_MAX ||
	    policy_destination_parse(text, &dst, NULL) < 0)
		return;
	struct orchestrator_access *put = add(extra, mem_strdup(access->name));

	put->what = access->what;
	put->protocol = policy_protocol_name(dst.protocol);
	put->port = access->port;
}

void extra_add(struct extra *to, const struct extra *from)
{
	for (size_t i = 0; i < from->count && to->count < ORCHESTRATOR_ACCESSES_MAX; i++) {
		struct orchestrator_access *access = add(to, mem_strdup(from->texts[i]));

		access->what = from->list[i].what;
		access->protocol = from->list[i].protocol;
		access->port = from->list[i].port;
	}
}

void extra_done(struct extra *extra)
{
	for (size_t i = 0; i < extra->count; i++)
		free(extra->texts[i]);
	*extra = (struct extra){ 0 };
}
