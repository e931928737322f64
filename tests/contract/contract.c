#include "tests/contract/contract.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/gateway_agent.h"
#include "gateway/gateway_tools.h"

/* What every program of an operator does: it sends every question back to the gate, or what the
 * test has said. */
static char script[1024] = "exec cat";
static const char *const echo[] = { "sh", "-c", script, NULL };
static const char *const bare[] = { "PATH=/usr/bin:/bin", NULL };
static const struct gateway_reviewer reviewer = {
	.program = { "/bin/sh", echo, bare },
	.may_answer = true,
	.digest = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
	.command = "cat",
};
static const struct gateway_program notify = { "/bin/sh", echo, bare };
static const struct gateway_webhook webhook = {
	.curl = { "/bin/cat", NULL, bare },
	.url = "http://127.0.0.1:1/",
	.key = "0123456789abcdef0123456789abcdef",
};
/* A program that reads, and writes nothing. */
static void ignore_question(const struct approver_question *question, void *arg)
{
	(void)question, (void)arg;
}
static const struct gateway_embedded embedded = { .on_question = ignore_question };
static const struct gateway_hook hook = { .program = { "/bin/sh", echo, bare },
					  .kinds = POLICY_HELPS_EXEC };
static const struct gateway_helpers helpers = { &reviewer, &notify, &webhook, &hook, 1 };

void contract_open(struct contract_place *place)
{
	memset(place, 0, sizeof(*place));
	(void)snprintf(place->dir, sizeof(place->dir), "%s", "/tmp/test-contract-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(place->dir));
	(void)snprintf(place->audit, sizeof(place->audit), "%s/audit.jsonl", place->dir);
	(void)snprintf(place->answers, sizeof(place->answers), "%s/policy", place->dir);
	(void)snprintf(place->seen, sizeof(place->seen), "%s/seen", place->dir);
	FILE *seen = fopen(place->seen, "we");

	ck_assert_ptr_nonnull(seen);
	ck_assert_int_ge(fputs("a.test\n", seen), 0); /* it does not warn */
	ck_assert_int_eq(fchmod(fileno(seen), 0600), 0);
	ck_assert_int_eq(fclose(seen), 0);
	place->metrics.fd = -1;
	place->syslog = (struct gateway_syslog){
		.name = "unix:/nonexistent",
		.type = SOCK_DGRAM,
		.address.ss_family = AF_UNIX,
		.address_len = sizeof(sa_family_t) + 1,
	};
	place->config = (struct gateway_config){
		.session = "contract",
		.run = "7f3a",
		.audit_path = place->audit,
		.audit_dir = place->dir,
		.answers_path = place->answers,
		.control_dir = place->dir,
		.seen_path = place->seen,
		.syslog = &place->syslog,
		.helpers = &helpers,
		.embedded = &embedded,
		.web = &place->web,
		.metrics = &place->metrics,
		.prompt_timeout_ms = 60000,
	};
}

void contract_script(const char *text)
{
	(void)snprintf(script, sizeof(script), "%s", text); /* fits */
}

void contract_close(struct contract_place *place)
{
	DIR *dir = opendir(place->dir);
	struct dirent *entry;

	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] != '.')
			ck_assert_int_eq(unlinkat(dirfd(dir), entry->d_name, 0), 0);
	}
	(void)closedir(dir);
	ck_assert_int_eq(rmdir(place->dir), 0);
}

size_t contract_count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t count = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		count++;
	(void)closedir(dir);
	return count;
}

int main(void)
{
	SRunner *runner = srunner_create(suite_approver_contract());
	int failed;

	srunner_add_suite(runner, suite_approver_ends());
	srunner_add_suite(runner, suite_sink_contract());
	srunner_add_suite(runner, suite_review_contract());
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
