/* Lines of a client of the Model Context Protocol, before an agent that never answers: whatever
 * they say, the agent hears of a session, commands and their ends, with the members that are the
 * client's to say, and of no answer. */
#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/agent_mcp.h"
#include "agent/rpc/channel.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "tests/fuzz/fuzz.h"

#define STEPS 4

/* What the client says goes to [0], and what the agent hears comes from there. */
struct ends {
	int client[2], agent[2];
};

static void check_member(const char *method, const char *name)
{
	static const char *const members[] = {
		"session",
		"script",
		"command",
		"cwd",
		"timeout_ms",
		"exec",
		"polled",
		"reason",
		"sandbox_permissions",
		"additional_permissions",
	};

	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		if (strcmp(members[i], name) == 0)
			return;
	}
	fuzz_must(strcmp(method, "configure_session") == 0 || strcmp(method, "initialize") == 0);
}

static void check_line(const char *line, size_t len)
{
	json_t *message = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	const char *method = json_string_value(json_object_get(message, "method"));
	json_t *params = json_object_get(message, "params");
	const char *session = json_string_value(json_object_get(params, "session"));
	const char *name;
	json_t *value;

	fuzz_must(method && json_string_value(json_object_get(message, "id")));
	bool is_first =
		strcmp(method, "configure_session") == 0 || strcmp(method, "initialize") == 0;

	fuzz_must(is_first || strcmp(method, "exec") == 0 || strcmp(method, "cancel") == 0);
	fuzz_must(is_first || (session && strcmp(session, "mcp") == 0));
	json_object_foreach(params, name, value) check_member(method, name);
	json_decref(message);
}

/* All that one end has to say; with @must_check each line of it is the agent's. */
static void hear(int fd, bool must_check)
{
	static char text[2 * CHANNEL_LINE_MAX];
	size_t len = 0;
	ssize_t got;

	while ((got = read(fd, text + len, sizeof(text) - len)) > 0) {
		char *end;

		len += (size_t)got;
		while ((end = memchr(text, '\n', len))) {
			if (must_check)
				check_line(text, (size_t)(end - text));
			len -= (size_t)(end + 1 - text);
			memmove(text, end + 1, len);
		}
		if (len == sizeof(text))
			len = 0; /* the client's: it is not looked at */
	}
}

static void step(struct loop *loop, const struct ends *ends)
{
	for (int i = 0; i < STEPS; i++) {
		loop_step(loop);
		hear(ends->client[0], false);
		hear(ends->agent[0], true);
	}
}

static void say(struct loop *loop, const struct ends *ends, const uint8_t *bytes, size_t len)
{
	while (len > 0) {
		ssize_t sent = send(ends->client[0], bytes, len, MSG_NOSIGNAL);

		if (sent < 0 && errno != EAGAIN)
			return;
		bytes += sent > 0 ? sent : 0;
		len -= sent > 0 ? (size_t)sent : 0;
		step(loop, ends);
		if (sent < 0 && recv(ends->agent[0], (char[1]){ 0 }, 1, MSG_PEEK) == 0)
			return; /* it has hung up */
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	const int type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
	struct loop *loop = loop_new_fake();
	struct err why = { 0 };
	struct ends ends;

	fuzz_must(socketpair(AF_UNIX, type, 0, ends.client) == 0 &&
		  socketpair(AF_UNIX, type, 0, ends.agent) == 0);
	const struct mcp_config config = {
		.loop = loop,
		.in = ends.client[1],
		.out = ends.client[1],
		.agent = ends.agent[1],
		.version = "1",
	};
	struct mcp *mcp = mcp_new(&config, &why);

	fuzz_must(mcp != NULL);
	say(loop, &ends, bytes, len);
	(void)shutdown(ends.client[0], SHUT_WR);
	step(loop, &ends);
	mcp_free(mcp);
	loop_free(loop);
	for (int i = 0; i < 2; i++) {
		fd_close(ends.client[i]);
		fd_close(ends.agent[i]);
	}
	return 0;
}
