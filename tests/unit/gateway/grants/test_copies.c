/* A session's remembered answers in the place of another's: whole or not at all, never wider. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/approvals/approval.h"
#include "gateway/approvers/ledger_impl.h"
#include "gateway/gateway_copies.h"
#include "tests/unit/gateway/fixture.h"

#define HOST "https://a.example.org:443"

static struct {
	size_t count;
	struct approver_grant list[16];
	char texts[16][APPROVER_KEY_MAX], by[16][64], from[16][64];
} seen;

static void on_grant(const struct approver_grant *grant, void *arg)
{
	size_t at = seen.count++;

	ck_assert_uint_lt(at, ARRAY_SIZE(seen.list));
	seen.list[at] = *grant;
	(void)snprintf(seen.texts[at], sizeof(seen.texts[at]), "%s", grant->text);
	(void)snprintf(seen.by[at], sizeof(seen.by[at]), "%s", grant->by);
	(void)snprintf(seen.from[at], sizeof(seen.from[at]), "%s", grant->from ? grant->from : "");
}

static void look(void)
{
	seen.count = 0;
	gateway_each_grant(fixture.gw, on_grant, NULL);
}

static int copy(const char *text, struct gateway_copied *ret)
{
	const struct gateway_copies copies = { text, strlen(text), "work", "0b1c" };
	struct err why = { 0 };
	int r = gateway_copy(fixture.gw, &copies, ret, &why);

	ck_assert_int_eq(r < 0, why.text[0] != '\0');
	fixture_settle();
	return r;
}

/* Asks, and answers it. */
static void answer(struct fixture_request *request, const char *destination,
		   struct approver_answer said)
{
	said.by = "ana on tty";
	fixture_ask(request, destination, FIXTURE_EXEC);
	ck_assert_int_eq(gateway_answer(fixture.gw, fixture.approver.last.id, &said, NULL), 0);
	fixture_settle();
	ck_assert_uint_eq(request->told, 1);
}

static void on_cut(const struct policy_verdict *verdict, void *arg)
{
	struct fixture_request *request = arg;
	const struct gateway_report said = {
		.facts = fixture_facts(HOST, FIXTURE_EXEC),
		.ticket = take(request->pass),
		.verdict = request->verdict,
		.closed = verdict->reason,
	};

	gateway_report(fixture.client, &said);
}

static const struct approver_answer session = { POLICY_ALLOW, GATEWAY_SESSION, false, "" };

START_TEST(what_may_be_copied_is_copied)
{
	struct fixture_request requests[8] = { 0 };
	struct approver_answer said = session;
	struct gateway_copied copied;

	fixture_open(NULL);
	gateway_client_on_cut(fixture.client, on_cut);
	said.words = "as we \\said";
	answer(&requests[0], HOST, said);
	said = session;
	said.width = (struct approver_width){ .is_domain = true, .for_s = 60 };
	answer(&requests[1], "https://b.example.net:443", said);
	said = session;
	said.action = POLICY_DENY;
	said.width.is_every_port = true;
	answer(&requests[2], "tcp://c.test:22", said);
	said = session;
	said.width = (struct approver_width){ .upload_max = 1000, .connections_max = 3 };
	answer(&requests[3], "https://d.test:443", said);
	fixture_ask(&requests[4], "https://d.test:443", FIXTURE_EXEC);
	said.width = (struct approver_width){ .connections_max = 1 };
	answer(&requests[5], "https://spent.test:443", said);
	said = session;
	said.scope = GATEWAY_EXEC;
	answer(&requests[6], "https://exec.test:443", said);
	said.scope = GATEWAY_ALWAYS;
	answer(&requests[7], "https://always.test:443", said);
	auto_free char *text = fixture_copies(fixture.gw);

	ck_assert_int_eq(copy(text, &copied), 0);
	ck_assert_uint_eq(copied.copied, 4);
	ck_assert_uint_eq(copied.execs, 1);
	ck_assert_uint_eq(copied.kept, 1);
	ck_assert_uint_eq(copied.spent, 1);
	look();
	ck_assert_uint_eq(seen.count,
			  5); /* with the exec's, which does not belong to the session */
	ck_assert_str_eq(seen.texts[0], "https://exec.test:443");
	ck_assert_str_eq(seen.from[0], "");
	ck_assert_str_eq(seen.texts[1], HOST);
	ck_assert_str_eq(seen.texts[2], "https://**.example.net:443 for 1m");
	ck_assert_int_eq(seen.list[2].until_s - seen.list[2].since_s, 60);
	ck_assert_str_eq(seen.texts[3], "tcp://c.test:*");
	ck_assert_int_eq(seen.list[3].action, POLICY_DENY);
	ck_assert_str_eq(seen.texts[4], "https://d.test:443 upload 1000 connections 1");
	for (size_t i = 1; i < seen.count; i++) {
		ck_assert_int_eq(seen.list[i].scope, GATEWAY_SESSION);
		ck_assert_str_eq(seen.by[i], "ana on tty");
		ck_assert_str_eq(seen.from[i], "work");
		ck_assert_uint_eq(seen.list[i].connections, 0);
	}
	ck_assert_uint_eq(fixture_count_records("granted", "granted_session"), 3);
	ck_assert_uint_eq(fixture_count_records("granted", "denied_session"), 1);
	fixture_close();
}
END_TEST

/* What lived by what was there is cut; the copies hold, and what was left is counted here. */
START_TEST(copies_take_the_place_of_what_was_there)
{
	struct fixture_request first = { 0 }, again[2] = { 0 }, known = { 0 };
	struct approver_answer said = session;
	struct gateway_copied copied;
	struct approver_revoked revoked;
	char text_of[APPROVER_KEY_MAX];

	fixture_open(NULL);
	gateway_client_on_cut(fixture.client, on_cut);
	said.width.connections_max = 2;
	answer(&first, HOST, said);
	auto_free char *text = fixture_copies(fixture.gw);

	ck_assert_ptr_nonnull(first.pass);
	ck_assert_int_eq(copy(text, &copied), 0);
	ck_assert_ptr_null(first.pass);
	look();
	ck_assert_uint_eq(seen.count, 1);
	ck_assert_str_eq(seen.texts[0], HOST " connections 1");
	fixture_ask(&again[0], HOST, FIXTURE_EXEC_TWO);
	fixture_expect(&again[0], POLICY_ALLOW, POLICY_GRANTED_SESSION);
	ck_assert_str_eq(again[0].verdict.by, "ana on tty");
	fixture_ask(&again[1], HOST, FIXTURE_EXEC_TWO);
	ck_assert_uint_eq(again[1].told, 0); /* spent: it is asked about again */
	gateway_withdraw(again[1].ticket);
	/* Nobody answered here. */
	ck_assert_int_eq(gateway_undo(fixture.gw, 0, "ana", text_of, &revoked, NULL), -ENOENT);
	ck_assert_int_eq(copy("[]", &copied), 0);
	ck_assert_uint_eq(copied.copied, 0);
	fixture_ask(&known, HOST, FIXTURE_EXEC);
	ck_assert_uint_eq(known.told, 0);
	gateway_withdraw(known.ticket);
	fixture_close();
}
END_TEST

/* They end when they did there, whenever they are copied. */
START_TEST(an_end_stays_where_it_was)
{
	struct fixture_request first = { 0 }, second = { 0 };
	struct approver_answer said = session;
	struct gateway_copied copied;

	fixture_open(NULL);
	gateway_client_on_cut(fixture.client, on_cut);
	said.width = (struct approver_width){ .for_s = 60, .is_domain = _i };
	answer(&first, HOST, said);
	auto_free char *text = fixture_copies(fixture.gw);

	loop_advance(fixture.loop, 50000);
	ck_assert_int_eq(copy(text, &copied), 0);
	fixture_ask(&second, HOST, FIXTURE_EXEC);
	fixture_expect(&second, POLICY_ALLOW, POLICY_GRANTED_SESSION);
	loop_advance(fixture.loop, 10000);
	fixture_settle();
	look();
	ck_assert_uint_eq(seen.count, 0);
	ck_assert_ptr_null(second.pass); /* cut */
	ck_assert_int_eq(copy(text, &copied), 0);
	ck_assert_uint_eq(copied.spent, 1);
	look();
	ck_assert_uint_eq(seen.count, 0);
	fixture_close();
}
END_TEST

/* For one program: for no other here, either. Answers for two are two. */
START_TEST(programs_stay_apart)
{
	static const char *const programs[] = { "/bin/a", "/bin/b" };
	struct fixture_request first = { 0 };
	struct gateway_copied copied;

	fixture_open(NULL);
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		const struct approver_answer said = { .action = POLICY_ALLOW,
						      .scope = GATEWAY_SESSION,
						      .by = "ana",
						      .width = { .is_program = true } };
		struct approval *approval = approval_find(fixture.gw, fixture.approver.last.id);

		free(approval->program);
		approval->program = mem_strdup(programs[i]);
		ck_assert_int_eq(gateway_answer(fixture.gw, approval->id, &said, NULL), 0);
	}
	fixture_settle();
	auto_free char *text = fixture_copies(fixture.gw);

	ck_assert_int_eq(copy(text, &copied), 0);
	look();
	ck_assert_uint_eq(seen.count, 2);
	ck_assert_str_eq(seen.texts[0], HOST " by /bin/a");
	ck_assert_str_eq(seen.texts[1], HOST " by /bin/b");
	gateway_withdraw(first.ticket);
	fixture_close();
}
END_TEST

#define ENTRY                                                                                      \
	"{\"id\":1,\"action\":\"allow\",\"scope\":\"session\",\"protocol\":\"https\",\"host\":"    \
	"\"b.example.org\",\"port\":443,\"domain\":false,\"all_ports\":false,\"program\":\"\","    \
	"\"file\":\"\",\"session\":0,\"for\":0,\"upload\":0,\"download\":0,\"connections\":0,"     \
	"\"spent\":false,\"by\":\"ana\","                                                          \
	"\"words\":\"\",\"since\":1000,\"from\":\"\"}"

/* An entry with one of its members replaced. */
static const struct {
	const char *member, *value;
} wrong[] = {
	{ "action", "\"ask\"" },
	{ "action", "true" },
	{ "scope", "\"once\"" },
	{ "scope", "\"forever\"" },
	{ "protocol", "\"http\"" }, /* of that port */
	{ "protocol", "\"\"" },
	{ "host", "\"\"" },
	{ "host", "\"B.example.org\"" }, /* is written otherwise */
	{ "host", "\"b.example.org/\"" },
	{ "host", "\"127.1\"" },
	{ "port", "0" },
	{ "port", "65536" },
	{ "port", "-1" },
	{ "port", "443.0" },
	{ "program", "\"npm\"" }, /* no path */
	{ "program", "\"/bin/a b\"" },
	{ "program", "\"/bin/a\\nallow *\"" },
	{ "file", "\"1:2:3:4\"" }, /* of no program */
	{ "session", "-1" },
	{ "for", "-1" },
	{ "for", "4294967296" },
	{ "upload", "-1" },
	{ "upload", "1099511627777" },
	{ "connections", "65536" },
	{ "since", "-1" },
	{ "since", "253402300800" },
	{ "spent", "0" },
	{ "domain", "null" },
	{ "id", "\"1\"" },
	{ "unknown", "1" },
};

/* Nothing is half copied: what was there stays. */
static void check_refused(const char *text)
{
	struct gateway_copied copied;
	struct fixture_request again = { 0 };

	ck_assert_msg(copy(text, &copied) == -EBADMSG, "taken: %s", text);
	look();
	ck_assert_uint_eq(seen.count, 1);
	fixture_ask(&again, HOST, FIXTURE_EXEC);
	fixture_expect(&again, POLICY_ALLOW, POLICY_GRANTED_SESSION);
}

START_TEST(what_is_no_list_changes_nothing)
{
	struct fixture_request first = { 0 };
	json_t *entry = json_loads(ENTRY, 0, NULL);

	fixture_open(NULL);
	answer(&first, HOST, session);
	json_t *value = json_loads(wrong[_i].value, JSON_DECODE_ANY, NULL);

	ck_assert_int_eq(json_object_set_new(entry, wrong[_i].member, value), 0);
	auto_free char *one = json_dumps(entry, JSON_COMPACT);
	auto_free char *text = mem_printf("[" ENTRY ",%s]", one);

	check_refused(text);
	json_decref(entry);
	fixture_close();
}
END_TEST

/* The same with members that are missing, and texts that are cut off. */
START_TEST(what_is_cut_off_changes_nothing)
{
	static const char whole[] = "[" ENTRY "]";
	struct fixture_request first = { 0 };
	struct gateway_copied copied;
	json_t *entry = json_loads(ENTRY, 0, NULL), *value;
	const char *member;
	void *next;

	fixture_open(NULL);
	answer(&first, HOST, session);
	for (size_t len = 0; len < strlen(whole); len++) {
		auto_free char *text = mem_strndup(whole, len);

		ck_assert_int_eq(copy(text, &copied), -EBADMSG);
	}
	json_object_foreach_safe(entry, next, member, value)
	{
		json_t *less = json_deep_copy(entry);

		ck_assert_int_eq(json_object_del(less, member), 0);
		auto_free char *one = json_dumps(less, JSON_COMPACT);
		auto_free char *text = mem_printf("[%s]", one);

		check_refused(text);
		json_decref(less);
	}
	check_refused("[" ENTRY "," ENTRY "]"); /* one key, two answers */
	check_refused("{}");
	check_refused("[[]]");
	check_refused("[null]");
	ck_assert_int_eq(copy(whole, &copied), 0);
	look();
	ck_assert_str_eq(seen.texts[0], "https://b.example.org:443");
	json_decref(entry);
	fixture_close();
}
END_TEST

/* A copy holds where policy asks, as any answer. */
START_TEST(a_copy_does_not_beat_the_policy)
{
	struct fixture_request request = { 0 };
	struct gateway_copied copied;

	fixture_open("deny b.example.org");
	ck_assert_int_eq(copy("[" ENTRY "]", &copied), 0);
	fixture_ask(&request, "https://b.example.org:443", FIXTURE_EXEC);
	fixture_expect(&request, POLICY_DENY, POLICY_RULE_DENY);
	fixture_close();
}
END_TEST

/* An entry of one destination, as the session @number remembers it. */
static char *entry_of(int number, const char *action, const char *program, const char *file,
		      int for_s)
{
	return mem_printf(
		"{\"id\":1,\"action\":\"%s\",\"scope\":\"session\",\"protocol\":\"https\","
		"\"host\":\"b.example.org\",\"port\":443,\"domain\":false,"
		"\"all_ports\":false,\"program\":\"%s\",\"file\":\"%s\",\"session\":%d,"
		"\"for\":%d,\"upload\":0,\"download\":0,\"connections\":0,"
		"\"spent\":false,\"by\":\"ana\",\"words\":\"\",\"since\":%d,"
		"\"from\":\"\"}",
		action, program, file, number, for_s, INT32_MAX);
}

/* For no other file under a program's name: the copy is as narrow as what it is of. */
START_TEST(a_program_stays_its_file)
{
	static const char *const wrong_files[] = {
		"1:2:3",
		"1:2:3:4:",
		"1:2:3:4:5",
		":::",
		"a:b:c:d",
		"1:2:3:-4",
		"1:2:3:9223372036854775808",
	};
	struct gateway_copied copied;

	fixture_open(NULL);
	for (size_t i = 0; i < ARRAY_SIZE(wrong_files); i++) {
		auto_free char *one = entry_of(0, "allow", "/bin/a", wrong_files[i], 0);
		auto_free char *text = mem_printf("[%s]", one);

		ck_assert_msg(copy(text, &copied) == -EBADMSG, "taken: %s", text);
	}
	auto_free char *one = entry_of(0, "allow", "/bin/a", "8:9:10:11", 0);
	auto_free char *text = mem_printf("[%s]", one);

	ck_assert_int_eq(copy(text, &copied), 0);
	auto_free char *again = fixture_copies(fixture.gw);

	ck_assert_ptr_nonnull(strstr(again, "\"file\":\"8:9:10:11\""));
	fixture_close();
}
END_TEST

/* What the sessions of an agent remember of one destination: two entries, how many are copied, and
 * what holds then. */
static const struct {
	const char *first, *second;
	int for_s; /* of the second */
	int r;
	const char *holds;
} merged[] = {
	{ "allow", "allow", 0, 0, "allow" },      { "allow", "deny", 0, 0, "deny" },
	{ "deny", "allow", 0, 0, "deny" },        { "deny", "deny", 0, 0, "deny" },
	{ "allow", "allow", 60, -EBADMSG, NULL },
};

START_TEST(sessions_become_one)
{
	auto_free char *first = entry_of(1, merged[_i].first, "", "", 0);
	auto_free char *second = entry_of(2, merged[_i].second, "", "", merged[_i].for_s);
	auto_free char *text = mem_printf("[%s,%s]", first, second);
	struct gateway_copied copied;

	fixture_open(NULL);
	ck_assert_int_eq(copy(text, &copied), merged[_i].r);
	look();
	ck_assert_uint_eq(seen.count, merged[_i].r == 0);
	if (merged[_i].r == 0) {
		ck_assert_uint_eq(copied.copied, 1);
		ck_assert_str_eq(policy_action_name(seen.list[0].action), merged[_i].holds);
	}
	fixture_close();
}
END_TEST

Suite *suite_copies(void)
{
	Suite *suite = suite_create("copies");
	TCase *tcase = tcase_create("copies");

	tcase_add_test(tcase, what_may_be_copied_is_copied);
	tcase_add_test(tcase, copies_take_the_place_of_what_was_there);
	tcase_add_loop_test(tcase, an_end_stays_where_it_was, 0, 2);
	tcase_add_test(tcase, programs_stay_apart);
	tcase_add_test(tcase, a_program_stays_its_file);
	tcase_add_loop_test(tcase, sessions_become_one, 0, ARRAY_SIZE(merged));
	tcase_add_loop_test(tcase, what_is_no_list_changes_nothing, 0, ARRAY_SIZE(wrong));
	tcase_add_test(tcase, what_is_cut_off_changes_nothing);
	tcase_add_test(tcase, a_copy_does_not_beat_the_policy);
	suite_add_tcase(suite, tcase);
	return suite;
}
