#include "cli/gate/grants_of.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "cli/approve/approve.h"
#include "cli/cli.h"
#include "cli/session/session_place.h"
#include "cli/session/session_wire.h"
#include "gateway/gateway_copies.h"

#define GRANTS_MAX 65536 /* a gate of this program sends no more */
#define ASK_MS     10000 /* for the whole list */

/* Asks for the part of the list that follows grant @after. *@ret_more: there is another part. */
static int ask_part(struct approve_link *link, json_int_t *after, json_t *all, bool *ret_more,
		    struct err *why)
{
	json_t *reply = NULL;
	int r = approve_link_request(link, json_pack("{s:s, s:I}", "op", "copy", "after", *after),
				     &reply, why);
	const json_t *grants = json_object_get(reply, "grants");
	const json_t *last =
		json_object_get(json_array_get(grants, json_array_size(grants) - 1), "id");

	if (r < 0)
		return r;
	*ret_more = json_integer_value(json_object_get(reply, "more")) > 0;
	if (!json_is_array(grants) || (*ret_more && json_integer_value(last) <= *after))
		r = err_set(why, -EPROTO, "it sent a malformed list of its answers");
	*after = json_integer_value(last);
	if (r == 0 && json_array_extend(all, (json_t *)(uintptr_t)grants) < 0)
		r = -ENOMEM;
	if (r == 0 && json_array_size(all) > GRANTS_MAX)
		r = err_set(why, -E2BIG, "it remembers too many answers");
	json_decref(reply);
	return r;
}

static int ask_all(struct approve_link *link, json_t *all, struct err *why)
{
	int64_t until_ms = loop_clock_ms() + ASK_MS;
	json_int_t after = 0;
	bool has_more = true;
	int r = 0;

	while (r == 0 && has_more) {
		r = ask_part(link, &after, all, &has_more, why);
		if (r == 0 && has_more && loop_clock_ms() > until_ms)
			r = err_set(why, -ETIMEDOUT, "it takes too long to list its answers");
	}
	return r;
}

/* -ENOENT: no such run. */
static int ask_run(struct grants_of *ours, struct err *why)
{
	struct approve_link link;
	auto_close int dir_fd = approve_dir_open(why);
	json_t *all;

	if (dir_fd < 0)
		return dir_fd;
	int r = approve_link_open(dir_fd, ours->run, APPROVE_WAIT_MS, &link, why);

	if (r < 0)
		return r == -ECONNREFUSED ? -ENOENT : r;
	all = json_array();
	r = ask_all(&link, all, why);
	ours->text = json_dumps(all, JSON_COMPACT);
	json_decref(all);
	approve_link_done(&link);
	return r < 0 ? r : ours->text ? 0 : -ENOMEM;
}

int grants_of_ask(const char *name, struct grants_of *ret)
{
	struct session_state state;
	struct err why = { 0 };
	int r = session_place_find(name, &state, &why);

	*ret = (struct grants_of){ .name = name };
	if (r == 0)
		ret->run = mem_strdup(state.id);
	else if (r == -ENOENT && approve_input_is_run(name))
		ret->run = mem_strdup(name); /* the id of a run without a session */
	r = ret->run ? ask_run(ret, &why) : r;
	if (r == 0)
		return CLI_OK;
	return cli_fail(CLI_NO_SANDBOX, "--grants-of %s: %s; nothing was started", name,
			r == -ENOENT ? "no session or run has this name" : why.text);
}

int grants_of_put(const struct grants_of *ours, struct gateway *gw)
{
	const struct gateway_copies copies = { ours->text, strlen(ours->text), ours->name,
					       ours->run };
	struct gateway_copied copied;
	struct err why = { 0 };

	if (gateway_copy(gw, &copies, &copied, &why) < 0)
		return cli_fail(CLI_NO_SANDBOX, "--grants-of %s: %s; nothing was started",
				ours->name, why.text);
	if (copied.execs + copied.kept + copied.spent > 0)
		(void)cli_fail(
			CLI_OK,
			"--grants-of %s: answers copied: %zu; not copied: %zu for one command, %zu "
			"for always (your policy file has them), %zu used up or expired",
			ours->name, copied.copied, copied.execs, copied.kept, copied.spent);
	return CLI_OK;
}

void grants_of_free(struct grants_of *ours)
{
	free(ours->run);
	free(ours->text);
	*ours = (struct grants_of){ 0 };
}
