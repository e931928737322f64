/* The roots of the client: the first one becomes the folder of the session, and the others are
 * writable in it. A client that can list them is asked when it is ready, and again when they have
 * changed. What is wrong with an answer is logged, and the session keeps what it has by itself. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/mcp/mcp_impl.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/process/aside.h"
#include "base/text.h"

#define SCHEME       "file://"
#define PATH_LEN_MAX 4095
#define LOOK_MS      10000
#define LOOK_BYTES   (1 << 20)
#define REFUSED_MAX  2048 /* bytes of the reasons, in a result */

/* Logs it, and adds it to what a model reads when a command fails. */
static void refuse(struct mcp *mcp, const char *words)
{
	const char *before = mcp->roots.refused;
	auto_free char *both = before ? mem_printf("%s\n%s", before, words) : mem_strdup(words);

	log_warn("%s", words);
	if (strlen(both) > REFUSED_MAX)
		return;
	free(mcp->roots.refused);
	mcp->roots.refused = take(both);
}

static void forget_refusals(struct mcp *mcp)
{
	free(take(mcp->roots.refused));
}

static void forget_request(struct mcp *mcp)
{
	loop_timer_stop(&mcp->roots.late);
	mcp->roots.id[0] = '\0';
}

/* The answer, if any, was handled: the calls that waited for it are sent. */
static void settle(struct mcp *mcp)
{
	bool must_ask = mcp->roots.must_ask;

	mcp->roots.must_ask = mcp->roots.is_awaited = false;
	if (must_ask)
		mcp_roots_ask(mcp);
	else
		mcp_call_release(mcp);
}

static void on_late(void *arg)
{
	struct mcp *mcp = arg;

	forget_request(mcp);
	log_warn("the client did not list its roots in %d s; the session's folders stay as they "
		 "are",
		 MCP_ROOTS_MS / 1000);
	settle(mcp);
}

void mcp_roots_begin(struct mcp *mcp, const json_t *capability)
{
	if (!mcp->config.check_root || !json_is_object(capability))
		return;
	mcp->roots.is_supported = mcp->roots.is_awaited = true;
	/* For a client that never says that it is ready. */
	loop_timer_start(mcp->config.loop, &mcp->roots.late, MCP_ROOTS_MS, on_late, mcp);
}

void mcp_roots_ask(struct mcp *mcp)
{
	struct mcp_roots *roots = &mcp->roots;

	if (!roots->is_supported || mcp->is_over)
		return;
	if (roots->id[0] || roots->look) {
		roots->must_ask = true;
		return;
	}
	roots->is_awaited = true;
	mcp_make_id(mcp, MCP_ROOTS, roots->id);
	loop_timer_start(mcp->config.loop, &roots->late, MCP_ROOTS_MS, on_late, mcp);
	(void)rpc_request(mcp->front, roots->id, "roots/list", /* no limit but the queue's */
			  json_object());
}

/* RFC 8089: a path of this machine, with escaped bytes. Owned; NULL: it is none. */
static char *path_of(const char *uri)
{
	static const char here[] = "localhost";
	const char *from = uri + strlen(SCHEME);
	size_t used = 0;

	if (strncasecmp(uri, SCHEME, strlen(SCHEME)) != 0)
		return NULL;
	if (strncasecmp(from, here, strlen(here)) == 0)
		from += strlen(here);
	auto_free char *path = mem_new(strlen(from) + 1);

	while (*from) {
		unsigned int byte = (unsigned char)*from;
		bool is_escaped = byte == '%';

		if (is_escaped &&
		    (!isxdigit((unsigned char)from[1]) || !isxdigit((unsigned char)from[2]) ||
		     sscanf(from + 1, "%2x", &byte) != 1))
			return NULL;
		if (byte < 0x20 || byte == 0x7f || (!is_escaped && (byte == '?' || byte == '#')))
			return NULL;
		path[used++] = (char)byte;
		from += is_escaped ? 3 : 1;
	}
	return path[0] == '/' && used <= PATH_LEN_MAX ? take(path) : NULL;
}

/* Runs in a process of its own: one line for each path, "+" and its real path or "-" and why not.
 */
static void look(FILE *out, void *arg)
{
	const struct mcp *mcp = arg;

	for (char *const *path = mcp->roots.paths; *path; path++) {
		struct err why = { 0 };
		auto_free char *real = mcp->config.check_root(*path, &why, mcp->config.arg);
		auto_free char *shown = text_visible_dup(*path);
		auto_free char *words = text_visible_dup(why.text);

		/* Into memory. */
		if (real && !strchr(real, '\n') && strlen(real) <= PATH_LEN_MAX)
			(void)fprintf(out, "+%s\n", real);
		else
			(void)fprintf(out, "-%s: %s\n", shown, words);
	}
}

static bool has_path(const json_t *list, const char *path)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (strcmp(json_string_value(json_array_get(list, i)), path) == 0)
			return true;
	}
	return false;
}

/* What is writable by option or policy is so beside these folders. Takes @writable. */
static void change_session(struct mcp *mcp, const char *cwd, json_t *writable)
{
	const char *mode = mcp->sandbox ? mcp->sandbox : "workspace-write";
	json_t *sandbox = json_pack("{s:s}", "mode", mode);
	char id[MCP_ID_MAX];

	if (strcmp(mode, "workspace-write") == 0)
		(void)json_object_set(sandbox, "writable",
				      writable); /* fails only without memory */
	json_decref(writable);
	mcp_make_id(mcp, MCP_ROOTS, id);
	if (!mcp_tell_agent(mcp, "override_turn_context", id,
			    json_pack("{s:s, s:s, s:o}", "session", MCP_SESSION, "cwd", cwd,
				      "sandbox", sandbox)))
		refuse(mcp, "the client's roots are too long");
}

/* Without a root that counts, the session is in the server's own folder. */
static void take_roots(struct mcp *mcp, json_t *roots)
{
	auto_free char *cwd = mem_strdup_or_null(json_string_value(json_array_get(roots, 0)));

	if (cwd)
		(void)json_array_remove(roots, 0); /* it is there */
	if (cwd || mcp->roots.is_set)
		change_session(mcp, cwd ? cwd : mcp->config.cwd, json_incref(roots));
	mcp->roots.is_set = cwd != NULL;
	json_decref(roots);
}

static void on_looked(int result, const char *bytes, size_t len, void *arg)
{
	struct mcp *mcp = arg;
	struct aside *aside = take(mcp->roots.look); /* owns the bytes */
	auto_free char *text = mem_strndup(result == 0 ? bytes : "", result == 0 ? len : 0);
	char *rest = text;
	json_t *roots = json_array();

	mem_free_list(take(mcp->roots.paths));
	if (result < 0) {
		auto_free char *words = mem_printf("the client's roots cannot be examined: %s",
						   aside_words(result));

		refuse(mcp, words);
	}
	for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
		auto_free char *words =
			mem_printf("the client's root does not count: %s", line[0] ? line + 1 : "");

		if (line[0] == '-')
			refuse(mcp, words);
		else if (line[0] == '+' && !has_path(roots, line + 1))
			(void)json_array_append_new(roots, /* fails only without memory */
						    json_string(line + 1));
	}
	aside_free(aside);
	take_roots(mcp, roots);
	settle(mcp);
}

static void read_roots(struct mcp *mcp, const json_t *list)
{
	char **paths = mem_new_array(1, sizeof(*paths));
	size_t count = json_array_size(list);

	for (size_t i = 0; i < count && i < MCP_ROOTS_MAX; i++) {
		const char *uri =
			json_string_value(json_object_get(json_array_get(list, i), "uri"));
		char *path = uri ? path_of(uri) : NULL;
		auto_free char *shown = text_visible_dup(uri ? uri : "an entry without \"uri\"");
		auto_free char *words = mem_printf("the client's root does not count: %.200s: it "
						   "is not a file:// address of an absolute path",
						   shown);

		if (path)
			mem_append_list(&paths, path);
		else
			refuse(mcp, words);
	}
	if (count > MCP_ROOTS_MAX) {
		auto_free char *words = mem_printf(
			"only the first %d of the client's %zu roots count", MCP_ROOTS_MAX, count);

		refuse(mcp, words);
	}
	mcp->roots.paths = paths;
}

bool mcp_roots_answered(struct mcp *mcp, const char *id, const json_t *result)
{
	const json_t *list = json_object_get(result, "roots");
	const struct aside_config config = {
		.name = "sallyport-roots",
		.run = look,
		.run_arg = mcp,
		.limit_ms = LOOK_MS,
		.max_bytes = LOOK_BYTES,
		.done = on_looked,
		.arg = mcp,
	};

	if (!id || !mcp->roots.id[0] || strcmp(id, mcp->roots.id) != 0)
		return false;
	forget_request(mcp);
	if (!json_is_array(list)) {
		log_warn("the client's answer to roots/list has no list of roots; the session's "
			 "folders stay as they are");
		settle(mcp);
		return true;
	}
	forget_refusals(mcp);
	read_roots(mcp, list);
	mcp->roots.look = aside_start(mcp->config.loop, &config);
	return true;
}

/* If it is refused, the session has the folders of before, which the client does not list any more:
 * then it gets its own. */
void mcp_roots_replied(struct mcp *mcp, const json_t *error)
{
	const char *message = json_string_value(json_object_get(error, "message"));
	auto_free char *shown = text_visible_dup(message ? message : "the agent gave no reason");
	auto_free char *words = mem_printf("the client's roots do not count: %s", shown);

	if (!error)
		return;
	refuse(mcp, words);
	take_roots(mcp, json_array());
}

void mcp_roots_done(struct mcp *mcp)
{
	loop_timer_stop(&mcp->roots.late);
	aside_free(take(mcp->roots.look));
	mem_free_list(take(mcp->roots.paths));
	forget_refusals(mcp);
}
