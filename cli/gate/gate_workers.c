#include "cli/gate/gate.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "cli/cli.h"
#include "cli/run/run_options.h"
#include "gateway/gateway.h"
#include "gateway/gateway_note.h"

#define DEATHS_MS 60000
#define END_MAX   80

int gate_workers_fork(struct gate *gate)
{
	const struct proxy_config config = {
		.policy = gate->policy,
		.resolves = gate->options->resolves,
		.resolve_count = gate->options->resolve_count,
		.dns_addr = gate->options->dns_addr,
		.dns_port = gate->options->dns_port,
		.own_port = gate->web.port, /* 0: there is no page */
		.metrics_port = gate->metrics.port,
		.published = gate->published,
		.published_count = gate->published_count,
		.upstreams = gate->upstreams,
		.service = gate->service,
		.asks_nobody = gate->options->asks_nobody,
	};
	struct run_worker *worker = &gate->workers[gate->worker_count];
	struct err why = { 0 };

	assert(gate->worker_count < GATE_WORKERS_MAX);
	if (run_worker_prepare(&config, worker, &why) < 0)
		return cli_fail(CLI_NO_SANDBOX, "%s", why.text);
	gate->worker_count++;
	if (run_worker_start(worker, &gate->worker_socket, &why) < 0)
		return cli_fail(CLI_NO_SANDBOX, "%s", why.text);
	run_published_close(gate->published, &gate->published_count);
	return CLI_OK;
}

int gate_workers_start(struct gate *gate)
{
	int status = gate_workers_fork(gate);

	if (status != CLI_OK)
		return status;
	if (gateway_serve(gate->gateway, fd_take(&gate->worker_socket),
			  (unsigned int)gate->worker_count - 1, -1) < 0)
		return cli_fail(CLI_NO_SANDBOX, "the proxy worker cannot be reached");
	return CLI_OK;
}

/* Counts it. */
static bool is_too_often(struct gate *gate)
{
	int64_t now_ms = loop_now_ms(gate->loop);
	int64_t *oldest = &gate->deaths_ms[gate->death_count++ % GATE_DEATHS_MAX];

	*oldest = now_ms;
	if (gate->death_count < GATE_DEATHS_MAX)
		return false;
	return now_ms - gate->deaths_ms[gate->death_count % GATE_DEATHS_MAX] <= DEATHS_MS;
}

static void describe(int status, char out[END_MAX])
{
	if (WIFSIGNALED(status))
		(void)snprintf(out, END_MAX, "was killed by signal %d (%s)", WTERMSIG(status),
			       strsignal(WTERMSIG(status)));
	else
		(void)snprintf(out, END_MAX, "ended with status %d", WEXITSTATUS(status));
}

/* The worker cannot give a reason why it is not replaced; @why is empty if it may be. */
static void object(struct gate *gate, unsigned int number, bool is_hostile, struct err *why)
{
	bool is_often = is_too_often(gate);

	if (is_hostile)
		err_write(why, "it broke the protocol of its link");
	else if (is_often)
		err_write(why, "%d workers died within a minute", GATE_DEATHS_MAX);
	else if (gate->workers[number].starter == 0)
		err_write(why, "the gate is closing");
}

int gate_workers_next(struct gate *gate, unsigned int number, bool is_hostile,
		      char words[GATE_WHY_MAX])
{
	char end[END_MAX];
	struct err why = { 0 };
	int link = -1;

	/* A worker that has closed its link and goes on keeps nothing. */
	describe(run_worker_end(&gate->workers[number]), end);
	object(gate, number, is_hostile, &why);
	if (why.text[0] == '\0')
		(void)run_worker_start(&gate->workers[number], &link, &why);
	if (why.text[0] == '\0') {
		(void)snprintf(words, GATE_WHY_MAX,
			       "the proxy worker %s; its connections are lost, and a new worker "
			       "serves the next ones",
			       end);
		log_warn("%s", words);
	} else {
		(void)snprintf(words, GATE_WHY_MAX,
			       "the proxy worker died; all connections are closed: it %s, and it "
			       "is not replaced: %.160s",
			       end, why.text);
	}
	return link;
}

/* The new one begins with the policy of the gate's start, like the first one did. */
void gate_workers_gone(unsigned int number, bool is_hostile, void *arg)
{
	struct gate *gate = arg;
	char words[GATE_WHY_MAX];
	int image = gate->loaded.has_image ? gate->loaded.image : -1;
	int link = gate_workers_next(gate, number, is_hostile, words);
	bool is_served = link >= 0 && gateway_serve(gate->gateway, link, number, image) == 0;

	gateway_exec_note(gate->gateway, 0, GATEWAY_WORKER_ENDED, NULL, words);
	/* The owner may free the gate in this call: it must be the last. */
	if (!is_served && gate->calls.on_worker_gone)
		gate->calls.on_worker_gone(
			link < 0 ? words : "a new proxy worker cannot be reached", gate->calls.arg);
}

void gate_workers_end_starters(struct gate *gate)
{
	for (size_t i = 0; i < gate->worker_count; i++)
		run_worker_end_starter(&gate->workers[i]);
}

void gate_workers_kill(const struct gate *gate)
{
	for (size_t i = 0; i < gate->worker_count; i++)
		run_worker_kill(&gate->workers[i]);
}

void gate_workers_reap(struct gate *gate)
{
	for (size_t i = 0; i < gate->worker_count; i++)
		run_worker_done(&gate->workers[i]);
}
