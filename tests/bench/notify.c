#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "exec/exec_process.h"

/* The cost of reported calls: a command that writes many files, as an installer does, one
 * that reads them, and one that starts many programs; each with and without, taking turns, best of
 * ROUNDS. usage: bench-notify DIRECTORY */

#define ROUNDS 3
#define FILES  "5000"
#define STARTS "500"

enum told { NOBODY, BRIEFLY, REFUSED, READS, PROGRAMS, TOLDS };

static struct {
	struct loop *loop;
	struct exec_process *process;
	struct exec_process_result result;
} bench;

static const struct {
	const char *name, *prepare, *script;
} loads[] = {
	{ "write " FILES " files", "rm -rf tree; cp -r seed.tar tree.tar",
	  "mkdir tree; tar -C tree -xf tree.tar" },
	{ "read " FILES " files", "rm -rf tree; mkdir tree; tar -C tree -xf seed.tar",
	  "tar -C tree -cf /dev/full . 2>/dev/null; grep -rc x tree >/dev/null" },
	{ "start " STARTS " programs", "true",
	  "i=0; while [ $i -lt " STARTS " ]; do /bin/true; i=$((i+1)); done" },
};

static int on_egress(int *fds, size_t count, void *arg)
{
	for (size_t i = 0; i < count; i++)
		fd_close(fds[i]);
	return 0;
}

static void on_done(const struct exec_process_result *result, void *arg)
{
	bench.result = *result;
	loop_stop(bench.loop);
}

static void on_refused(const struct exec_evidence *evidence, void *arg)
{
	fprintf(stderr, "refused: %s %s\n", evidence->call, evidence->path);
}

static void on_program(uint64_t id, const struct exec_program *program, const char *const *argv,
		       const char *cwd, void *arg)
{
	(void)exec_process_answer(bench.process, id, true);
}

static int64_t run(const char *directory, const char *script, enum told told)
{
	const char *const argv[] = { "sh", "-c", script, NULL };
	const struct exec_plan_config config = {
		.argv = argv,
		.cwd = directory,
		.on_refused = told != NOBODY && told != PROGRAMS ? on_refused : NULL,
		.tells_briefly = told == BRIEFLY,
		.tells_reads = told == READS,
		.on_program = told == PROGRAMS ? on_program : NULL,
	};
	struct err why = { 0 };

	bench.loop = loop_new();
	int64_t before = loop_now_ms(bench.loop);

	bench.process = exec_process_start(bench.loop, &config, on_egress, on_done, NULL, &why);
	if (!bench.process) {
		fprintf(stderr, "bench-notify: %s\n", why.text);
		exit(EXIT_FAILURE);
	}
	(void)loop_run(bench.loop);
	int64_t after = loop_now_ms(bench.loop);

	exec_process_free(bench.process);
	loop_free(bench.loop);
	if (bench.result.end != EXEC_PROCESS_EXITED) {
		fprintf(stderr, "bench-notify: %s\n", bench.result.why);
		exit(EXIT_FAILURE);
	}
	return after - before;
}

int main(int argc, char **argv)
{
	static const char *const names[TOLDS] = { "nobody", "briefly refused", "refused",
						  "refused, reads", "programs" };

	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc != 2 || chdir(argv[1]) < 0 ||
	    system("rm -rf seed && mkdir seed && cd seed && i=0 && while [ $i -lt 50 ]; do mkdir "
		   "$i; j=0; while [ $j -lt 100 ]; do echo $i $j >$i/$j; j=$((j+1)); done; "
		   "i=$((i+1)); done && tar cf ../seed.tar . && cd .. && rm -rf seed") != 0) {
		fprintf(stderr, "usage: bench-notify DIRECTORY\n");
		return EXIT_FAILURE;
	}
	for (size_t load = 0; load < ARRAY_SIZE(loads); load++) {
		int64_t best[TOLDS] = { INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX };

		for (int round = 0; round < ROUNDS; round++)
			for (int told = NOBODY; told < TOLDS; told++) {
				if (system(loads[load].prepare) != 0)
					return EXIT_FAILURE;
				int64_t ms = run(argv[1], loads[load].script, (enum told)told);

				best[told] = ms < best[told] ? ms : best[told];
			}
		for (int told = NOBODY; told < TOLDS; told++)
			printf("%-20s told of %-16s %6lld ms  %.2f\n", loads[load].name,
			       names[told], (long long)best[told],
			       (double)best[told] / (double)best[NOBODY]);
	}
	return EXIT_SUCCESS;
}
