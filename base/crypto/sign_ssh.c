/* OpenSSH's formats: public keys (RFC 4253 §6.6, RFC 8709 §4) and signatures (PROTOCOL.sshsig). */
#define OPENSSL_SUPPRESS_DEPRECATED /* base/crypto/digest.c says why EVP is not used */
#include <errno.h>
#include <openssl/sha.h>
#include <stdbool.h>
#include <string.h>

#include "base/crypto/base64.h"
#include "base/crypto/sign.h"

#define SSH_TYPE    "ssh-ed25519"
#define SSH_MAGIC   "SSHSIG" /* without a NUL */
#define SSH_KEY_MAX 64       /* bytes of a public key: 51 */

/* The bytes that are still to be read. */
struct piece {
	const uint8_t *at;
	size_t len;
};

static bool piece_u32(struct piece *from, uint32_t *ret)
{
	if (from->len < 4)
		return false;
	*ret = (uint32_t)from->at[0] << 24 | (uint32_t)from->at[1] << 16 |
	       (uint32_t)from->at[2] << 8 | from->at[3];
	from->at += 4;
	from->len -= 4;
	return true;
}

/* A "string" of RFC 4251 §5. */
static bool piece_string(struct piece *from, struct piece *ret)
{
	uint32_t len;

	if (!piece_u32(from, &len) || len > from->len)
		return false;
	*ret = (struct piece){ from->at, len };
	from->at += len;
	from->len -= len;
	return true;
}

static bool piece_is(const struct piece *piece, const void *bytes, size_t len)
{
	return piece->len == len && (len == 0 || memcmp(piece->at, bytes, len) == 0);
}

/* string "ssh-ed25519", then a string of @size bytes, then the end: a key or a signature. */
static bool piece_typed(struct piece from, size_t size, struct piece *ret)
{
	struct piece type;

	return piece_string(&from, &type) && piece_is(&type, SSH_TYPE, strlen(SSH_TYPE)) &&
	       piece_string(&from, ret) && ret->len == size && from.len == 0;
}

struct ssh_signature {
	struct piece key, name_space, hash, signature;
};

static bool ssh_read(const void *bytes, size_t len, struct ssh_signature *ret)
{
	struct piece from = { bytes, len }, key, reserved, signature;
	size_t magic = strlen(SSH_MAGIC);
	uint32_t version;

	if (len < magic || memcmp(bytes, SSH_MAGIC, magic) != 0)
		return false;
	from.at += magic;
	from.len -= magic;
	return piece_u32(&from, &version) && version == 1 && piece_string(&from, &key) &&
	       piece_typed(key, SIGN_KEY_BYTES, &ret->key) &&
	       piece_string(&from, &ret->name_space) && piece_string(&from, &reserved) &&
	       reserved.len == 0 && piece_string(&from, &ret->hash) &&
	       piece_string(&from, &signature) &&
	       piece_typed(signature, SIGN_BYTES, &ret->signature) && from.len == 0;
}

/* The message that the key has signed: it holds a digest of the bytes. */
struct ssh_message {
	uint8_t bytes[SIGN_SSH_MAX];
	size_t len;
};

static void ssh_add(struct ssh_message *message, const void *bytes, size_t len)
{
	uint8_t *out = message->bytes + message->len;

	out[0] = out[1] = 0;
	out[2] = (uint8_t)(len >> 8);
	out[3] = (uint8_t)len;
	if (len > 0)
		memcpy(out + 4, bytes, len);
	message->len += 4 + len;
}

/* One of the two digests that the format allows. */
static bool ssh_digest(const struct piece *name, const void *bytes, size_t len,
		       uint8_t ret[SHA512_DIGEST_LENGTH], size_t *ret_len)
{
	SHA512_CTX wide;
	SHA256_CTX narrow;

	if (piece_is(name, "sha512", 6)) {
		*ret_len = SHA512_DIGEST_LENGTH;
		return SHA512_Init(&wide) && SHA512_Update(&wide, bytes, len) &&
		       SHA512_Final(ret, &wide);
	}
	*ret_len = SHA256_DIGEST_LENGTH;
	return piece_is(name, "sha256", 6) && SHA256_Init(&narrow) &&
	       SHA256_Update(&narrow, bytes, len) && SHA256_Final(ret, &narrow);
}

int sign_ssh_check(const uint8_t public[SIGN_KEY_BYTES], const char *name_space, const void *bytes,
		   size_t len, const void *signature, size_t signature_len)
{
	struct ssh_signature read;
	struct ssh_message message = { .len = strlen(SSH_MAGIC) };
	uint8_t digest[SHA512_DIGEST_LENGTH];
	size_t digest_len;

	/* This bound guarantees that the message has room. */
	if (signature_len > SIGN_SSH_MAX / 2 || !ssh_read(signature, signature_len, &read) ||
	    !piece_is(&read.key, public, SIGN_KEY_BYTES) ||
	    !piece_is(&read.name_space, name_space, strlen(name_space)))
		return -EBADMSG;
	if (!ssh_digest(&read.hash, bytes, len, digest, &digest_len))
		return -EBADMSG;
	memcpy(message.bytes, SSH_MAGIC, strlen(SSH_MAGIC));
	ssh_add(&message, name_space, strlen(name_space));
	ssh_add(&message, "", 0);
	ssh_add(&message, read.hash.at, read.hash.len);
	ssh_add(&message, digest, digest_len);
	return sign_check(public, message.bytes, message.len, read.signature.at);
}

int sign_ssh_public(const char *text, uint8_t ret[SIGN_KEY_BYTES])
{
	uint8_t bytes[SSH_KEY_MAX];
	size_t len = 0;
	struct piece key;

	if (strncmp(text, SSH_TYPE " ", strlen(SSH_TYPE) + 1) != 0)
		return -EBADMSG;
	text += strlen(SSH_TYPE) + 1;
	if (base64_decode(text, strcspn(text, " \n"), bytes, sizeof(bytes), &len) < 0 ||
	    !piece_typed((struct piece){ bytes, len }, SIGN_KEY_BYTES, &key))
		return -EBADMSG;
	memcpy(ret, key.at, SIGN_KEY_BYTES);
	return 0;
}
