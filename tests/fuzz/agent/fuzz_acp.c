/* Lines that begin with 'e' are the editor's, those with 'a' the agent's, and those with 's' the
 * server's: whatever they say, the editor hears only what may pass, the server hears only what is
 * ours to say, and no answer unless the editor has spoken. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/agent_acp.h"
#include "base/crypto/base64.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "tests/fuzz/fuzz.h"

#define STEPS 6
#define OWN   "sallyport:"

/* [0] is ours. */
struct ends {
	struct loop *loop;
	int editor[2], server[2], pipe[2];
	bool has_spoken; /* the editor */
};

static bool is_one_of(const char *word, const char *const *list)
{
	for (; *list; list++) {
		if (word && strcmp(word, *list) == 0)
			return true;
	}
	return false;
}

static bool is_own(const json_t *id)
{
	const char *text = json_string_value(id);

	return text && strncmp(text, OWN, strlen(OWN)) == 0;
}

static void check_editor(const struct ends *ends, const json_t *message)
{
	static const char *const passed[] = {
		"session/request_permission", "elicitation/create", "session/update",
		"elicitation/complete",       "$/cancel_request",   NULL
	};
	const char *method = json_string_value(json_object_get(message, "method"));
	const json_t *id = json_object_get(message, "id");

	fuzz_must(!method || is_one_of(method, passed));
	if (method && is_own(id))
		fuzz_must(strcmp(method, "session/request_permission") == 0);
	if (!method && is_own(id)) /* only what is refused to the editor itself */
		fuzz_must(ends->has_spoken && json_object_get(message, "error"));
}

static void check_server(const struct ends *ends, const json_t *message)
{
	static const char *const said[] = {
		"initialize", "configure_session", "exec", "write_input", "cancel", "approve", NULL
	};
	static const char *const decisions[] = { "approved", "approved_for_session", "always",
						 "denied",   "denied_always",        NULL };
	const char *method = json_string_value(json_object_get(message, "method"));
	const json_t *params = json_object_get(message, "params");

	fuzz_must(is_one_of(method, said));
	if (strcmp(method, "approve") == 0)
		fuzz_must(ends->has_spoken &&
			  is_one_of(json_string_value(json_object_get(params, "decision")),
				    decisions));
	fuzz_must(!json_object_get(params, "sandbox_permissions") &&
		  !json_object_get(params, "additional_permissions"));
}

static void hear(const struct ends *ends, int fd,
		 void (*check)(const struct ends *ends, const json_t *message))
{
	static char text[1 << 20];
	size_t len = 0;
	ssize_t got;

	while ((got = read(fd, text + len, sizeof(text) - len)) > 0) {
		char *end;

		len += (size_t)got;
		while ((end = memchr(text, '\n', len))) {
			json_t *message = json_loadb(text, (size_t)(end - text),
						     JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);

			fuzz_must(json_is_object(message));
			check(ends, message);
			json_decref(message);
			len -= (size_t)(end + 1 - text);
			memmove(text, end + 1, len);
		}
	}
}

static void step(const struct ends *ends)
{
	for (int i = 0; i < STEPS; i++) {
		loop_step(ends->loop);
		hear(ends, ends->editor[0], check_editor);
		hear(ends, ends->server[0], check_server);
	}
}

/* False: the other end has hung up. */
static bool say(const struct ends *ends, int fd, const char *bytes, size_t len)
{
	bool is_open = send(fd, bytes, len, MSG_NOSIGNAL) == (ssize_t)len &&
		       send(fd, "\n", 1, MSG_NOSIGNAL) == 1;

	step(ends);
	return is_open;
}

/* As the server tells it. */
static bool say_agent(const struct ends *ends, const char *bytes, size_t len)
{
	auto_free char *encoded = base64_encode(bytes, len);
	auto_free char *line =
		mem_printf("{\"jsonrpc\":\"2.0\",\"method\":\"exec_output\",\"params\":"
			   "{\"id\":\"program\",\"stream\":\"stdout\",\"base64\":"
			   "\"%s\"}}",
			   encoded);

	return say(ends, ends->server[0], line, strlen(line));
}

static void play(struct ends *ends, const char *bytes, size_t len)
{
	bool is_open = true;

	while (len > 1 && is_open) {
		const char *end = memchr(bytes, '\n', len);
		size_t line = end ? (size_t)(end - bytes) : len;

		if (line > 0 && bytes[0] == 'a') {
			is_open = say_agent(ends, bytes + 1, end ? line : line - 1);
		} else if (line > 0 && bytes[0] == 'e') {
			ends->has_spoken = true;
			is_open = say(ends, ends->editor[0], bytes + 1, line - 1);
		} else if (line > 0 && bytes[0] == 's') {
			is_open = say(ends, ends->server[0], bytes + 1, line - 1);
		}
		bytes += end ? line + 1 : line;
		len -= end ? line + 1 : line;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static const char *const command[] = { "agent", NULL };
	const int type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
	struct err why = { 0 };
	struct ends ends = { .loop = loop_new_fake() };
	int errors = open("/dev/null", O_WRONLY | O_CLOEXEC);

	fuzz_must(errors >= 0 && socketpair(AF_UNIX, type, 0, ends.editor) == 0 &&
		  socketpair(AF_UNIX, type, 0, ends.server) == 0 &&
		  socketpair(AF_UNIX, type, 0, ends.pipe) == 0);
	const struct acp_config config = {
		.loop = ends.loop,
		.in = ends.editor[1],
		.out = ends.editor[1],
		.errors = errors,
		.agent = ends.server[1],
		.pipe = { ends.pipe[0], ends.pipe[1] },
		.command = command,
	};
	struct acp *acp = acp_new(&config, &why);

	fuzz_must(acp != NULL);
	play(&ends, (const char *)bytes, len);
	(void)shutdown(ends.editor[0], SHUT_WR);
	step(&ends);
	acp_free(acp);
	loop_free(ends.loop);
	fd_close(errors);
	for (int i = 0; i < 2; i++) {
		fd_close(ends.editor[i]);
		fd_close(ends.server[i]);
		fd_close(ends.pipe[i]);
	}
	return 0;
}
