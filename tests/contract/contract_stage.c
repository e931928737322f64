#include "tests/contract/contract_stage.h"

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "gateway/gateway_open.h"
#include "gateway/state.h"
#include "policies/policies_tools.h"

struct contract_stage stage;

void stage_settle(void)
{
	for (int i = 0; i < 50; i++)
		loop_step(stage.loop);
	/* A person's screen is read. */
	char seen[4096];

	(void)fd_set_nonblocking(stage.screen, true);
	while (read(stage.screen, seen, sizeof(seen)) > 0)
		;
}

void stage_open(int i)
{
	const struct approver_ops *const table[] = { approver_table[i], NULL };
	struct err why = { 0 };

	memset(&stage, 0, sizeof(stage));
	unsetenv("TMUX"); /* the developer's */
	stage.fds = contract_count_fds();
	contract_open(&stage.place);
	if (strcmp(approver_table[i]->name, "metrics") == 0) {
		/* At any free port. The approver takes it. */
		stage.place.metrics.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		ck_assert_int_eq(listen(stage.place.metrics.fd, 8), 0);
	}
	ck_assert_int_eq(openpty(&stage.screen, &stage.keys, NULL, NULL, NULL), 0);
	stage.terminal.fd = stage.keys;
	stage.loop = loop_new_fake();
	stage.policy = policy_new();
	ck_assert_int_eq(policy_load_text(stage.policy, "<test>",
					  "version 1\ndefault ask\nlimit questions 4096\n"),
			 0);
	ck_assert_int_eq(policy_finish(stage.policy), 0);
	stage.place.config.policy = stage.policy;
	stage.place.config.terminal = &stage.terminal;
	stage.place.config.patience_ms = -1; /* no limit: even with no approver */
	stage.gw = gateway_open_with(stage.loop, &stage.place.config, table, &why);
	ck_assert_msg(stage.gw != NULL, "%s", why.text);
	ck_assert_uint_eq(stage.gw->approver_count, 1);
	stage.client = gateway_client_new(stage.gw);
	gateway_exec_begin(stage.gw, 1, "npm ci");
	stage_settle();
}

void stage_close(void)
{
	gateway_free(stage.gw);
	stage_settle();
	gateway_client_free(stage.client);
	policy_free(stage.policy);
	loop_free(stage.loop);
	fd_close(stage.screen);
	fd_close(stage.keys);
	ck_assert_uint_eq(contract_count_fds(), stage.fds);
	contract_close(&stage.place);
}

static void on_verdict(const struct policy_verdict *verdict, void *arg)
{
	stage.told++;
	stage.reason = verdict->reason;
}

struct gateway_ticket *stage_submit(const char *destination)
{
	struct policy_facts facts = { .way = POLICY_WAY_CONNECT, .exec = 1 };

	ck_assert_int_eq(policy_destination_parse(destination, &facts.dst, NULL), 0);
	facts.dst.protocol = facts.carries = policy_protocol_of_port(facts.dst.port);
	return gateway_submit(stage.client, &facts, on_verdict, NULL);
}

struct gateway_ticket *stage_ask(const char *destination)
{
	struct gateway_ticket *ticket = stage_submit(destination);

	stage_settle();
	return ticket;
}

/* Another approver's way in is added here. */
int stage_other_end(void)
{
	const struct approver_ops *ops = stage.gw->approvers[0].ops;

	if (strcmp(ops->name, "tty") == 0)
		return dup(stage.screen);
	if (strcmp(ops->name, "web") == 0)
		return contract_web_connect(&stage.place.web);
	if (strcmp(ops->name, "control") != 0)
		return -1;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/7f3a.sock", stage.place.dir);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	stage_settle();
	return fd;
}

void stage_say(int fd, const char *bytes, size_t len)
{
	if (fd >= 0)
		(void)!write(fd, bytes, len); /* whether it still listens is its affair */
	stage_settle();
}

void stage_say_to_page(int fd, const char *method, size_t length, const char *body)
{
	auto_free char *fields = contract_web_enter(&stage.place.web, stage_settle);
	auto_free char *request = mem_printf("%s HTTP/1.1\r\n%sContent-Length: %zu\r\n\r\n%s",
					     method, fields, length, body);

	stage_say(fd, request, strlen(request));
}
