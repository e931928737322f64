#include "tests/unit/gateway/fixture.h"

#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "gateway/gateway_open.h"
#include "gateway/gateway_tools.h"
#include "gateway/audit/journal.h"
#include "policies/policies_tools.h"

struct fixture fixture;

struct approver {
	struct fixture_approver *told;
	struct gateway *gw;
};

static struct approver *fake_open(struct gateway *gw, struct loop *loop,
				  const struct gateway_config *config, struct err *why)
{
	struct approver *self = mem_new(sizeof(*self));

	self->told = &fixture.approver;
	self->gw = gw;
	return self;
}

static bool fake_is_attached(const struct approver *self)
{
	return self->told->is_attached;
}

static void fake_keep(struct fixture_approver *told, const struct approver_question *question)
{
	told->last = *question;
	for (size_t i = 0; i < APPROVER_COMMANDS_MAX && question->commands[i]; i++) {
		(void)snprintf(told->texts[i], sizeof(told->texts[i]), "%s", question->commands[i]);
		told->last.commands[i] = told->texts[i];
	}
	told->last.rule = told->last.because = NULL; /* died with the call */
}

static void fake_ask(struct approver *self, const struct approver_question *question)
{
	struct fixture_approver *told = self->told;

	fake_keep(told, question);
	memcpy(told->ids[told->asked++ % FIXTURE_CALLS_MAX], question->id, APPROVER_ID_MAX);
	if (told->instead)
		told->instead_result = gateway_answer(self->gw, question->id, told->instead, NULL);
}

static void fake_changed(struct approver *self, const struct approver_question *question)
{
	self->told->changed++;
	fake_keep(self->told, question);
}

static void fake_retract(struct approver *self, const struct approver_end *end)
{
	self->told->retracted++;
	(void)snprintf(self->told->how, sizeof(self->told->how), "%s", end->how);
}

static void fake_heard(struct approver *self, const struct sink_record *record)
{
	self->told->heard[record->event]++;
}

static void fake_close(struct approver *self)
{
	self->told->closed++;
	free(self);
}

static const struct approver_ops fake_ops = {
	.name = "fake",
	.open = fake_open,
	.is_attached = fake_is_attached,
	.ask = fake_ask,
	.changed = fake_changed,
	.retract = fake_retract,
	.heard = fake_heard,
	.close = fake_close,
};
static const struct approver_ops *const fake_table[] = { &fake_ops, NULL };

static void on_abort(uint64_t exec, void *arg)
{
	fixture.aborted = exec;
	fixture.aborts++;
}

static void on_worker_gone(unsigned int worker, bool is_hostile, void *arg)
{
	fixture.workers_gone++;
}

void fixture_prepare(const char *more)
{
	bool is_managed = more && more[0] == '!',
	     is_default = !is_managed || !strstr(more, "default");
	auto_free char *text =
		mem_printf("version 1\n%s\n%s\nlimit questions 4096\n",
			   is_default ? "default ask" : "", more ? more + is_managed : "");

	memset(&fixture, 0, sizeof(fixture));
	(void)snprintf(fixture.dir, sizeof(fixture.dir), "%s", "/tmp/test-gateway-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(fixture.dir));
	(void)snprintf(fixture.audit, sizeof(fixture.audit), "%s/audit.jsonl", fixture.dir);
	(void)snprintf(fixture.segments, sizeof(fixture.segments), "%s/segments", fixture.dir);
	ck_assert_int_eq(mkdir(fixture.segments, 0700), 0);
	(void)snprintf(fixture.answers, sizeof(fixture.answers), "%s/policy", fixture.dir);
	fixture.loop = loop_new_fake();
	fixture.policy = policy_new();
	ck_assert_int_eq(policy_load_text_layer(fixture.policy, "<test>", text,
						is_managed ? POLICY_MANAGED : POLICY_COMMAND_LINE),
			 0);
	ck_assert_msg(policy_finish(fixture.policy) == 0, "%s", policy_errors(fixture.policy));
	fixture.approver.is_attached = true;
	fixture.config = (struct gateway_config){
		.policy = fixture.policy,
		.session = "test",
		.run = "7f3a",
		.audit_path = fixture.audit,
		.audit_dir = fixture.segments,
		.answers_path = fixture.answers,
		.prompt_timeout_ms = 60000,
		.on_abort = on_abort,
		.on_worker_gone = on_worker_gone,
	};
}

void fixture_start(void)
{
	struct err why = { 0 };

	fixture.gw = gateway_open_with(fixture.loop, &fixture.config, fake_table, &why);
	ck_assert_msg(fixture.gw != NULL, "%s", why.text);
	fixture.client = gateway_client_new(fixture.gw);
	gateway_exec_begin(fixture.gw, FIXTURE_EXEC, "npm ci");
	gateway_exec_begin(fixture.gw, FIXTURE_EXEC_TWO, "curl -sS https://example.org/");
}

void fixture_open(const char *more)
{
	fixture_prepare(more);
	fixture_start();
}

void fixture_settle(void)
{
	for (int i = 0; i < 200; i++)
		loop_step(fixture.loop);
}

void fixture_close(void)
{
	auto_free char *head = mem_printf("%s.head", fixture.audit);

	gateway_free(fixture.gw);
	fixture_settle();
	gateway_client_free(fixture.client);
	policy_free(fixture.policy);
	loop_free(fixture.loop);
	(void)unlink(fixture.audit);
	(void)unlink(head);
	(void)unlink(fixture.answers);
	ck_assert_int_eq(rmdir(fixture.segments), 0); /* nothing is left over */
	(void)rmdir(fixture.dir);
}

struct policy_facts fixture_facts(const char *destination, uint64_t exec)
{
	struct policy_facts facts = { .way = POLICY_WAY_CONNECT, .exec = exec };

	ck_assert_int_eq(policy_destination_parse(destination, &facts.dst, NULL), 0);
	facts.dst.protocol = policy_protocol_of_port(facts.dst.port);
	facts.carries = facts.dst.protocol;
	return facts;
}

void fixture_on_verdict(const struct policy_verdict *verdict, void *arg)
{
	struct fixture_request *request = arg;

	ck_assert_ptr_nonnull(request->ticket); /* never inside gateway_submit() */
	if (verdict->action == POLICY_ALLOW)
		request->pass = request->ticket;
	request->ticket = NULL;
	request->told++;
	request->verdict = *verdict;
	if (request->also)
		request->also(request);
}

void fixture_submit(struct fixture_request *request, const char *destination, uint64_t exec)
{
	struct policy_facts facts = fixture_facts(destination, exec);

	request->ticket = gateway_submit(fixture.client, &facts, fixture_on_verdict, request);
}

void fixture_ask(struct fixture_request *request, const char *destination, uint64_t exec)
{
	fixture_submit(request, destination, exec);
	fixture_settle();
}

int fixture_answer(enum policy_action action, enum gateway_scope scope)
{
	const struct approver_answer answer = {
		.action = action,
		.scope = scope,
		.by = "ana on tty",
	};
	int r = gateway_answer(fixture.gw, fixture.approver.last.id, &answer, NULL);

	fixture_settle();
	return r;
}

void fixture_publish(void)
{
	struct err why = { 0 };

	for (int i = 0; fixture.gw && i < 1000; i++) {
		if (journal_publish_now(fixture.gw->journal) != 1)
			break;
	}
	if (access(fixture.audit, F_OK) == 0)
		(void)gateway_audit_merge(fixture.audit, fixture.segments, &why);
}

void fixture_segment(char ret[FIXTURE_PATH_MAX])
{
	DIR *folder = opendir(fixture.segments);

	ck_assert_ptr_nonnull(folder);
	ret[0] = '\0';
	for (struct dirent *entry; (entry = readdir(folder));) {
		if (entry->d_name[0] != '.')
			(void)snprintf(ret, FIXTURE_PATH_MAX, "%s/%s", fixture.segments,
				       entry->d_name);
	}
	(void)closedir(folder);
	ck_assert_str_ne(ret, "");
}

char *fixture_record(const char *event)
{
	auto_free char *member = mem_printf("\"event\":\"%s\"", event);
	char line[16384], *found = NULL;

	fixture_publish();
	FILE *file = fopen(fixture.audit, "r");

	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file)) {
		if (!strstr(line, member))
			continue;
		free(found);
		found = mem_strdup(line);
	}
	(void)fclose(file);
	ck_assert_ptr_nonnull(found);
	return found;
}

unsigned int fixture_count_records(const char *event, const char *reason)
{
	fixture_publish();
	FILE *file = fopen(fixture.audit, "r");
	struct err why = { 0 };
	unsigned int count = 0;
	uint64_t records = 0;
	char line[16384];

	ck_assert_msg(gateway_audit_verify(fixture.audit, fixture.segments, NULL, &records, &why) ==
			      0,
		      "%s", why.text);
	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file)) {
		json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
		const char *its_reason = json_string_value(json_object_get(object, "reason"));

		ck_assert_ptr_nonnull(object);
		if (strcmp(json_string_value(json_object_get(object, "event")), event) == 0 &&
		    (!reason || (its_reason && strcmp(its_reason, reason) == 0)))
			count++;
		json_decref(object);
	}
	(void)fclose(file);
	return count;
}

void fixture_expect(const struct fixture_request *request, enum policy_action action,
		    enum policy_reason reason)
{
	ck_assert_uint_eq(request->told, 1);
	ck_assert_str_eq(policy_reason_code(request->verdict.reason), policy_reason_code(reason));
	ck_assert_int_eq(request->verdict.action, action);
}
