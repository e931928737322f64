#include "tests/unit/base/test_base.h"

#include <string.h>

#include "base/crypto/digest.h"

/* RFC 4231 §4.2, §4.3, §4.7. */
static const struct {
	const char *key;
	char fill;
	size_t fill_len;
	const char *text, *want;
} vectors[] = {
	{ NULL, '\x0b', 20, "Hi There",
	  "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7" },
	{ "Jefe", 0, 0, "what do ya want for nothing?",
	  "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843" },
	{ NULL, '\xaa', 131, "Test Using Larger Than Block-Size Key - Hash Key First",
	  "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54" },
};
START_TEST(hmac_is_as_published)
{
	char key[131], ret[DIGEST_TEXT_MAX];
	size_t len = vectors[_i].fill_len;

	memset(key, vectors[_i].fill, sizeof(key));
	if (vectors[_i].key) {
		len = strlen(vectors[_i].key);
		memcpy(key, vectors[_i].key, len);
	}
	ck_assert_int_eq(digest_hmac(key, len, vectors[_i].text, strlen(vectors[_i].text), ret), 0);
	ck_assert_str_eq(ret, vectors[_i].want);
}
END_TEST

TCase *test_digest(void)
{
	TCase *tcase = tcase_create("digest");

	tcase_add_loop_test(tcase, hmac_is_as_published, 0, sizeof(vectors) / sizeof(vectors[0]));
	return tcase;
}
