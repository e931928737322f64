/* Lines of a client, as they come: whatever they say, each is answered, nothing starts without a
 * gate, and all of it is freed. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/core.h"
#include "agent/submission.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "tests/fuzz/fuzz.h"

static struct command_world *world_new(const char *cwd, const char *path, char *const *writable,
				       void *arg)
{
	return mem_new(sizeof(struct command_world));
}

static void world_free(struct command_world *world, void *arg)
{
	free(world);
}

static int widen(char *const *paths, struct err *why, void *arg)
{
	for (char *const *path = paths; *path; path++)
		fuzz_must(**path == '/' && !strstr(*path, "/../"));
	return 0;
}

static int store(const char *const *lines, struct err *why, void *arg)
{
	fuzz_must(false); /* nobody answers here */
	return 0;
}

static void on_end(void *arg)
{
}

static const struct agent_host host = { world_new, world_free, widen, store, on_end };

static void serve(struct agent *agent, const uint8_t *bytes, size_t len)
{
	const char *at = (const char *)bytes, *end = at + len;

	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t line_len = (size_t)((stop ? stop : end) - at);
		auto_free char *line = mem_new(line_len + 1);

		memcpy(line, at, line_len);
		submission_serve(agent, line, line_len);
		at += line_len + 1;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct loop *loop = loop_new_fake();
	struct err why = { 0 };
	const struct agent_config config = {
		.loop = loop,
		.in = null,
		.out = null,
		.id = "fuzz",
		.cwd = "/work",
		.host = &host,
	};
	struct agent *agent = agent_new(&config, &why);

	fuzz_must(agent != NULL);
	serve(agent, bytes, len);
	loop_step(loop);
	fuzz_must(agent->last_exec == 0);
	agent_free(agent);
	loop_free(loop);
	close(null);
	return 0;
}
