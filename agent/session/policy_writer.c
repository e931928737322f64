#include "agent/session/policy_writer.h"

#include <errno.h>
#include <stdlib.h>

#include "agent/session/client.h"
#include "agent/session/session.h"
#include "agent/session/tell.h"
#include "base/process/aside.h"
#include "base/err.h"
#include "base/mem.h"

#define LATE_MS     30000 /* of which up to 5 s are spent on a lock */
#define WRITERS_MAX 64    /* being written at the same time */

struct policy_writer {
	struct agent *agent;
	uint64_t session, number;
	const char *const *lines; /* in the process only; NULL in the server */
	struct aside *aside;
	LIST_ENTRY(policy_writer) entry;
};

/* Writes nothing but the reason of a failure. */
static void run(FILE *out, void *arg)
{
	const struct policy_writer *writer = arg;
	const struct agent_config *config = &writer->agent->config;
	struct err why = { 0 };

	if (config->host->store(writer->lines, &why, config->arg) < 0)
		(void)fputs(why.text[0] ? why.text : "the policy file cannot be written",
			    out); /* into memory */
}

static void writer_free(struct policy_writer *writer)
{
	LIST_REMOVE(writer, entry);
	writer->agent->writer_count--;
	aside_free(writer->aside);
	free(writer);
}

static void on_done(int result, const char *bytes, size_t len, void *arg)
{
	struct policy_writer *writer = arg;
	struct agent *agent = writer->agent;
	struct session *session;
	int r = result < 0 ? result : len > 0 ? -EIO : 0;

	if (r < 0)
		tell_warning(agent, result < 0 ? aside_words(result) : bytes);
	/* -ENOENT: the question has ended meanwhile; the answer is kept all the same. */
	TAILQ_FOREACH (session, &agent->sessions, entry) {
		if (session->number == writer->session)
			(void)orchestrator_stored(session->orchestrator, writer->number, r);
	}
	writer_free(writer);
	client_look(agent);
}

int policy_writer_append(uint64_t number, const char *const *lines, void *arg)
{
	const struct session *session = arg;
	struct agent *agent = session->agent;

	if (agent->writer_count == WRITERS_MAX)
		return -EAGAIN;
	struct policy_writer *writer = mem_new(sizeof(*writer));

	*writer = (struct policy_writer){ agent, session->number, number, lines, NULL, { 0 } };
	LIST_INSERT_HEAD(&agent->writers, writer, entry);
	agent->writer_count++;
	const struct aside_config config = {
		.name = "sallyport-keep",
		.run = run,
		.run_arg = writer,
		.limit_ms = LATE_MS,
		.max_bytes = ERR_MAX_BYTES,
		.done = on_done,
		.arg = writer,
	};

	writer->aside = aside_start(agent->loop, &config);
	writer->lines = NULL;
	return 0;
}

bool policy_writer_is_busy(const struct agent *agent)
{
	return !LIST_EMPTY(&agent->writers);
}

void policy_writer_forget_all(struct agent *agent)
{
	while (!LIST_EMPTY(&agent->writers))
		writer_free(LIST_FIRST(&agent->writers));
}
