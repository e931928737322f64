#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "policies/engine/image_impl.h"
#include "policies/policies_image.h"
#include "policies/policies_tools.h"
#include "tests/fuzz/fuzz.h"

static const char text[] = "default ask\n"
			   "approvals granular rules\n"
			   "on-denial stop\n"
			   "hook /bin/true x for exec\n"
			   "hide /etc/secret\n"
			   "limit tmp 5m\n"
			   "durable strict\n"
			   "audit keep 90d 2g\n"
			   "command deny git push because \"no\"\n"
			   "only **.test 8.8.0.0/16\n"
			   "allow a.test\n"
			   "allow *.b.a.test private\n"
			   "allow **.test:22,80,443 except c.test:22,8000-8100 10.0.0.0/8\n"
			   "deny 8.8.8.0/24 because \"no\"\n"
			   "deny [2001:470::]/32 for 1h\n"
			   "ask * until 2100-01-01\n"
			   "answer allow a.test:8443   # by ana on tty, 2026-11-20T20:13Z\n"
			   "allow a.test:9000\n";

static const char *const requests[] = {
	"a.test",           "x.b.a.test",    "tcp://c.test:22",     "8.8.8.8",
	"tcp://8.8.9.9:22", "[2001:470::1]", "https://example.org", "a.test:8443",
	"a.test:9000",      "localhost:80",  "[2002:808:808::]"
};

static void decide(const struct policy *policy, const char *request)
{
	struct policy_facts facts = { .now = 1800000000 };
	struct policy_verdict verdict, dialled;
	struct addr addr = { .family = AF_INET, .bytes = { 8, 8, 8, 8 } };

	fuzz_must(policy_destination_parse(request, &facts.dst, NULL) == 0);
	facts.carries = facts.dst.protocol;
	policy_decide(policy, &facts, &verdict);
	fuzz_must(verdict.number <= policy_rule_count(policy));
	fuzz_must(memchr(verdict.rule, '\0', sizeof(verdict.rule)));
	fuzz_must(memchr(verdict.because, '\0', sizeof(verdict.because)));
	policy_decide_address(policy, &facts.dst, &verdict, &addr, &dialled);
	for (size_t i = 1; i <= policy_rule_count(policy); i++) {
		struct policy_rule_look look;

		policy_rule_look(policy, i, &facts, &look);
		fuzz_must(look.word && memchr(look.rule, '\0', sizeof(look.rule)));
	}
}

/* The image of a policy, owned. */
static unsigned char *make(size_t *ret_len)
{
	struct policy *policy = policy_new();

	fuzz_must(policy_load_text_layer(policy, "<fuzz>", text, POLICY_MANAGED) == 0 &&
		  policy_finish(policy) == 0);
	auto_close int fd = policy_image_make(policy, NULL);

	fuzz_must(fd >= 0);
	off_t len = lseek(fd, 0, SEEK_END);
	unsigned char *bytes = mem_new((size_t)len);

	fuzz_must(pread(fd, bytes, (size_t)len, 0) == len);
	policy_free(policy);
	*ret_len = (size_t)len;
	return bytes;
}

/* Three bytes of input change one byte of a good image, whose sum is then taken as right. Images
 * change with the program: a corpus of whole ones would soon be refused at the first check. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	size_t image_len;
	auto_free unsigned char *image = make(&image_len);

	for (size_t i = 0; i + 3 <= len; i += 3)
		image[(bytes[i] << 8 | bytes[i + 1]) % image_len] = bytes[i + 2];
	if (image_check(image, image_len, true, NULL) < 0)
		return 0;
	struct policy *policy = mem_new(sizeof(*policy));

	image_attach(policy, image);
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
		decide(policy, requests[i]);
	(void)image_restore(policy, NULL);
	policy_free(policy);
	return 0;
}
