/* usage: bench-gateway. What questions and remembered answers cost, in one process and across the
 * frame link; the audit log goes to a file in the folder it runs in, or, with an argument, nowhere.
 * Beside it, what the system asks for the same bytes in the same file: one write(2) of a record,
 * and of a batch of them. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/mem.h"
#include "gateway/approvers/approver_impl.h"
#include "gateway/gateway_open.h"
#include "gateway/state.h"
#include "policies/policies_tools.h"

#define WAITERS      10000
#define QUESTIONS    10000
#define EXECS        40
#define LOOKUPS      100000
#define FLIGHT       64  /* asked in one turn */
#define RECORD_BYTES 446 /* a decision's here */
#define ROUNDS       5

struct approver {
	unsigned int asked;
	char id[APPROVER_ID_MAX]; /* of the last question */
};

static struct approver somebody;

static struct approver *open_somebody(struct gateway *gw, struct loop *loop,
				      const struct gateway_config *config, struct err *why)
{
	return &somebody;
}

static bool is_attached(const struct approver *self)
{
	return true;
}

static void ask(struct approver *self, const struct approver_question *question)
{
	self->asked++;
	memcpy(self->id, question->id, sizeof(self->id));
}

static void changed(struct approver *self, const struct approver_question *question)
{
}

static void retract(struct approver *self, const struct approver_end *end)
{
}

static void close_somebody(struct approver *self)
{
}

static const struct approver_ops somebody_ops = {
	.name = "bench",
	.open = open_somebody,
	.is_attached = is_attached,
	.ask = ask,
	.changed = changed,
	.retract = retract,
	.close = close_somebody,
};

static struct bench {
	struct loop *loop;
	struct policy *policy;
	struct gateway *gw;
	struct gateway_client *client;
	unsigned int told;
	struct policy_verdict verdict; /* the last */
} bench;

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static double memory_mib(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	if (file) {
		(void)!fscanf(file, "%*u %lu", &pages);
		(void)fclose(file);
	}
	return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1024.0 * 1024.0);
}

static void on_verdict(const struct policy_verdict *verdict, void *arg)
{
	struct gateway_ticket **ticket = arg;

	bench.told++;
	bench.verdict = *verdict;
	if (verdict->action != POLICY_ALLOW)
		*ticket = NULL;
}

static void report(struct gateway_ticket **ticket, const struct policy_facts *facts)
{
	struct gateway_report done = { .facts = *facts,
				       .verdict = bench.verdict,
				       .ticket = take(*ticket),
				       .closed = POLICY_DONE,
				       .bytes_up = 400,
				       .bytes_down = 20000,
				       .duration_ms = 30 };

	gateway_report(bench.client, &done);
}

static struct policy_facts facts_of(const char *host, uint64_t exec)
{
	struct policy_facts facts = { .way = POLICY_WAY_CONNECT, .exec = exec };

	(void)policy_destination_set(&facts.dst, host, strlen(host), 443, NULL);
	facts.carries = POLICY_HTTPS;
	return facts;
}

/* As the gateway runs it: what is ready, and what that defers. */
static void step(void)
{
	(void)event_base_loop(loop_base(bench.loop), EVLOOP_ONCE | EVLOOP_NONBLOCK);
}

static void step_until(unsigned int told)
{
	while (bench.told < told)
		step();
}

static void bench_open(bool is_remote, const char *audit)
{
	const struct approver_ops *const table[] = { &somebody_ops, NULL };
	struct gateway_config config = { .session = "bench",
					 .run = "bench",
					 .audit_path = audit,
					 .audit_dir = ".",
					 .prompt_timeout_ms = 3600000 };
	int pair[2];

	memset(&bench, 0, sizeof(bench));
	bench.loop = loop_new();
	bench.policy = policy_new();
	policy_set_default(bench.policy, POLICY_ASK);
	config.policy = bench.policy;
	bench.gw = gateway_open_with(bench.loop, &config, table, NULL);
	for (uint64_t exec = 1; exec <= EXECS; exec++)
		gateway_exec_begin(bench.gw, exec, "bench");
	if (!is_remote) {
		bench.client = gateway_client_new(bench.gw);
		return;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0 ||
	    gateway_serve(bench.gw, pair[0], 0, -1) < 0)
		abort();
	bench.client = gateway_client_connect(bench.loop, pair[1], NULL, NULL, NULL);
}

static void bench_close(const char *audit)
{
	gateway_client_free(bench.client);
	gateway_free(bench.gw);
	policy_free(bench.policy);
	loop_free(bench.loop);
	if (audit) {
		auto_free char *head = mem_printf("%s.head", audit);

		(void)unlink(audit);
		(void)unlink(head);
	}
}

static void answer(enum gateway_scope scope, bool is_domain)
{
	const struct approver_answer yes = { .action = POLICY_ALLOW,
					     .scope = scope,
					     .by = "bench",
					     .width = { .is_domain = is_domain } };

	if (gateway_answer(bench.gw, somebody.id, &yes, NULL) < 0)
		abort();
}

static void time_release(const char *audit)
{
	static struct gateway_ticket *tickets[WAITERS];
	const struct policy_facts facts = facts_of("a.test", 1);
	unsigned int asked;

	bench_open(false, audit);
	asked = somebody.asked;
	for (int i = 0; i < WAITERS; i++)
		tickets[i] = gateway_submit(bench.client, &facts, on_verdict, &tickets[i]);
	while (bench.gw->waiting < WAITERS || somebody.asked == asked)
		step();
	uint64_t began = now_ns();

	answer(GATEWAY_ONCE, false);
	step_until(WAITERS);
	(void)printf("release of %d on one question    %7.1f ms\n", WAITERS,
		     (double)(now_ns() - began) / 1e6);
	bench_close(audit);
}

static void time_questions(const char *audit)
{
	static struct gateway_ticket *tickets[QUESTIONS];
	double before = memory_mib();

	bench_open(false, audit);
	uint64_t began = now_ns();

	for (int i = 0; i < QUESTIONS; i++) {
		char host[64];

		(void)snprintf(host, sizeof(host), "h%d.test", i);
		const struct policy_facts facts = facts_of(host, 1 + (uint64_t)i % EXECS);

		tickets[i] = gateway_submit(bench.client, &facts, on_verdict, &tickets[i]);
	}
	while (bench.gw->question_count < QUESTIONS || !TAILQ_EMPTY(&bench.gw->news))
		step();
	(void)printf("%d open questions              %7.1f ms, %.1f KiB each\n", QUESTIONS,
		     (double)(now_ns() - began) / 1e6, (memory_mib() - before) * 1024 / QUESTIONS);
	began = now_ns();
	gateway_exec_end(bench.gw, 1, 0);
	answer(GATEWAY_SESSION, true);
	(void)printf("a wide answer looks at the others  %7.1f ms\n",
		     (double)(now_ns() - began) / 1e6);
	bench_close(audit);
}

/* @flight asked at once: what they wait for their verdicts, and, with the records of their ends,
 * what they cost. */
static void time_grant(bool is_remote, bool is_domain, unsigned int flight, const char *audit)
{
	static struct gateway_ticket *tickets[FLIGHT];
	const struct policy_facts facts = facts_of("a.example.org", 1);
	uint64_t waited = 0, all = 0;

	bench_open(is_remote, audit);
	tickets[0] = gateway_submit(bench.client, &facts, on_verdict, &tickets[0]);
	for (int i = 0; i < 100; i++)
		step();
	answer(GATEWAY_SESSION, is_domain);
	step_until(1);
	report(&tickets[0], &facts);
	step();
	for (unsigned int i = 0; i < LOOKUPS / flight; i++) {
		uint64_t began = now_ns();

		for (unsigned int j = 0; j < flight; j++)
			tickets[j] = gateway_submit(bench.client, &facts, on_verdict, &tickets[j]);
		step_until(1 + flight * (i + 1));
		waited += now_ns() - began;
		for (unsigned int j = 0; j < flight; j++)
			report(&tickets[j], &facts);
		step();
		all += now_ns() - began;
	}
	unsigned int count = LOOKUPS / flight * flight;

	(void)printf("%s grant, %s, %2u at once %6.2f us, with its end %6.2f us\n",
		     is_domain ? "a wide" : "exact ",
		     is_remote ? "across the link" : "in the process ", flight,
		     (double)waited / 1e3 / count, (double)all / 1e3 / count);
	bench_close(audit);
}

/* The minimum cost: the bytes of a record, written to the kernel. */
static void time_write(size_t records, const char *audit)
{
	static const char bytes[FLIGHT * RECORD_BYTES];
	int fd = open(audit, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	uint64_t began = now_ns();

	for (unsigned int i = 0; i < LOOKUPS / records; i++) {
		if (write(fd, bytes, records * RECORD_BYTES) < 0)
			abort();
	}
	(void)printf("a bare write of %2zu records         %6.2f us each\n", records,
		     (double)(now_ns() - began) / 1e3 / LOOKUPS);
	(void)close(fd);
	(void)unlink(audit);
}

int main(int argc, char **argv)
{
	const char *audit = argc > 1 ? NULL : "bench-audit.jsonl";

	for (int round = 0; round < ROUNDS; round++) {
		if (audit) {
			time_write(1, audit);
			time_write(FLIGHT, audit);
		}
		time_grant(false, false, 1, audit);
		time_grant(false, false, FLIGHT, audit);
		time_grant(false, true, 1, audit);
		time_grant(true, false, 1, audit);
		time_grant(true, false, FLIGHT, audit);
		time_release(audit);
		time_questions(audit);
	}
	return 0;
}
