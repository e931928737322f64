#include "test_approve_stage.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "gateway/gateway.h"
#include "gateway/gateway_tools.h"
#include "policies/policies_tools.h"

#define DEADLINE_MS   20000 /* for anything a test waits for */
#define ARGUMENTS_MAX 16

/* Of the one group that is tested here. */
static const options_run_fn functions[CLI_COMMANDS] = {
	[CLI_APPROVE_LIST] = cli_approve_list,         [CLI_APPROVE_WATCH] = cli_approve_watch,
	[CLI_APPROVE_ALLOW] = cli_approve_answer,      [CLI_APPROVE_DENY] = cli_approve_answer,
	[CLI_APPROVE_ABORT] = cli_approve_answer,      [CLI_APPROVE_GRANTS] = cli_approve_grants,
	[CLI_APPROVE_REVOKE] = cli_approve_revoke,     [CLI_APPROVE_UNDO] = cli_approve_undo,
	[CLI_APPROVE_LIVE] = cli_approve_live,         [CLI_APPROVE_CUT] = cli_approve_cut,
	[CLI_APPROVE_BUNDLE] = cli_approve_bundle,     [CLI_APPROVE_POPUP] = cli_approve_popup,
	[CLI_APPROVE_REVIEWER] = cli_approve_reviewer,
};

struct stage stage;

void stage_run_open(struct run *run, const char *id)
{
	auto_free char *audit_path = mem_printf("%s/%s.jsonl", stage.dir, id);
	const struct gateway_config config = {
		.policy = stage.policy,
		.session = "test",
		.run = id,
		.audit_path = audit_path,
		.audit_dir = stage.dir,
		.answers_path = stage.answers_path,
		.control_dir = stage.control_dir,
		.prompt_timeout_ms = 60000,
	};
	struct err why = { 0 };

	(void)snprintf(run->id, sizeof(run->id), "%s", id);
	run->gw = gateway_new(stage.loop, &config, &why);
	ck_assert_msg(run->gw != NULL, "%s", why.text);
	run->client = gateway_client_new(run->gw);
	gateway_exec_begin(run->gw, 1, "npm ci");
}

void stage_run_close(struct run *run)
{
	if (!run->gw)
		return;
	gateway_free(run->gw);
	for (int i = 0; i < 8; i++)
		loop_step(stage.loop);
	gateway_client_free(run->client);
	*run = (struct run){ .told = run->told, .verdict = run->verdict };
}

void stage_setup(void)
{
	(void)snprintf(stage.dir, sizeof(stage.dir), "%s", "/tmp/test-approve-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(stage.dir));
	setenv("XDG_RUNTIME_DIR", stage.dir, 1);
	stage.control_dir = gateway_control_dir(NULL);
	ck_assert_ptr_nonnull(stage.control_dir);
	ck_assert_int_eq(strncmp(stage.control_dir, stage.dir, strlen(stage.dir)), 0);
	stage.answers_path = mem_printf("%s/policy", stage.dir);
	stage.loop = loop_new();
	stage.policy = policy_new();
	ck_assert_int_eq(policy_load_text(stage.policy, "<test>",
					  "version 1\ndefault ask\nlimit questions 4096\n"),
			 0);
	ck_assert_int_eq(policy_finish(stage.policy), 0);
}

void stage_teardown(void)
{
	auto_free char *remove = mem_printf("rm -r -- '%s'", stage.dir);

	for (size_t i = 0; i < ARRAY_SIZE(stage.runs); i++)
		stage_run_close(&stage.runs[i]);
	policy_free(stage.policy);
	loop_free(stage.loop);
	free(stage.control_dir);
	free(stage.answers_path);
	ck_assert_int_eq(system(remove), 0);
}

void stage_child_start(struct child *child, const char *words)
{
	char copy[256], *argv[ARGUMENTS_MAX + 1] = { NULL }, *rest = copy;
	int input[2], output[2], argc = 0;

	(void)snprintf(copy, sizeof(copy), "sallyport approve %s", words);
	while (rest && argc < ARGUMENTS_MAX)
		argv[argc++] = strsep(&rest, " ");
	ck_assert_int_eq(pipe2(input, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(output, O_CLOEXEC), 0);
	(void)fflush(stdout);
	child->pid = fork();
	if (child->pid == 0) {
		(void)dup2(input[0], STDIN_FILENO);
		(void)dup2(output[1], STDOUT_FILENO);
		(void)dup2(output[1], STDERR_FILENO);
		fd_close(input[1]);
		int status = options_run(functions, argc, argv);
		(void)fflush(stdout);
		_exit(status);
	}
	fd_close(input[0]);
	fd_close(output[1]);
	child->input = input[1];
	child->output = output[0];
	child->len = 0;
	child->text[0] = '\0';
	ck_assert_int_eq(fd_set_nonblocking(child->output, true), 0);
}

bool stage_child_turn(struct child *child)
{
	struct pollfd output = { .fd = child->output, .events = POLLIN };
	ssize_t got;

	loop_step(stage.loop);
	(void)poll(&output, 1, 1);
	while ((got = read(child->output, child->text + child->len,
			   STAGE_OUTPUT_MAX - 1 - child->len)) > 0)
		child->len += (size_t)got;
	child->text[child->len] = '\0';
	return got == 0;
}

void stage_child_until(struct child *child, const char *text)
{
	int64_t until_ms = loop_now_ms(stage.loop) + DEADLINE_MS;

	while (!strstr(child->text, text)) {
		ck_assert_msg(!stage_child_turn(child) && loop_now_ms(stage.loop) < until_ms,
			      "no `%s` in:\n%s", text, child->text);
	}
}

int stage_child_end(struct child *child)
{
	int64_t until_ms = loop_now_ms(stage.loop) + DEADLINE_MS;
	int status = 0;

	while (!stage_child_turn(child))
		ck_assert_msg(loop_now_ms(stage.loop) < until_ms, "it does not end");
	ck_assert_int_eq(waitpid(child->pid, &status, 0), child->pid);
	fd_close(child->input);
	fd_close(child->output);
	memcpy(stage.output, child->text, sizeof(stage.output));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void stage_child_say(struct child *child, const char *line)
{
	ck_assert_int_eq(write(child->input, line, strlen(line)), (ssize_t)strlen(line));
}

int stage_approve(const char *words)
{
	static struct child child;

	stage_child_start(&child, words);
	return stage_child_end(&child);
}

static void on_verdict(const struct policy_verdict *verdict, void *arg)
{
	struct run *run = arg;

	run->told++;
	run->verdict = *verdict;
}

void stage_ask(struct run *run, const char *destination)
{
	struct policy_facts facts = { .way = POLICY_WAY_CONNECT, .exec = 1 };

	ck_assert_int_eq(policy_destination_parse(destination, &facts.dst, NULL), 0);
	facts.carries = facts.dst.protocol;
	(void)gateway_submit(run->client, &facts, on_verdict, run);
	for (int i = 0; i < 8; i++)
		loop_step(stage.loop);
}

void stage_until_told(struct run *run, unsigned int told)
{
	int64_t until_ms = loop_now_ms(stage.loop) + DEADLINE_MS;

	while (run->told < told) {
		ck_assert_int_lt(loop_now_ms(stage.loop), until_ms);
		loop_step(stage.loop);
		(void)poll(NULL, 0, 1);
	}
}

void stage_watch(const char *words)
{
	stage_child_start(&stage.watcher, words);
	stage_child_until(&stage.watcher, "7f3a");
}

void stage_end_watch(int status)
{
	ck_assert_int_eq(kill(stage.watcher.pid, SIGTERM), 0);
	ck_assert_int_eq(stage_child_end(&stage.watcher), status);
}
