/* libcrypto takes longer to load (some 0.9 ms) and to make its first digest (1.5 ms, most of it for
 * reading openssl.cnf) than a short command takes to run. So the program is not linked with it: the
 * first record loads it, while the command is starting already, and works in a library context of
 * its own, which reads no configuration. Only the functions named here are looked up, by the types
 * the library's own header declares; nothing else of it is used or passed on. A library that is
 * missing, or lacks one of them, is an error of the first record, and then every verdict is a
 * denial. */
#include "gateway/sinks/digest.h"

#include <dlfcn.h>
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

#define DIGEST_LIBRARY "libcrypto.so.3"
#define DIGEST_BYTES   32

struct digest {
	void *library;
	OSSL_LIB_CTX *own;
	EVP_MD_CTX *context;
	EVP_MD *sha256;
	__typeof__(OSSL_LIB_CTX_new) *own_new;
	__typeof__(OSSL_LIB_CTX_free) *own_free;
	__typeof__(EVP_MD_CTX_new) *context_new;
	__typeof__(EVP_MD_CTX_free) *context_free;
	__typeof__(EVP_MD_fetch) *fetch;
	__typeof__(EVP_MD_free) *md_free;
	__typeof__(EVP_DigestInit_ex2) *begin;
	__typeof__(EVP_DigestUpdate) *update;
	__typeof__(EVP_DigestFinal_ex) *finish;
};

/* A function pointer out of dlsym(3), as POSIX has it: through memory. */
static int digest_find(const struct digest *digest, const char *name, void *ret_function,
		       struct err *why)
{
	void *symbol = dlsym(digest->library, name);

	if (!symbol)
		return err_set(why, -ENOSYS, "%s has no %s", DIGEST_LIBRARY, name);
	memcpy(ret_function, &symbol, sizeof(symbol));
	return 0;
}

static int digest_bind(struct digest *digest, struct err *why)
{
	const struct {
		const char *name;
		void *function;
	} wanted[] = {
		{ "OSSL_LIB_CTX_new", &digest->own_new },
		{ "OSSL_LIB_CTX_free", &digest->own_free },
		{ "EVP_MD_CTX_new", &digest->context_new },
		{ "EVP_MD_CTX_free", &digest->context_free },
		{ "EVP_MD_fetch", &digest->fetch },
		{ "EVP_MD_free", &digest->md_free },
		{ "EVP_DigestInit_ex2", &digest->begin },
		{ "EVP_DigestUpdate", &digest->update },
		{ "EVP_DigestFinal_ex", &digest->finish },
	};

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		int r = digest_find(digest, wanted[i].name, wanted[i].function, why);

		if (r < 0)
			return r;
	}
	digest->own = digest->own_new();
	if (digest->own)
		digest->sha256 = digest->fetch(digest->own, "SHA256", NULL);
	digest->context = digest->context_new();
	if (!digest->sha256 || !digest->context)
		return err_set(why, -EIO, "%s offers no SHA-256", DIGEST_LIBRARY);
	return 0;
}

struct digest *digest_new(struct err *why)
{
	struct digest *digest = mem_new(sizeof(*digest));

	digest->library = dlopen(DIGEST_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!digest->library)
		(void)err_set(why, -ENOENT, "cannot load the hash function: %s", dlerror());
	else if (digest_bind(digest, why) == 0)
		return digest;
	digest_free(digest);
	return NULL;
}

void digest_free(struct digest *digest)
{
	if (!digest)
		return;
	if (digest->context)
		digest->context_free(digest->context);
	if (digest->sha256)
		digest->md_free(digest->sha256);
	if (digest->own)
		digest->own_free(digest->own);
	if (digest->library)
		(void)dlclose(digest->library); /* nothing to do about it */
	free(digest);
}

int digest_text(struct digest *digest, const void *first, size_t first_len, const void *second,
		size_t second_len, char ret[DIGEST_TEXT_MAX])
{
	static const char hex[] = "0123456789abcdef";
	unsigned char bytes[EVP_MAX_MD_SIZE];
	unsigned int len = 0;

	if (!digest->begin(digest->context, digest->sha256, NULL) ||
	    !digest->update(digest->context, first, first_len) ||
	    !digest->update(digest->context, second, second_len) ||
	    !digest->finish(digest->context, bytes, &len) || len != DIGEST_BYTES)
		return -EIO;
	for (unsigned int i = 0; i < len; i++) {
		ret[2 * i] = hex[bytes[i] >> 4];
		ret[2 * i + 1] = hex[bytes[i] & 15];
	}
	ret[2 * (size_t)len] = '\0';
	return 0;
}
