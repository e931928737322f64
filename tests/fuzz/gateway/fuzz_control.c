/* Lines of the approvers' socket, at a gateway where one question is open. */
#include <errno.h>
#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/peer.h"
#include "gateway/approvers/control/control.h"
#include "gateway/gateway_open.h"
#include "gateway/state.h"
#include "gateway/gateway.h"
#include "policies/policies_tools.h"
#include "tests/fuzz/fuzz.h"

#define ID "7f3a-1" /* of the question */

static const struct approver_ops *const none[] = { NULL };

static void on_verdict(const struct policy_verdict *verdict, void *arg)
{
	*(enum policy_action *)arg = verdict->action;
}

static bool holds(const uint8_t *bytes, size_t len, const char *word)
{
	return memmem(bytes, len, word, strlen(word)) != NULL;
}

static void settle(struct loop *loop)
{
	for (int i = 0; i < 20; i++)
		loop_step(loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static const char text[] = "version 1\ndefault ask\n";
	enum policy_action action = POLICY_ASK; /* no answer yet */
	struct loop *loop = loop_new_fake();
	struct policy *policy = policy_new();
	char dir[] = "/tmp/fuzz-control-XXXXXX";
	int pair[2];

	fuzz_must(mkdtemp(dir) != NULL);
	auto_free char *audit = mem_printf("%s/audit", dir), *head = mem_printf("%s.head", audit);

	fuzz_must(policy_load_text(policy, "<fuzz>", text) == 0 && policy_finish(policy) == 0);
	const struct gateway_config config = {
		.policy = policy,
		.session = "fuzz",
		.run = "7f3a",
		.audit_path = audit,
		.audit_dir = dir,
		.patience_ms = -1,
		.prompt_timeout_ms = 60000,
	};
	struct gateway *gw = gateway_open_with(loop, &config, none, NULL);

	fuzz_must(gw && socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
	struct gateway_client *client = gateway_client_new(gw);
	struct policy_facts facts = { .way = POLICY_WAY_CONNECT, .exec = 1 };

	gateway_exec_begin(gw, 1, "fuzz");
	fuzz_must(policy_destination_parse("https://a.test:443", &facts.dst, NULL) == 0);
	facts.carries = facts.dst.protocol;
	(void)gateway_submit(client, &facts, on_verdict, &action);
	settle(loop);
	fuzz_must(action == POLICY_ASK);

	struct approver server = { .gw = gw, .loop = loop, .dir_fd = -1 };
	const struct peer peer = { .pid = getpid(), .uid = geteuid() };

	server.run = mem_strdup("7f3a");
	server.session = mem_strdup("fuzz");
	struct control_client *peer_client = control_client_new(&server, pair[0], &peer);
	int r = control_request_serve(peer_client, (const char *)bytes, len);

	settle(loop);
	fuzz_must(r == 0 || r == -EBADMSG);
	/* Only a line with allow and the question's name allows; a line that is not JSON has no
	 * effect. A name may be written with escapes. */
	bool is_escaped = holds(bytes, len, "\\u");

	if (action == POLICY_ALLOW)
		fuzz_must(r == 0 && (is_escaped || (holds(bytes, len, "\"allow\"") &&
						    holds(bytes, len, "\"" ID "\""))));
	if (action == POLICY_DENY)
		fuzz_must(r == 0 && (is_escaped || holds(bytes, len, "\"" ID "\"")));
	control_client_free(peer_client);
	(void)close(pair[1]);
	loop_timer_stop(&server.sweep);
	free(server.run);
	free(server.session);
	gateway_free(gw);
	settle(loop);
	gateway_client_free(client);
	policy_free(policy);
	loop_free(loop);
	(void)unlink(audit);
	(void)unlink(head);
	fuzz_must(rmdir(dir) == 0);
	return 0;
}
