#include "base/crypto/tls.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"

#define TLS_SUBJECT_MAX 48

struct tls_trust {
	SSL_CTX *context;
};

struct tls {
	SSL *ssl;
	bool wants_write;
	char issuer[TLS_SUBJECT_MAX]; /* of the certificate that was refused; "": not known */
};

/* The number of certificates; -EBADMSG: one cannot be read. */
static int tls_trust_fill(X509_STORE *store, const char *pem, size_t len)
{
	BIO *bio = len <= INT_MAX ? BIO_new_mem_buf(pem, (int)len) : NULL;
	int count = 0;
	X509 *cert;

	while (bio && count >= 0 && (cert = PEM_read_bio_X509_AUX(bio, NULL, NULL, NULL))) {
		count = X509_STORE_add_cert(store, cert) == 1 ? count + 1 : -EBADMSG;
		X509_free(cert);
	}
	BIO_free(bio);
	/* The reader also ends at the last one, with this error. */
	if (count >= 0 && ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
		count = -EBADMSG;
	ERR_clear_error();
	return count;
}

/* Notes who signed what is refused: a handshake that has failed keeps no certificate. */
static int tls_on_verify(int is_good, X509_STORE_CTX *store)
{
	SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
	const X509 *cert = X509_STORE_CTX_get_current_cert(store);
	struct tls *tls = SSL_get_app_data(ssl);
	char name[TLS_SUBJECT_MAX] = "";

	if (!is_good && cert) {
		(void)X509_NAME_get_text_by_NID(X509_get_issuer_name(cert), NID_commonName, name,
						sizeof(name)); /* "": it has none */
		(void)text_visible(tls->issuer, sizeof(tls->issuer), name, strlen(name));
	}
	return is_good;
}

static SSL_CTX *tls_context(void)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());

	if (!context)
		return NULL;
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, tls_on_verify);
	SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
	SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE |
					  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
					  SSL_MODE_RELEASE_BUFFERS);
	if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1)
		return context;
	SSL_CTX_free(context);
	return NULL;
}

int tls_trust_new(const char *pem, size_t len, struct tls_trust **ret, struct err *why)
{
	/* Without openssl.cnf, which may load code. */
	SSL_CTX *context =
		OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) == 1 ? tls_context() : NULL;
	int count = context ? tls_trust_fill(SSL_CTX_get_cert_store(context), pem, len) : -ENOMEM;

	if (count > 0) {
		*ret = mem_new(sizeof(**ret));
		(*ret)->context = context;
		return 0;
	}
	SSL_CTX_free(context);
	if (count == -ENOMEM)
		return err_set(why, count, "OpenSSL cannot be used");
	return err_set(why, -EBADMSG,
		       count == 0 ? "it has no certificate (PEM)"
				  : "a certificate in it cannot be read");
}

void tls_trust_free(struct tls_trust *trust)
{
	if (trust)
		SSL_CTX_free(trust->context);
	free(trust);
}

struct tls *tls_new(const struct tls_trust *trust, int fd, const char *host, bool is_address)
{
	struct tls *tls = mem_new(sizeof(*tls));

	tls->ssl = SSL_new(trust->context);
	if (tls->ssl && SSL_set_fd(tls->ssl, fd) == 1) {
		X509_VERIFY_PARAM *param = SSL_get0_param(tls->ssl);

		SSL_set_app_data(tls->ssl, tls);
		SSL_set_connect_state(tls->ssl);
		SSL_set_hostflags(tls->ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
		if (is_address ? X509_VERIFY_PARAM_set1_ip_asc(param, host) == 1
			       : SSL_set1_host(tls->ssl, host) == 1 &&
					 SSL_set_tlsext_host_name(tls->ssl, host) == 1)
			return tls;
	}
	tls_free(tls);
	return NULL;
}

void tls_free(struct tls *tls)
{
	if (tls)
		SSL_free(tls->ssl);
	free(tls);
}

int tls_offer_http1(struct tls *tls)
{
	static const unsigned char http1[] = "\x08http/1.1";

	return SSL_set_alpn_protos(tls->ssl, http1, sizeof(http1) - 1) == 0 ? 0 : -ENOMEM;
}

/* Why the call that returned @r did not succeed. */
static int tls_failed(struct tls *tls, int r)
{
	int error = SSL_get_error(tls->ssl, r);

	tls->wants_write = error == SSL_ERROR_WANT_WRITE;
	if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
		return -EAGAIN;
	return error == SSL_ERROR_ZERO_RETURN ? 0 : -ECONNRESET;
}

static void tls_explain(const struct tls *tls, char cause[TLS_CAUSE_MAX])
{
	long result = SSL_get_verify_result(tls->ssl);
	unsigned long error = ERR_peek_error();

	switch (result) {
	case X509_V_OK:
		if (error == 0 || ERR_GET_REASON(error) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
			(void)snprintf(cause, TLS_CAUSE_MAX,
				       "closed the connection in the TLS handshake");
		else
			(void)snprintf(cause, TLS_CAUSE_MAX, "failed in the TLS handshake: %s",
				       ERR_reason_error_string(error));
		return;
	case X509_V_ERR_CERT_HAS_EXPIRED:
		(void)snprintf(cause, TLS_CAUSE_MAX, "has a certificate that has expired");
		return;
	case X509_V_ERR_HOSTNAME_MISMATCH:
	case X509_V_ERR_IP_ADDRESS_MISMATCH:
		(void)snprintf(cause, TLS_CAUSE_MAX, "has a certificate for another name");
		return;
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
		(void)snprintf(cause, TLS_CAUSE_MAX,
			       "has a certificate of %s, which is not trusted",
			       tls->issuer[0] != '\0' ? tls->issuer : "an authority");
		return;
	default:
		(void)snprintf(cause, TLS_CAUSE_MAX, "has a certificate that is not valid: %s",
			       X509_verify_cert_error_string(result));
	}
}

int tls_shake(struct tls *tls, char cause[TLS_CAUSE_MAX])
{
	ERR_clear_error();
	int r = SSL_do_handshake(tls->ssl);

	if (r == 1)
		return 0;
	if (tls_failed(tls, r) == -EAGAIN)
		return -EAGAIN;
	tls_explain(tls, cause);
	ERR_clear_error();
	return -EPROTO;
}

ssize_t tls_read(struct tls *tls, void *bytes, size_t max)
{
	size_t got = 0;

	ERR_clear_error();
	int r = SSL_read_ex(tls->ssl, bytes, max, &got);

	return r == 1 ? (ssize_t)got : tls_failed(tls, r);
}

ssize_t tls_write(struct tls *tls, const void *bytes, size_t len)
{
	size_t sent = 0;

	ERR_clear_error();
	int r = SSL_write_ex(tls->ssl, bytes, len, &sent);

	if (r == 1)
		return (ssize_t)sent;
	r = tls_failed(tls, r);
	return r == 0 ? -EPIPE : r;
}

int tls_end(struct tls *tls)
{
	ERR_clear_error();
	int r = SSL_shutdown(tls->ssl);

	return r >= 0 ? 0 : tls_failed(tls, r);
}

bool tls_wants_write(const struct tls *tls)
{
	return tls->wants_write;
}
