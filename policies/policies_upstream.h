/* policies_upstream: the proxy of a network through which the gate connects to servers, and the
 * destinations that are dialled without it. */
#pragma once

#include "policies/policies.h"

enum policy_upstream_kind { POLICY_UPSTREAM_NONE, POLICY_UPSTREAM_HTTP, POLICY_UPSTREAM_SOCKS };

#define POLICY_UPSTREAM_LOGIN_MAX 256 /* 255 bytes (RFC 1929 §2) and NUL */

/* Plain value. The login is shown nowhere. */
struct policy_upstream {
	enum policy_upstream_kind kind;
	struct policy_destination proxy; /* its own host and port */
	bool is_tls;                     /* of kind HTTP: the connection to it is TLS */
	bool has_login;
	char user[POLICY_UPSTREAM_LOGIN_MAX], password[POLICY_UPSTREAM_LOGIN_MAX];
};

/* Which proxy is used for which protocol, and @direct, the value of NO_PROXY ("": none).
 * @authorities: whose certificates a proxy may have, in PEM; NULL: none has TLS. */
struct policy_upstreams {
	struct policy_upstream http, https, other;
	const char *direct, *authorities;
};

/* Reads "http://[USER[:PASSWORD]@]HOST[:PORT]", "https://…" or "socks5h://…"; without a scheme it
 * is http.
 * -EBADMSG or -EPROTONOSUPPORT, with @why, which never contains the login. */
int policy_upstream_parse(const char *url, struct policy_upstream *ret, struct err *why);
/* The `upstream` line in force; false: there is none. @ret: of kind NONE for `upstream none`.
 * *@ret_files: with its login, and with whose certificates it may have, as written, borrowed; NULL:
 * none. */
struct policy_upstream_files {
	const char *login, *authorities;
};
bool policy_get_upstream(const struct policy *policy, struct policy_upstream *ret,
			 struct policy_upstream_files *ret_files);
/* Takes the login from @text, "USER:PASSWORD". -EBADMSG with @why. */
int policy_upstream_set_login(struct policy_upstream *upstream, const char *text, struct err *why);
/* "http://proxy.test:3128", without the login. Returns @out. */
#define POLICY_UPSTREAM_TEXT_MAX POLICY_DESTINATION_TEXT_MAX
const char *policy_upstream_text(const struct policy_upstream *upstream,
				 char out[POLICY_UPSTREAM_TEXT_MAX]);

/* The field "Proxy-Authorization: …" with its end, or "". Returned owned. */
char *policy_upstream_field(const struct policy_upstream *upstream);

/* The proxy for @dst, by its protocol, whatever rule allows it; NULL: it is dialled directly,
 * because there is no proxy, or it is a loopback address or in the list of @upstreams, which may be
 * NULL. Borrowed. */
const struct policy_upstream *policy_upstream_for(const struct policy_upstreams *upstreams,
						  const struct policy_destination *dst);
