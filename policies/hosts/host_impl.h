/* host: the canonical form of a host, used wherever a host is compared, shown, resolved or
 * dialled. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/addr.h"
#include "policies/language/flaw_impl.h"
#include "policies/policies.h"

struct host {
	char text[POLICY_HOST_MAX]; /* lower-case A-labels without the trailing dot, or addr_text()
				     */
	size_t len;
	struct addr addr; /* family 0 unless it is an address; never IPv4-mapped */
};

/* Names, IPv4 in every inet_aton(3) spelling, IPv6 with or without brackets. -EBADMSG with @flaw
 * for anything else. */
int host_canonical(const char *text, size_t len, struct host *ret, struct flaw *flaw);

/* For canonical names: localhost and its subdomains; the names of cloud metadata services. */
bool host_is_localhost(const char *name);
bool host_is_metadata(const char *name);
/* "com", "github.io": names below which anybody can register (or have) a name; "amazonaws.com":
 * names that have such names below them. */
bool host_is_public_suffix(const char *name);

/* The first byte of @text that is not UTF-8 (RFC 3629), or @len. */
size_t host_utf8_check(const char *text, size_t len);
