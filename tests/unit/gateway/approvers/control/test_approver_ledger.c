/* Widths, remembered answers and live connections on the control socket. */
#include "tests/unit/gateway/approvers/control/test_approver_wire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "gateway/approvers/control/control.h"
#include "gateway/approvers/ledger_impl.h"
#include "gateway/gateway_tools.h"

/* What the gateway would know: one grant, number 7, and one connection, number 3. */
static struct {
	unsigned int revoked, undone, cut, grants;
	size_t trips; /* destinations that were asked for */
	char by[64];
	int result;
} ledger;

void gateway_each_grant(struct gateway *gw,
			void (*each)(const struct approver_grant *grant, void *arg), void *arg)
{
	static const struct policy_destination dst = { .host = "a.test",
						       .protocol = POLICY_HTTPS,
						       .port = 443 };
	struct approver_grant grant = {
		.id = 7,
		.action = POLICY_ALLOW,
		.scope = GATEWAY_SESSION,
		.text = "https://**.a.test:443 for 1h",
		.by = "ana\x1b on tty",
		.since_s = 1000,
		.until_s = 4600,
		.bytes_up = 5,
		.bytes_down = 6,
		.connections = 2,
		.live = 1,
		.dst = &dst,
		.width = { .is_domain = true, .for_s = 3600, .upload_max = 9 },
		.words = "w",
		.from = "work",
		.file = "1:2:3:4",
	};

	for (unsigned int i = 0; i < ledger.grants; i++, grant.id++)
		each(&grant, arg);
}

size_t gateway_each_live(struct gateway *gw, size_t max,
			 void (*each)(const struct approver_live *live, void *arg), void *arg)
{
	const struct policy_facts facts = {
		.dst = { .host = "b.a.test", .protocol = POLICY_HTTPS, .port = 443 },
		.way = POLICY_WAY_CONNECT,
	};
	const struct approver_live live = {
		.id = 3, .grant = 7, .exec = 1, .facts = &facts, .rule = "", .age_ms = 2500
	};

	each(&live, arg);
	return 1;
}

static struct gateway_trip trips[CONTROL_LIST_MAX + 3];
static const struct gateway_trip others = { .denied = 5 };

const struct gateway_trip *gateway_trips(const struct gateway *gw, size_t *ret_count)
{
	static const struct gateway_trip trip = {
		.dst = { .host = "b.a.test", .protocol = POLICY_HTTPS, .port = 443 },
		.allowed = 3,
		.unanswered = 1,
		.connections = 2,
		.bytes_up = 7,
		.bytes_down = 8,
	};

	for (size_t i = 0; i < ledger.trips; i++)
		trips[i] = trip;
	*ret_count = ledger.trips;
	return trips;
}

const struct gateway_trip *gateway_trips_others(const struct gateway *gw)
{
	return &others;
}

static int ledger_take(unsigned int *count, const char *by, struct err *why)
{
	(void)snprintf(ledger.by, sizeof(ledger.by), "%s", by);
	if (ledger.result < 0)
		return err_set(why, ledger.result, "not now");
	++*count;
	return 0;
}

int gateway_revoke(struct gateway *gw, uint64_t grant, const char *by, struct approver_revoked *ret,
		   struct err *why)
{
	if (grant != 7)
		return err_set(why, -ENOENT, "there is no such answer, or it has been revoked");
	*ret = (struct approver_revoked){ .cut = 1, .bytes_up = 5, .bytes_down = 6 };
	return ledger_take(&ledger.revoked, by, why);
}

int gateway_undo(struct gateway *gw, uint64_t shown, const char *by,
		 char ret_text[APPROVER_KEY_MAX], struct approver_revoked *ret, struct err *why)
{
	*ret = (struct approver_revoked){ 0 };
	(void)snprintf(ret_text, APPROVER_KEY_MAX, "allow https://a.test:443");
	return ledger_take(&ledger.undone, by, why);
}

int gateway_cut(struct gateway *gw, uint64_t live, const char *by, struct err *why)
{
	return live == 3 ? ledger_take(&ledger.cut, by, why) : err_set(why, -ENOENT, "none");
}

#define GRANT                                                                                      \
	"{\"id\":7,\"action\":\"allow\",\"scope\":\"session\",\"exec\":0,"                         \
	"\"text\":\"https://**.a.test:443 for 1h\",\"by\":\"ana\\u001B on tty\",\"since\":1000,"   \
	"\"until\":4600,\"bytes_up\":5,\"bytes_down\":6,\"connections\":2,\"live\":1,"             \
	"\"from\":\"work\"}"
#define COPY                                                                                       \
	"{\"id\":7,\"action\":\"allow\",\"scope\":\"session\",\"protocol\":\"https\","             \
	"\"host\":\"a.test\",\"port\":443,\"domain\":true,\"all_ports\":false,\"program\":\"\","   \
	"\"for\":3600,\"upload\":9,\"download\":0,\"connections\":0,\"spent\":false,"              \
	"\"file\":\"1:2:3:4\",\"session\":0,\"by\":\"ana\\u001B on "                               \
	"tty\",\"words\":\"w\",\"since\":1000,\"from\":\"work\"}"
#define LIVE                                                                                       \
	"{\"id\":3,\"grant\":7,\"exec\":1,\"protocol\":\"https\",\"host\":\"b.a.test\","           \
	"\"port\":443,\"way\":\"connect\",\"rule\":\"\",\"age_s\":2}"

#define COUNTS(allowed, denied, unanswered, connections, up, down)                                 \
	"\"allowed\":" allowed ",\"denied\":" denied ",\"unanswered\":" unanswered                 \
	",\"failed\":0,\"connections\":" connections ",\"bytes_up\":" up ",\"bytes_down\":" down
#define TRIP                                                                                       \
	"{" COUNTS("3", "0", "1", "2", "7",                                                        \
		   "8") ",\"protocol\":\"https\",\"host\":\"b.a.test\",\"port\":443}"

static const struct {
	const char *line, *want; /* a whole reply, or a code */
} requests[] = {
	{ "\"op\":\"grants\"", "{\"id\":1,\"ok\":true,\"grants\":[" GRANT "]}" },
	{ "\"op\":\"copy\"", "{\"id\":1,\"ok\":true,\"grants\":[" COPY "],\"more\":0}" },
	{ "\"op\":\"copy\",\"after\":7", "{\"id\":1,\"ok\":true,\"grants\":[],\"more\":0}" },
	{ "\"op\":\"totals\"", "{\"id\":1,\"ok\":true,\"totals\":[" TRIP "],\"others\":{" COUNTS(
				       "0", "5", "0", "0", "0", "0") "},\"more\":0}" },
	{ "\"op\":\"totals\",\"after\":1", "malformed" },
	{ "\"op\":\"live\"", "{\"id\":1,\"ok\":true,\"live\":[" LIVE "]}" },
	{ "\"op\":\"revoke\",\"grant\":7",
	  "{\"id\":1,\"ok\":true,\"cut\":1,\"bytes_up\":5,\"bytes_down\":6}" },
	{ "\"op\":\"undo\"", "{\"id\":1,\"ok\":true,\"cut\":0,\"bytes_up\":0,\"bytes_down\":0,"
			     "\"text\":\"allow https://a.test:443\"}" },
	{ "\"op\":\"cut\",\"live\":3", "{\"id\":1,\"ok\":true}" },
	{ "\"op\":\"preview\",\"question\":\"7f3a-1\",\"scope\":\"session\",\"host\":\"domain\","
	  "\"for\":\"1h\"",
	  "{\"id\":1,\"ok\":true,\"text\":\"https://**.a.test:443 for 1h\"}" },
	{ "\"op\":\"preview\",\"question\":\"7f3a-1\",\"action\":\"deny\"",
	  "{\"id\":1,\"ok\":true,\"text\":\"https://a.test:443\"}" },
	{ "\"op\":\"revoke\",\"grant\":8", "unknown" },
	{ "\"op\":\"cut\",\"live\":8", "unknown" },
	{ "\"op\":\"revoke\"", "malformed" },
	{ "\"op\":\"revoke\",\"grant\":\"7\"", "malformed" },
	{ "\"op\":\"revoke\",\"grant\":-7", "malformed" },
	{ "\"op\":\"revoke\",\"grant\":7,\"live\":3", "malformed" },
	{ "\"op\":\"cut\",\"grant\":7", "malformed" },
	{ "\"op\":\"copy\",\"after\":\"7\"", "malformed" },
	{ "\"op\":\"copy\",\"after\":-1", "malformed" },
	{ "\"op\":\"grants\",\"after\":7", "malformed" },
	{ "\"op\":\"undo\",\"grant\":7", "malformed" },
	{ "\"op\":\"grants\",\"scope\":\"once\"", "malformed" },
	{ "\"op\":\"preview\"", "malformed" },
	{ "\"op\":\"preview\",\"question\":\"7f3a-1\",\"action\":\"abort\"", "malformed" },
	{ "\"op\":\"preview\",\"question\":\"7f3a-1\",\"action\":\"ask\"", "malformed" },
	{ "\"op\":\"preview\",\"question\":\"7f3a-2\"", "finished" },
	{ "\"op\":\"allow\",\"question\":\"7f3a-1\",\"host\":\"all\"", "malformed" },
	{ "\"op\":\"allow\",\"question\":\"7f3a-1\",\"host\":true", "malformed" },
	{ "\"op\":\"allow\",\"question\":\"7f3a-1\",\"ports\":\"443\"", "malformed" },
	{ "\"op\":\"allow\",\"question\":\"7f3a-1\",\"for\":\"soon\"", "malformed" },
	{ "\"op\":\"allow\",\"question\":\"7f3a-1\",\"for\":\"0s\"", "malformed" },
	{ "\"op\":\"allow\",\"question\":\"7f3a-1\",\"for\":\"999ms\"", "malformed" },
	{ "\"op\":\"allow\",\"question\":\"7f3a-1\",\"upload\":0", "malformed" },
	{ "\"op\":\"allow\",\"question\":\"7f3a-1\",\"upload\":\"64k\"", "malformed" },
	{ "\"op\":\"allow\",\"question\":\"7f3a-1\",\"connections\":65536", "malformed" },
	{ "\"op\":\"allow\",\"question\":\"7f3a-1\",\"action\":\"allow\"", "malformed" },
	{ "\"op\":\"allow\",\"question\":\"7f3a-1\",\"grant\":7", "malformed" },
	{ "\"op\":\"abort\",\"question\":\"7f3a-1\",\"for\":\"1h\"", "malformed" },
	{ "\"op\":\"list\",\"words\":\"hello\"", "malformed" },
	{ "\"op\":\"allow\",\"question\":\"7f3a-1\",\"host\":\"domain\"", "refused" }, /* once */
};

START_TEST(one_request)
{
	auto_free char *line = mem_printf("{\"id\":1,%s}\n", requests[_i].line);
	const char *want = requests[_i].want, *got;

	ledger.grants = ledger.trips = 1;
	fake_ask(&wire.gw, "7f3a-1", "a.test");
	got = wire_ask(wire.client, line);
	if (want[0] == '{') {
		ck_assert_str_eq(got, want);
		return;
	}
	auto_free char *code = mem_printf("\"code\":\"%s\"}", want);

	ck_assert_msg(strstr(got, code) != NULL, "%s", got);
	ck_assert_uint_eq(wire.gw.answer_count + ledger.revoked + ledger.undone + ledger.cut, 0);
}
END_TEST

/* The sum is that of all, also of those that are not listed. */
START_TEST(totals_have_a_limit)
{
	ledger.trips = ARRAY_SIZE(trips);
	json_t *reply =
		json_loads(wire_ask(wire.client, "{\"id\":1,\"op\":\"totals\"}\n"), 0, NULL);
	const json_t *rest = json_object_get(reply, "others");

	ck_assert_uint_eq(json_array_size(json_object_get(reply, "totals")), CONTROL_LIST_MAX);
	ck_assert_int_eq(json_integer_value(json_object_get(reply, "more")), 3);
	ck_assert_int_eq(json_integer_value(json_object_get(rest, "allowed")), 3 * 3);
	ck_assert_int_eq(json_integer_value(json_object_get(rest, "denied")), 5);
	ck_assert_int_eq(json_integer_value(json_object_get(rest, "bytes_down")), 3 * 8);
	json_decref(reply);
}
END_TEST

/* Each part begins behind the one before. */
START_TEST(copies_come_in_parts)
{
	size_t seen = 0;

	ledger.grants = 2 * CONTROL_COPIES_MAX + 1;
	for (size_t after = 0, left = ledger.grants; left > 0;) {
		auto_free char *line =
			mem_printf("{\"id\":1,\"op\":\"copy\",\"after\":%zu}\n", after);
		json_t *reply = json_loads(wire_ask(wire.client, line), 0, NULL);
		const json_t *list = json_object_get(reply, "grants");

		seen += json_array_size(list);
		left -= json_array_size(list);
		ck_assert_uint_le(json_array_size(list), CONTROL_COPIES_MAX);
		ck_assert_int_eq(json_integer_value(json_object_get(reply, "more")),
				 (json_int_t)left);
		after = (size_t)json_integer_value(
			json_object_get(json_array_get(list, json_array_size(list) - 1), "id"));
		json_decref(reply);
	}
	ck_assert_uint_eq(seen, ledger.grants);
}
END_TEST

START_TEST(an_answer_with_everything)
{
	const struct approver_answer *answer = &wire.gw.answers[0].answer;

	fake_ask(&wire.gw, "7f3a-1", "a.test");
	ck_assert_str_eq(
		wire_ask(wire.client, "{\"id\":1,\"op\":\"allow\",\"question\":\"7f3a-1\","
				      "\"scope\":\"exec\",\"host\":\"domain\",\"ports\":\"all\","
				      "\"for\":\"90m\",\"download\":70000,\"connections\":4,"
				      "\"program\":\"this\",\"words\":\"go on\"}\n"),
		"{\"id\":1,\"ok\":true,\"text\":\"https://**.a.test:* program P for 1d\"}");
	ck_assert_uint_eq(wire.gw.answer_count, 1);
	ck_assert_int_eq(answer->scope, GATEWAY_EXEC);
	ck_assert(answer->width.is_domain && answer->width.is_every_port &&
		  answer->width.is_program);
	ck_assert_int_eq(answer->width.for_s, 5400);
	ck_assert_uint_eq(answer->width.upload_max, 0);
	ck_assert_uint_eq(answer->width.download_max, 70000);
	ck_assert_uint_eq(answer->width.connections_max, 4);
}
END_TEST

/* A client that says that a person confirms has to send the typed text. */
static const struct {
	unsigned int risk;
	const char *confirm; /* NULL: not given */
	bool is_taken;
} confirms[] = {
	{ APPROVER_LISTED, NULL, true },
	{ APPROVER_LISTED, "", false },
	{ APPROVER_LISTED, "b.test", false },
	{ APPROVER_LISTED, "a.test", true },
	{ APPROVER_LISTED, "A.test", false },
	{ APPROVER_FIRST_SEEN, "", true }, /* merely new */
	{ APPROVER_RAW_TCP, "", true },
	{ 0, "", true },
	{ 0, "b.test", true },
};

START_TEST(a_risk_is_confirmed)
{
	auto_free char *confirm = confirms[_i].confirm
					  ? mem_printf(",\"confirm\":\"%s\"", confirms[_i].confirm)
					  : mem_strdup("");
	auto_free char *line =
		mem_printf("{\"id\":1,\"op\":\"allow\",\"question\":\"7f3a-1\"%s}\n", confirm);
	struct approver_question *question = fake_ask(&wire.gw, "7f3a-1", "a.test");
	const char *got;

	question->risk = confirms[_i].risk;
	question->warning = "never seen";
	got = wire_ask(wire.client, line);
	ck_assert_uint_eq(wire.gw.answer_count, confirms[_i].is_taken);
	if (!confirms[_i].is_taken)
		ck_assert_ptr_nonnull(
			strstr(got, "\"error\":\"never seen: to allow it, type a.test as well\","
				    "\"code\":\"confirm\""));
	/* A denial needs nothing of the kind, and takes none. */
	ck_assert_ptr_nonnull(strstr(wire_ask(wire.client, "{\"id\":1,\"op\":\"deny\",\"question\":"
							   "\"7f3a-1\",\"confirm\":\"\"}\n"),
				     "malformed"));
}
END_TEST

START_TEST(what_is_taken_back_is_by_somebody)
{
	ledger.result = -EROFS;
	ck_assert_ptr_nonnull(
		strstr(wire_ask(wire.client, "{\"id\":1,\"op\":\"revoke\",\"grant\":7}\n"),
		       "\"error\":\"not now\",\"code\":\"failed\""));
	ck_assert_ptr_nonnull(strstr(ledger.by, " on approve"));
}
END_TEST

/* A reply has a length, and says what it leaves out. */
START_TEST(a_long_list_says_so)
{
	ledger.grants = 1030;
	wire_say(wire.client, "{\"id\":1,\"op\":\"grants\"}\n");
	size_t len = 0;
	char tail[256] = "";

	for (const char *got = wire_line(wire.client); got[0]; got = wire_line(wire.client)) {
		len += strlen(got);
		(void)snprintf(tail, sizeof(tail), "%s",
			       got + (strlen(got) > 200 ? strlen(got) - 200 : 0));
	}
	ck_assert_uint_gt(len, 1024 * 190);
	ck_assert_ptr_nonnull(strstr(tail, "],\"more\":6}"));
}
END_TEST

Suite *suite_control_ledger(void)
{
	Suite *suite = suite_create("control: ledger");
	TCase *tcase = tcase_create("ledger");

	tcase_add_checked_fixture(tcase, wire_setup, wire_teardown);
	tcase_add_loop_test(tcase, one_request, 0, sizeof(requests) / sizeof(requests[0]));
	tcase_add_test(tcase, totals_have_a_limit);
	tcase_add_test(tcase, copies_come_in_parts);
	tcase_add_test(tcase, an_answer_with_everything);
	tcase_add_loop_test(tcase, a_risk_is_confirmed, 0, sizeof(confirms) / sizeof(confirms[0]));
	tcase_add_test(tcase, what_is_taken_back_is_by_somebody);
	tcase_add_test(tcase, a_long_list_says_so);
	suite_add_tcase(suite, tcase);
	return suite;
}
