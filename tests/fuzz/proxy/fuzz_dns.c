#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/parse/dns.h"
#include "tests/fuzz/fuzz.h"

/* The reply to whatever was read is a message with the same question, and never too long. */
static void reply(const struct dns_query *query, const struct dns_answer *answer, size_t max)
{
	uint8_t *out = malloc(max);

	fuzz_must(out != NULL);
	size_t len = dns_write(query, answer, out, max);

	fuzz_must(len >= 12 && len <= max && (out[2] & 0x80) && (out[3] & 15) == answer->code);
	fuzz_must(memcmp(out, query->head, 2) == 0);
	fuzz_must(!query->question || memcmp(out + 12, query->question, query->question_len) == 0);
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static const uint8_t addr[16] = { 198, 18, 1, 1 };
	static const char text[] = "denied";
	struct dns_query query;
	int r = dns_read(bytes, len, &query);

	fuzz_must(r == 0 || r == -EBADMSG);
	if (r < 0)
		return 0;
	fuzz_must(strlen(query.name) < DNS_NAME_MAX && query.room >= DNS_REPLY_PLAIN);
	reply(&query, &(struct dns_answer){ .code = query.code }, DNS_REPLY_PLAIN);
	reply(&query, &(struct dns_answer){ .addr = addr, .addr_len = 4 }, DNS_REPLY_PLAIN);
	reply(&query,
	      &(struct dns_answer){ .text = text, .extra = DNS_BLOCKED, .extra_text = text },
	      DNS_REPLY_MAX);
	if (query.name[0])
		reply(&query, &(struct dns_answer){ .name = query.name }, DNS_REPLY_PLAIN);
	return 0;
}
