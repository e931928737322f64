#include "exec/orchestrator/orchestrator_judge.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/loop.h"
#include "base/mem.h"
#include "base/process/aside.h"
#include "exec/orchestrator/orchestrator_program.h"

#define LIMIT_MS    10000 /* as long as the kernel's calls may take: see exec/notify/notify.c */
#define RUNNING_MAX 4     /* processes of one command */
#define WAITING_MAX 256   /* a process that is killed while it waits leaves its entry */

/* A struct orchestrator_judged and all that it points to. */
struct copy {
	struct orchestrator_judged judged; /* first */
	struct exec_program program, interpreter;
	char **argv, *cwd;
};

struct waiting {
	struct orchestrator_judge *judge;
	struct orchestrator_judged *judged;
	struct aside *aside; /* NULL: it waits for its turn */
	TAILQ_ENTRY(waiting) entry;
};

struct orchestrator_judge {
	struct orchestrator_judge_config config;
	TAILQ_HEAD(, waiting) waiting;
	size_t count, running;
};

static struct exec_program copy_program(const struct exec_program *program)
{
	return (struct exec_program){ mem_strdup(program->path), program->device, program->inode,
				      NULL };
}

struct orchestrator_judged *orchestrator_judge_copy(const struct orchestrator_judged *judged)
{
	struct copy *copy = mem_new(sizeof(*copy));

	copy->program = copy_program(judged->program);
	if (judged->program->interpreter) {
		copy->interpreter = copy_program(judged->program->interpreter);
		copy->program.interpreter = &copy->interpreter;
	}
	copy->argv = mem_copy_list(judged->argv);
	copy->cwd = mem_strdup(judged->cwd);
	copy->judged = (struct orchestrator_judged){ judged->id, &copy->program,
						     (const char *const *)copy->argv, copy->cwd };
	return &copy->judged;
}

void orchestrator_judge_copy_free(struct orchestrator_judged *judged)
{
	struct copy *copy = (struct copy *)judged;

	if (!copy)
		return;
	free((char *)(uintptr_t)copy->program.path);
	free((char *)(uintptr_t)copy->interpreter.path);
	mem_free_list(copy->argv);
	free(copy->cwd);
	free(copy);
}

static struct waiting *waiting_new(struct orchestrator_judge *judge,
				   const struct orchestrator_judged *judged)
{
	struct waiting *waiting = mem_new(sizeof(*waiting));

	waiting->judge = judge;
	waiting->judged = orchestrator_judge_copy(judged);
	return waiting;
}

/* It is in no list any more. */
static void waiting_free(struct waiting *waiting)
{
	aside_free(waiting->aside);
	orchestrator_judge_copy_free(waiting->judged);
	free(waiting);
}

/* In the process. */
static void run(FILE *out, void *arg)
{
	const struct waiting *waiting = arg;
	const struct orchestrator_judge_config *config = &waiting->judge->config;
	struct orchestrator_program opened;
	struct orchestrator_judgement judgement = { 0 };

	judgement.action = config->decide(waiting->judged,
					  orchestrator_program(waiting->judged->program, &opened),
					  &judgement.verdict, config->arg);
	(void)fwrite(&judgement, sizeof(judgement), 1, out); /* into memory */
}

static void start_next(struct orchestrator_judge *judge);

static void on_done(int result, const char *bytes, size_t len, void *arg)
{
	struct waiting *waiting = arg;
	struct orchestrator_judge *judge = waiting->judge;
	struct orchestrator_judgement judgement = { 0 };
	bool is_judged = result == 0 && len == sizeof(judgement);

	if (is_judged)
		memcpy(&judgement, bytes, sizeof(judgement));
	TAILQ_REMOVE(&judge->waiting, waiting, entry);
	judge->count--;
	judge->running--;
	judge->config.done(waiting->judged, is_judged ? &judgement : NULL,
			   aside_words(result == 0 ? -EPIPE : result), judge->config.arg);
	waiting_free(waiting);
	start_next(judge);
}

static void start_next(struct orchestrator_judge *judge)
{
	struct waiting *waiting;

	TAILQ_FOREACH (waiting, &judge->waiting, entry) {
		if (judge->running == RUNNING_MAX)
			return;
		if (waiting->aside)
			continue;
		const struct aside_config config = {
			.name = "sallyport-judge",
			.run = run,
			.run_arg = waiting,
			.limit_ms = LIMIT_MS,
			.max_bytes = sizeof(struct orchestrator_judgement),
			.done = on_done,
			.arg = waiting,
		};

		waiting->aside = aside_start(judge->config.loop, &config);
		judge->running++;
	}
}

struct orchestrator_judge *orchestrator_judge_new(const struct orchestrator_judge_config *config)
{
	struct orchestrator_judge *judge = mem_new(sizeof(*judge));

	judge->config = *config;
	TAILQ_INIT(&judge->waiting);
	return judge;
}

int orchestrator_judge_add(struct orchestrator_judge *judge,
			   const struct orchestrator_judged *judged)
{
	if (judge->count == WAITING_MAX)
		return -EBUSY;
	struct waiting *waiting = waiting_new(judge, judged);

	TAILQ_INSERT_TAIL(&judge->waiting, waiting, entry);
	judge->count++;
	start_next(judge);
	return 0;
}

void orchestrator_judge_free(struct orchestrator_judge *judge)
{
	struct waiting *waiting;

	if (!judge)
		return;
	while ((waiting = TAILQ_FIRST(&judge->waiting))) {
		TAILQ_REMOVE(&judge->waiting, waiting, entry);
		waiting_free(waiting);
	}
	free(judge);
}
