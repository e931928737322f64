#include "tests/unit/base/test_base.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/crypto/base64.h"
#include "base/mem.h"
#include "base/crypto/sign.h"

static const struct {
	const char *bytes, *text;
} spellings[] = {
	{ "", "" },
	{ "f", "Zg==" },
	{ "fo", "Zm8=" },
	{ "foo", "Zm9v" },
	{ "foob", "Zm9vYg==" },
	{ "fooba", "Zm9vYmE=" },
	{ "foobar", "Zm9vYmFy" },
};

/* The vectors of RFC 4648 §10. */
START_TEST(base64_goes_there_and_back)
{
	const char *bytes = spellings[_i].bytes;
	auto_free char *text = base64_encode(bytes, strlen(bytes));
	char back[8];
	size_t len = 99;

	ck_assert_str_eq(text, spellings[_i].text);
	ck_assert_int_eq(base64_decode(text, strlen(text), back, sizeof(back), &len), 0);
	ck_assert_uint_eq(len, strlen(bytes));
	ck_assert(memcmp(back, bytes, len) == 0);
}
END_TEST

static const char *const misspelt[] = {
	"Z",        "Zg",   "Zg=",   "Zh==", "Zm9=", "Z===", "====", "Zg==Zg==",
	"Zm8=Zm8=", "Zm 9", "Zm9\n", "Zm9-", "Zm9_", "=m9v", "Z=9v", "Zg=v",
};

START_TEST(base64_has_one_spelling)
{
	char back[16];
	size_t len;

	ck_assert_int_eq(
		base64_decode(misspelt[_i], strlen(misspelt[_i]), back, sizeof(back), &len),
		-EBADMSG);
}
END_TEST

START_TEST(base64_stops_at_the_end_of_the_room)
{
	char back[3];
	size_t len;

	ck_assert_int_eq(base64_decode("Zm9v", 4, back, 3, &len), 0);
	ck_assert_int_eq(base64_decode("Zm9v", 4, back, 2, &len), -E2BIG);
}
END_TEST

/* RFC 8032 §7.1, test 2. */
static const uint8_t seed[SIGN_KEY_BYTES] = {
	0x4c, 0xcd, 0x08, 0x9b, 0x28, 0xff, 0x96, 0xda, 0x9d, 0xb6, 0xc3,
	0x46, 0xec, 0x11, 0x4e, 0x0f, 0x5b, 0x8a, 0x31, 0x9f, 0x35, 0xab,
	0xa6, 0x24, 0xda, 0x8c, 0xf6, 0xed, 0x4f, 0xb8, 0xa6, 0xfb,
};
static const uint8_t public[SIGN_KEY_BYTES] = {
	0x3d, 0x40, 0x17, 0xc3, 0xe8, 0x43, 0x89, 0x5a, 0x92, 0xb7, 0x0a,
	0xa7, 0x4d, 0x1b, 0x7e, 0xbc, 0x9c, 0x98, 0x2c, 0xcf, 0x2e, 0xc4,
	0x96, 0x8c, 0xc0, 0xcd, 0x55, 0xf1, 0x2a, 0xf4, 0x66, 0x0c,
};

/* The key above, as a key file. Returned owned. */
static char *pem_of(const uint8_t bytes[SIGN_KEY_BYTES])
{
	struct sign_key key = { 0 };

	memcpy(key.seed, bytes, SIGN_KEY_BYTES);
	return sign_key_to_pem(&key);
}

START_TEST(a_signature_is_that_of_the_standard)
{
	auto_free char *pem = pem_of(seed);
	uint8_t signature[SIGN_BYTES];
	struct sign_key key;

	ck_assert_int_eq(sign_key_from_pem(pem, strlen(pem), &key, NULL), 0);
	ck_assert(memcmp(key.public, public, sizeof(public)) == 0);
	ck_assert_int_eq(sign_bytes(&key, "\x72", 1, signature, NULL), 0);
	auto_free char *text = base64_encode(signature, sizeof(signature));

	ck_assert_str_eq(text, "kqAJqfDUyrhyDoILX2QlQKKye1QWUD+Ps3YiI+vbadoIWsHkPhWZbkWPNhPQ8R2M"
			       "OHsurrQwKu6wDSkWErsMAA==");
	ck_assert_int_eq(sign_check(public, "\x72", 1, signature), 0);
	ck_assert_int_eq(sign_check(public, "\x73", 1, signature), -EBADMSG);
	ck_assert_int_eq(sign_check(seed, "\x72", 1, signature), -EBADMSG);
	for (size_t i = 0; i < sizeof(signature); i++) {
		signature[i] ^= 1;
		ck_assert_int_eq(sign_check(public, "\x72", 1, signature), -EBADMSG);
		signature[i] ^= 1;
	}
	sign_key_forget(&key);
}
END_TEST

START_TEST(every_new_key_is_another)
{
	struct sign_key first, second, again;
	uint8_t signature[SIGN_BYTES];

	ck_assert_int_eq(sign_key_make(&first, NULL), 0);
	ck_assert_int_eq(sign_key_make(&second, NULL), 0);
	ck_assert(memcmp(first.public, second.public, SIGN_KEY_BYTES) != 0);
	auto_free char *pem = sign_key_to_pem(&first);

	ck_assert_int_eq(sign_key_from_pem(pem, strlen(pem), &again, NULL), 0);
	ck_assert(memcmp(&first, &again, sizeof(first)) == 0);
	ck_assert_int_eq(sign_bytes(&first, "", 0, signature, NULL), 0);
	ck_assert_int_eq(sign_check(second.public, "", 0, signature), -EBADMSG);
}
END_TEST

/* What `openssl genpkey -algorithm ed25519` writes for a seed is what we write for it. */
START_TEST(a_key_file_is_that_of_openssl)
{
	auto_free char *pem = pem_of(seed);

	ck_assert_str_eq(pem, "-----BEGIN PRIVATE KEY-----\n"
			      "MC4CAQAwBQYDK2VwBCIEIEzNCJso/5banbbDRuwRTg9bijGfNaumJNqM9u1PuKb7\n"
			      "-----END PRIVATE KEY-----\n");
}
END_TEST

static const char *const no_pems[] = {
	"",
	"-----BEGIN PRIVATE "
	"KEY-----\nMC4CAQAwBQYDK2VwBCIEIEzNCJso/5banbbDRuwRTg9bijGfNaumJNqM9u1PuA=="
	"\n-----END PRIVATE KEY-----\n", /* two bytes too few, and of the same length */
	"-----BEGIN PRIVATE "
	"KEY-----\nMC4CAQAwBQYDK2VwBCIEIEzNCJso/5banbbDRuwRTg9bijGfNaumJNqM9u1Pu%im"
	"\n-----END PRIVATE KEY-----\n", /* not base64 */
	"-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n",
	"-----BEGIN PRIVATE "
	"KEY-----\nMC4CAQAwBQYDK2VwBCIEINy1Ub5VXI5BNFI0IJHE63uNF4UEHY8GFOnRxr5Kc/I"
	"A\n", /* no end */
	"-----BEGIN PRIVATE "
	"KEY-----\nMC4CAQAwBQYDK2VwBCIEINy1Ub5VXI5BNFI0IJHE63uNF4UEHY8GFOnRxr5K\n"
	"-----END PRIVATE KEY-----\n", /* cut */
	"-----BEGIN PRIVATE "
	"KEY-----\nMC4CAQAwBQYDK2VuBCIEINy1Ub5VXI5BNFI0IJHE63uNF4UEHY8GFOnRxr5Kc/I"
	"A\n-----END PRIVATE KEY-----\n", /* X25519 */
	"-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
	"MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAjHA0zOhfNY4AICCAAw\n"
	"DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEECPkfEy/lOqUY4fF2zs27M4EQNM2\n"
	"GYhw3dFLYKNcxCz4qVdAU7SEwKyLh7fdLju3q9pfWBGddfXm5p7dLhxH1mS67ZIK\n"
	"m/1PZgAFRSXnnyMImlI=\n"
	"-----END ENCRYPTED PRIVATE KEY-----\n", /* with a passphrase, which nobody is asked for */
	"-----BEGIN PRIVATE KEY-----\n"
	"MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgYGZe/tgtTPSk3wg2\n"
	"DpqCFQLh0FmfGRn96cd2mtu/24ChRANCAASKsR6e58Sh49ooYgZyovd/f8B8Y9to\n"
	"cXPocR9NNfQstjG+QbnHZAqbWQkF9a+qrgdvh4SkfvNVpzi4fxCg+gH9\n"
	"-----END PRIVATE KEY-----\n", /* of another curve */
	"-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n",
};

START_TEST(no_other_key_is_taken)
{
	struct sign_key key;

	ck_assert_int_eq(sign_key_from_pem(no_pems[_i], strlen(no_pems[_i]), &key, NULL), -EBADMSG);
}
END_TEST

/* Made by OpenSSH 9.2: printf hello | ssh-keygen -Y sign -n sallyport-answer -f KEY */
static const char ssh_public[] =
	"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILav7XwtQ/V4ZWk4QHYzGrp++CCUjpgnhc4da2t3R3wu ana";
static const char ssh_signature[] =
	"U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgtq/tfC1D9XhlaThAdjMaun74IJ"
	"SOmCeFzh1ra3dHfC4AAAAQc2FsbHlwb3J0LWFuc3dlcgAAAAAAAAAGc2hhNTEyAAAAUwAA"
	"AAtzc2gtZWQyNTUxOQAAAEAsyknpiJwhV/IzA5+e3QzkHG5s/uc173yrHmjXjuoXDVuAXg"
	"HgCVq85t/I63XQJQtANQC2QLQ986Ke5HO2l3cI";

START_TEST(what_ssh_keygen_signs_is_checked)
{
	uint8_t key[SIGN_KEY_BYTES], bytes[SIGN_SSH_MAX];
	size_t len;

	ck_assert_int_eq(sign_public_parse(ssh_public, key), 0);
	ck_assert_int_eq(
		base64_decode(ssh_signature, strlen(ssh_signature), bytes, sizeof(bytes), &len), 0);
	ck_assert_int_eq(sign_ssh_check(key, "sallyport-answer", "hello", 5, bytes, len), 0);
	ck_assert_int_eq(sign_ssh_check(key, "sallyport-answer", "hellp", 5, bytes, len), -EBADMSG);
	ck_assert_int_eq(sign_ssh_check(key, "file", "hello", 5, bytes, len), -EBADMSG);
	ck_assert_int_eq(sign_ssh_check(public, "sallyport-answer", "hello", 5, bytes, len),
			 -EBADMSG);
	for (size_t i = 0; i < len; i++) {
		ck_assert_int_eq(sign_ssh_check(key, "sallyport-answer", "hello", 5, bytes, i),
				 -EBADMSG);
		bytes[i] ^= 1;
		ck_assert_int_eq(sign_ssh_check(key, "sallyport-answer", "hello", 5, bytes, len),
				 -EBADMSG);
		bytes[i] ^= 1;
	}
}
END_TEST

static const char *const no_publics[] = {
	"",
	"ed25519:",
	"ed25519:AAAA",
	"ed25519:tq/tfC1D9XhlaThAdjMaun74IJSOmCeFzh1ra3dHfC4",
	"ed25519:tq/tfC1D9XhlaThAdjMaun74IJSOmCeFzh1ra3dHfC4= ",
	"tq/tfC1D9XhlaThAdjMaun74IJSOmCeFzh1ra3dHfC4=",
	"ssh-ed25519",
	"ssh-ed25519 ",
	"ssh-ed25519  AAAAC3NzaC1lZDI1NTE5AAAAILav7XwtQ/V4ZWk4QHYzGrp++CCUjpgnhc4da2t3R3wu",
	"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILav7XwtQ/V4ZWk4QHYzGrp++CCUjpgnhc4da2t3",
	"ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAILav7XwtQ/V4ZWk4QHYzGrp++CCUjpgnhc4da2t3R3wu",
};

START_TEST(no_other_public_key_is_taken)
{
	uint8_t key[SIGN_KEY_BYTES];

	ck_assert_int_eq(sign_public_parse(no_publics[_i], key), -EBADMSG);
}
END_TEST

START_TEST(both_spellings_are_one_key)
{
	uint8_t key[SIGN_KEY_BYTES], again[SIGN_KEY_BYTES];
	char text[SIGN_PUBLIC_TEXT_MAX];

	ck_assert_int_eq(sign_public_parse(ssh_public, key), 0);
	ck_assert_str_eq(sign_public_text(key, text),
			 "ed25519:tq/tfC1D9XhlaThAdjMaun74IJSOmCeFzh1ra3dHfC4=");
	ck_assert_int_eq(sign_public_parse(text, again), 0);
	ck_assert(memcmp(key, again, sizeof(key)) == 0);
}
END_TEST

TCase *test_sign(void)
{
	TCase *tcase = tcase_create("sign");

	tcase_add_loop_test(tcase, base64_goes_there_and_back, 0, ARRAY_SIZE(spellings));
	tcase_add_loop_test(tcase, base64_has_one_spelling, 0, ARRAY_SIZE(misspelt));
	tcase_add_test(tcase, base64_stops_at_the_end_of_the_room);
	tcase_add_test(tcase, a_signature_is_that_of_the_standard);
	tcase_add_test(tcase, every_new_key_is_another);
	tcase_add_test(tcase, a_key_file_is_that_of_openssl);
	tcase_add_loop_test(tcase, no_other_key_is_taken, 0, ARRAY_SIZE(no_pems));
	tcase_add_test(tcase, what_ssh_keygen_signs_is_checked);
	tcase_add_loop_test(tcase, no_other_public_key_is_taken, 0, ARRAY_SIZE(no_publics));
	tcase_add_test(tcase, both_spellings_are_one_key);
	return tcase;
}
