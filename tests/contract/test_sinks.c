#include "tests/contract/contract.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "gateway/audit/sink_impl.h"

static const struct policy_facts facts = {
	.dst = { .host = "a.test", .protocol = POLICY_HTTPS, .port = 443 },
	.carries = POLICY_HTTPS,
	.way = POLICY_WAY_CONNECT,
	.exec = 1,
};

static struct sink_record record_of(enum sink_event event, const struct policy_verdict *verdict)
{
	return (struct sink_record){
		.event = event,
		.wall_us = INT64_C(1700000000000000),
		.mono_ms = 12,
		.session = "contract",
		.run = "7f3a",
		.exec = 1,
		.command = "npm ci",
		.facts = &facts,
		.verdict = verdict,
		.reason = verdict->reason,
		.bytes_down = UINT64_MAX,
		.has_traffic = true,
	};
}

static struct sink *sink_open(int i, const struct contract_place *place)
{
	struct err why = { 0 };
	struct sink *sink = sink_table[i]->open(&place->config, &why);

	ck_assert_msg(sink != NULL, "%s: %s", sink_table[i]->name, why.text);
	return sink;
}

START_TEST(not_wanted_is_not_an_error)
{
	const struct gateway_config nothing = { .session = "contract", .run = "7f3a" };
	struct err why = { 0 };

	ck_assert_ptr_null(sink_table[_i]->open(&nothing, &why));
	ck_assert_str_eq(why.text, "");
	sink_table[_i]->close(NULL);
}
END_TEST

START_TEST(every_event_is_taken_in_and_kept)
{
	const struct policy_verdict verdict = { .action = POLICY_ALLOW,
						.reason = POLICY_RULE_ALLOW };
	size_t fds = contract_count_fds();
	struct contract_place place;

	contract_open(&place);
	for (int round = 0; round < 2; round++) { /* and continued by the next run */
		struct sink *sink = sink_open(_i, &place);

		ck_assert_int_eq(sink_table[_i]->commit(sink, NULL), 0); /* of nothing */
		for (int event = 0; event < SINK_EVENT_COUNT; event++) {
			struct sink_record record = record_of((enum sink_event)event, &verdict);

			ck_assert_int_eq(sink_table[_i]->write(sink, &record, NULL), 0);
		}
		ck_assert_int_eq(sink_table[_i]->commit(sink, NULL), 0);
		sink_table[_i]->close(sink);
	}
	ck_assert_uint_eq(contract_count_fds(), fds);
	contract_close(&place);
}
END_TEST

/* The longest, the emptiest and the vilest of every field. */
START_TEST(any_text_is_taken_in)
{
	static const char vile[] = "\"}\n{\x1b]0;\a\\\xff\xc3\x28\xe2\x80\xae\x7f";
	struct policy_verdict verdict = { .action = POLICY_DENY, .reason = POLICY_RULE_DENY };
	const struct sink_record empty = { .event = SINK_CLOSED };
	struct contract_place place;
	struct sink_record record;
	struct sink *sink;

	contract_open(&place);
	sink = sink_open(_i, &place);
	for (size_t at = 0; at < sizeof(verdict.rule) - sizeof(vile); at += sizeof(vile) - 1) {
		memcpy(verdict.rule + at, vile, sizeof(vile));
		memcpy(verdict.because + at, vile, sizeof(vile));
	}
	memcpy(verdict.by, vile, sizeof(vile));
	record = record_of(SINK_DECISION, &verdict);
	record.session = record.run = record.command = record.cause = verdict.rule;
	ck_assert_int_eq(sink_table[_i]->write(sink, &record, NULL), 0);
	ck_assert_int_eq(sink_table[_i]->write(sink, &empty, NULL), 0);
	ck_assert_int_eq(sink_table[_i]->commit(sink, NULL), 0);
	sink_table[_i]->close(sink);
	contract_close(&place);
}
END_TEST

START_TEST(a_batch_has_a_limit)
{
	const struct policy_verdict verdict = { .action = POLICY_ALLOW };
	const struct sink_record record = record_of(SINK_DECISION, &verdict);
	struct contract_place place;
	struct sink *sink;

	contract_open(&place);
	sink = sink_open(_i, &place);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < SINK_BATCH_MAX; i++)
			ck_assert_int_eq(sink_table[_i]->write(sink, &record, NULL), 0);
		ck_assert_int_eq(sink_table[_i]->write(sink, &record, NULL), -E2BIG);
		ck_assert_int_eq(sink_table[_i]->commit(sink, NULL), 0);
	}
	sink_table[_i]->close(sink);
	contract_close(&place);
}
END_TEST

/* Records that were accepted and never committed are not kept, and no resources stay held. */
START_TEST(closing_without_commit_lets_go)
{
	const struct policy_verdict verdict = { .action = POLICY_ALLOW };
	struct sink_record record = record_of(SINK_DECISION, &verdict);
	struct contract_place place;
	struct sink *sink;

	contract_open(&place);
	sink = sink_open(_i, &place);
	ck_assert_int_eq(sink_table[_i]->write(sink, &record, NULL), 0);
	sink_table[_i]->close(sink);
	sink = sink_open(_i, &place);
	ck_assert_int_eq(sink_table[_i]->write(sink, &record, NULL), 0);
	ck_assert_int_eq(sink_table[_i]->commit(sink, NULL), 0);
	sink_table[_i]->close(sink);
	contract_close(&place);
}
END_TEST

Suite *suite_sink_contract(void)
{
	Suite *suite = suite_create("sinks");
	TCase *tcase = tcase_create("every sink");
	int count = 0;

	while (sink_table[count])
		count++;
	tcase_add_loop_test(tcase, not_wanted_is_not_an_error, 0, count);
	tcase_add_loop_test(tcase, every_event_is_taken_in_and_kept, 0, count);
	tcase_add_loop_test(tcase, any_text_is_taken_in, 0, count);
	tcase_add_loop_test(tcase, a_batch_has_a_limit, 0, count);
	tcase_add_loop_test(tcase, closing_without_commit_lets_go, 0, count);
	suite_add_tcase(suite, tcase);
	return suite;
}
