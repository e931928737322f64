/* sign: Ed25519 signatures (RFC 8032) by OpenSSL, and those that `ssh-keygen -Y sign` makes.
 * docs/decisions/0040 says what that costs a start. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct err;

#define SIGN_KEY_BYTES 32
#define SIGN_BYTES     64
#define SIGN_SSH_MAX   1024 /* bytes; an Ed25519 signature takes 200 and the namespace */
#define SIGN_PEM_MAX   4096

/* Plain value; sign_key_forget() when done. */
struct sign_key {
	uint8_t seed[SIGN_KEY_BYTES], public[SIGN_KEY_BYTES];
};

/* Starts OpenSSL, which takes 1.5 ms: at a time when nothing waits. The first call below does the
 * same. */
void sign_prepare(void);
/* Makes a new key. 0 or -EIO. */
int sign_key_make(struct sign_key *ret, struct err *why);
void sign_key_forget(struct sign_key *key);
/* PKCS #8 (RFC 8410) in the only form that `openssl genpkey -algorithm ed25519` writes. -EBADMSG:
 * another kind of key, or one with a passphrase; -EIO. */
int sign_key_from_pem(const char *pem, size_t len, struct sign_key *ret, struct err *why);
/* Returned owned. */
char *sign_key_to_pem(const struct sign_key *key);

/* 0 or -EIO. */
int sign_bytes(const struct sign_key *key, const void *bytes, size_t len,
	       uint8_t ret_signature[SIGN_BYTES], struct err *why);
/* 0, or -EBADMSG: another key signed it, or the bytes differ. */
int sign_check(const uint8_t public[SIGN_KEY_BYTES], const void *bytes, size_t len,
	       const uint8_t signature[SIGN_BYTES]);
/* @signature: the SSHSIG structure of @signature_len bytes (OpenSSH PROTOCOL.sshsig), made with `-n
 * NAMESPACE`. 0 or -EBADMSG. */
int sign_ssh_check(const uint8_t public[SIGN_KEY_BYTES], const char *name_space, const void *bytes,
		   size_t len, const void *signature, size_t signature_len);

/* "ssh-ed25519 AAAA... comment" → the key, or -EBADMSG. */
int sign_ssh_public(const char *text, uint8_t ret[SIGN_KEY_BYTES]);
/* "ssh-ed25519 AAAA... comment" or "ed25519:BASE64" → the key; -EBADMSG: neither form. */
int sign_public_parse(const char *text, uint8_t ret[SIGN_KEY_BYTES]);
/* "ed25519:BASE64" */
#define SIGN_PUBLIC_TEXT_MAX 56
const char *sign_public_text(const uint8_t public[SIGN_KEY_BYTES], char out[SIGN_PUBLIC_TEXT_MAX]);
