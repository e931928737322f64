#include "tests/unit/proxy/parse/parse_test.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "proxy/parse/dns.h"

#define HEAD     "\1\2\1\0\0\1\0\0\0\0\0\0" /* one question, recursion wanted */
#define HEAD_OPT "\1\2\1\0\0\1\0\0\0\0\0\1" /* and one record after it */
#define NAME     "\1a\4test\0"
#define ASK_A    NAME "\0\1\0\1"
#define OPT      "\0\0\51\4\320\0\0\0\0\0\0" /* EDNS, 1232 bytes */

static const struct {
	struct bytes input;
	int want;
	enum dns_code code;
	uint16_t type;
	const char *name;
} queries[] = {
	{ BYTES(HEAD ASK_A), 0, DNS_OK, DNS_A, "a.test" },
	{ BYTES(HEAD NAME "\0\34\0\1"), 0, DNS_OK, DNS_AAAA, "a.test" },
	{ BYTES(HEAD_OPT ASK_A OPT), 0, DNS_OK, DNS_A, "a.test" },
	{ BYTES(HEAD_OPT ASK_A "\300\14\0\1\0\1\0\0\0\0\0\0"), 0, DNS_OK, DNS_A, "a.test" },
	{ BYTES(HEAD "\0\0\1\0\1"), 0, DNS_OK, DNS_A, "" },
	{ BYTES(HEAD "\4_why\1A\4tEst\0\0\20\0\1"), 0, DNS_OK, DNS_TXT, "_why.A.tEst" },
	/* A byte that would make another name of it in text. */
	{ BYTES(HEAD "\3a.b\4test\0\0\1\0\1"), 0, DNS_OK, DNS_A, "" },
	{ BYTES(HEAD "\1a\5\0test\0\0\1\0\1"), 0, DNS_OK, DNS_A, "" },
	{ BYTES(HEAD "\2\303\251\4test\0\0\1\0\1"), 0, DNS_OK, DNS_A, "" },
	/* No query. */
	{ BYTES(""), -EBADMSG },
	{ BYTES("\1\2\1\0\0\1\0\0\0\0\0"), -EBADMSG },
	{ BYTES("\1\2\201\0\0\1\0\0\0\0\0\0" ASK_A), -EBADMSG },
	/* Answered with a code only. */
	{ BYTES("\1\2\11\0\0\1\0\0\0\0\0\0" ASK_A), 0, DNS_NOT_IMPLEMENTED },
	{ BYTES("\1\2\1\0\0\0\0\0\0\0\0\0"), 0, DNS_FORMAT_ERROR },
	{ BYTES("\1\2\1\0\0\2\0\0\0\0\0\0" ASK_A ASK_A), 0, DNS_FORMAT_ERROR },
	{ BYTES("\1\2\1\0\0\1\0\1\0\0\0\0" ASK_A), 0, DNS_FORMAT_ERROR },
	{ BYTES(HEAD "\1a\4test\0\0\1\0"), 0, DNS_FORMAT_ERROR },
	{ BYTES(HEAD "\1a\4tes"), 0, DNS_FORMAT_ERROR },
	{ BYTES(HEAD "\1a\300\14\0\1\0\1"), 0, DNS_FORMAT_ERROR },
	{ BYTES(HEAD "\100a\0\0\1\0\1"), 0, DNS_FORMAT_ERROR },
	{ BYTES(HEAD_OPT ASK_A), 0, DNS_FORMAT_ERROR },
	{ BYTES(HEAD_OPT ASK_A "\0\0\51\4\320\0\0\0\0\0\1"), 0, DNS_FORMAT_ERROR },
	{ BYTES(HEAD NAME "\0\1\0\3"), 0, DNS_REFUSED },
};

START_TEST(reads_a_query)
{
	size_t len = queries[_i].input.len;
	auto_free uint8_t *copy = mem_new(len + 1);
	struct dns_query query;

	memcpy(copy, queries[_i].input.at, len);
	ck_assert_int_eq(dns_read(copy, len, &query), queries[_i].want);
	if (queries[_i].want < 0)
		return;
	ck_assert_int_eq(query.code, queries[_i].code);
	if (query.code != DNS_OK)
		return;
	ck_assert_uint_eq(query.type, queries[_i].type);
	ck_assert_str_eq(query.name, queries[_i].name);
}
END_TEST

#define REPLY(code, answers, more) "\1\2\201" code "\0\1\0" answers "\0\0\0" more "\1a\4test\0"
#define RECORD(type, len)          "\300\14\0" type "\0\1\0\0\0\74\0" len

static const struct {
	struct bytes query;
	struct dns_answer answer;
	struct bytes want;
} replies[] = {
	{ BYTES(HEAD ASK_A),
	  { .addr = (const uint8_t *)"\306\22\1\0", .addr_len = 4 },
	  BYTES(REPLY("\200", "\1", "\0") "\0\1\0\1" RECORD("\1", "\4") "\306\22\1\0") },
	{ BYTES(HEAD ASK_A), { .code = DNS_NO_NAME }, BYTES(REPLY("\203", "\0", "\0") "\0\1\0\1") },
	{ BYTES(HEAD NAME "\0\20\0\1"),
	  { .text = "no" },
	  BYTES(REPLY("\200", "\1", "\0") "\0\20\0\1" RECORD("\20", "\3") "\2no") },
	{ BYTES(HEAD NAME "\0\14\0\1"),
	  { .name = "b.test" },
	  BYTES(REPLY("\200", "\1", "\0") "\0\14\0\1" RECORD("\14", "\10") "\1b\4test\0") },
	{ BYTES(HEAD_OPT ASK_A OPT),
	  { .extra = DNS_BLOCKED, .extra_text = "no" },
	  BYTES(REPLY("\200", "\0", "\1") "\0\1\0\1"
					  "\0\0\51\4\320\0\0\0\0\0\10\0\17\0\4\0\17no") },
	/* Without EDNS there is no place for it. */
	{ BYTES(HEAD ASK_A),
	  { .extra = DNS_BLOCKED, .extra_text = "no" },
	  BYTES(REPLY("\200", "\0", "\0") "\0\1\0\1") },
};

START_TEST(writes_a_reply)
{
	struct dns_query query;
	uint8_t out[DNS_REPLY_MAX];

	ck_assert_int_eq(
		dns_read((const uint8_t *)replies[_i].query.at, replies[_i].query.len, &query), 0);
	size_t len = dns_write(&query, &replies[_i].answer, out, sizeof(out));

	ck_assert_uint_eq(len, replies[_i].want.len);
	ck_assert_mem_eq(out, replies[_i].want.at, len);
}
END_TEST

START_TEST(truncates_what_does_not_fit)
{
	static const struct bytes input = BYTES(HEAD NAME "\0\20\0\1");
	char text[256] = "";
	struct dns_query query;
	uint8_t out[DNS_REPLY_PLAIN];
	const struct dns_answer answer = { .text = text };

	memset(text, 'x', sizeof(text) - 1);
	ck_assert_int_eq(dns_read((const uint8_t *)input.at, input.len, &query), 0);
	size_t len = dns_write(&query, &answer, out, 100);

	ck_assert_uint_eq(len, input.len);
	ck_assert_uint_eq(out[2] & 2, 2);
	ck_assert_uint_eq(out[7], 0);
	ck_assert_uint_gt(dns_write(&query, &answer, out, sizeof(out)), 255);
	ck_assert_uint_eq(out[2] & 2, 0);
}
END_TEST

TCase *dns_cases(void)
{
	TCase *tcase = tcase_create("dns");

	tcase_add_loop_test(tcase, reads_a_query, 0, (int)ARRAY_SIZE(queries));
	tcase_add_loop_test(tcase, writes_a_reply, 0, (int)ARRAY_SIZE(replies));
	tcase_add_test(tcase, truncates_what_does_not_fit);
	return tcase;
}
