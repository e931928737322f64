/* The policy sees exactly the request that is sent. */
#include <string.h>

#include "proxy/http/policy_parts.h"
#include "tests/unit/proxy/rig.h"

#define ALL (POLICY_PART_METHOD | POLICY_PART_TARGET | POLICY_PART_FIELDS)

static const struct policy_request *see(struct policy_parts *seen, const char *text,
					unsigned int parts)
{
	static struct http1_head head;
	const char *cause = NULL;
	size_t scanned = 0;

	ck_assert_msg(http1_parse_request(text, strlen(text), &scanned, &head, &cause) == 0, "%s",
		      cause);
	return policy_parts_fill(seen, &head, parts);
}

START_TEST(all_of_it)
{
	struct policy_parts seen;
	const struct policy_request *request = see(
		&seen,
		"GET http://a.test/x/../y?q=1 HTTP/1.1\r\nHost: a.test\r\nAccept: text/html\r\n"
		"Proxy-Connection: close\r\nX-Gone: 1\r\nConnection: x-gone\r\nVia: 1.1 x\r\n\r\n",
		ALL);

	ck_assert_str_eq(request->method, "GET");
	ck_assert_str_eq(request->path, "/x/../y");
	ck_assert_str_eq(request->query, "q=1");
	ck_assert_uint_eq(request->field_count, 1);
	ck_assert_str_eq(request->fields[0].name, "Accept");
	ck_assert_str_eq(request->fields[0].value, "text/html");
	ck_assert(!request->has_override);
}
END_TEST

START_TEST(only_what_is_looked_at)
{
	static const char text[] = "GET http://a.test HTTP/1.1\r\nHost: a.test\r\n"
				   "X-HTTP-Method-Override: PUT\r\n\r\n";
	struct policy_parts seen;
	const struct policy_request *request = see(&seen, text, POLICY_PART_METHOD);

	ck_assert_str_eq(request->method, "GET");
	ck_assert_ptr_null(request->path);
	ck_assert_ptr_null(request->fields);
	ck_assert(request->has_override);
	request = see(&seen, text, POLICY_PART_TARGET);
	ck_assert_ptr_null(request->method);
	ck_assert_str_eq(request->path, "/");
	ck_assert_str_eq(request->query, "");
	ck_assert_ptr_null(see(&seen, text, 0));
}
END_TEST

/* One byte more and none of the fields is known. */
START_TEST(fields_that_do_not_fit)
{
	static const char start[] = "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nk: ";
	static const char end[] = "\r\nl: 2\r\n\r\n";
	size_t room = POLICY_FIELDS_BYTES_MAX - sizeof("k") - sizeof("l") - sizeof("2") - 1;
	char text[sizeof(start) + sizeof(end) + POLICY_FIELDS_BYTES_MAX];
	struct policy_parts seen;

	for (size_t more = 0; more < 2; more++) {
		size_t len = sizeof(start) - 1;

		memcpy(text, start, len);
		memset(text + len, 'v', room - 1 + more);
		memcpy(text + len + room - 1 + more, end, sizeof(end));
		const struct policy_request *request = see(&seen, text, ALL);

		ck_assert_int_eq(request->fields != NULL, more == 0);
		ck_assert_str_eq(request->path, "/");
	}
}
END_TEST

TCase *test_seen(void)
{
	TCase *tcase = tcase_create("seen");

	tcase_add_test(tcase, all_of_it);
	tcase_add_test(tcase, only_what_is_looked_at);
	tcase_add_test(tcase, fields_that_do_not_fit);
	return tcase;
}
