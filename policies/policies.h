/* policies: parses rules and decides requests. Pure: no sockets, no loop, no clock of its own.
 * sallyport-policy(5) defines the language, docs/ARCHITECTURE.md the words. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "policies/policies_way.h"

struct err;
struct policy;
struct policy_asker;
struct policy_request; /* policies_request.h */

#define POLICY_HOST_MAX  254 /* 253 octets (RFC 1035 §2.3.4) and NUL */
#define POLICY_TEXT_MAX  512
#define POLICY_MAX_BYTES (256U << 20) /* of one file */

/* Zero is the safe value of each. The order of actions is their strength: deny > ask > allow. */
enum policy_action { POLICY_DENY, POLICY_ASK, POLICY_ALLOW };
enum policy_protocol { POLICY_NO_PROTOCOL, POLICY_HTTP, POLICY_HTTPS, POLICY_TCP, POLICY_UDP };
/* Who wrote a file. Of a project's file only denials, questions, `hide` and `protect` count, until
 * its digest is trusted. */
enum policy_layer {
	POLICY_PROJECT,
	POLICY_TRUSTED,
	POLICY_COMMAND_LINE,
	POLICY_USER,
	POLICY_MANAGED
};
enum policy_trust { POLICY_UNTRUSTED, POLICY_CHANGED, POLICY_TRUSTED_NOW };
#define X(name, code, status, sentence, next) POLICY_##name,
enum policy_reason {
#include "policies/reasons.def"
	POLICY_REASON_COUNT
};
#undef X

/* The destination of a request: the approval key. Canonical: equal keys have equal text. */
struct policy_destination {
	char host[POLICY_HOST_MAX]; /* lower-case A-labels without trailing dot, or addr_text() */
	struct addr addr;           /* family 0 unless the host is an address literal */
	enum policy_protocol protocol;
	uint16_t port;
};

/* The properties of a request before the decision. @carries is the protocol that the bytes must be;
 * @dst.protocol is the same, as a part of the key: http for an absolute-form request; for a tunnel,
 * which can carry several, one of policy_facts_protocols(). */
struct policy_facts {
	struct policy_destination dst;
	enum policy_protocol carries;
	enum policy_way way;
	uint64_t exec;       /* 0: none */
	uint16_t peer_port;  /* the client's port, in its namespace; 0: not known */
	struct addr reached; /* captured: the address that the client connected to; else family 0 */
	struct addr peer;    /* the address of a client outside of every sandbox; else family 0 */
	const struct policy_asker *asker; /* NULL: not known */
	const char *plea;                 /* a proposal: the command's own text; NULL: a request */
	int64_t now; /* the time for `for` and `until`, seconds since 1970; 0: that of
			policy_set_start() */
	const struct policy_request *request; /* borrowed; NULL: not known */
};

/* The limits of an allow, over all requests with the same @account; zero: no limit. */
struct policy_limits {
	uint64_t account, upload, download;       /* bytes */
	uint32_t connections, rate_count, rate_s; /* requests; @rate_count in @rate_s seconds */
	int64_t until_s;                          /* since 1970: open connections are cut then */
};
struct policy_verdict {
	enum policy_action action;
	enum policy_reason reason;
	enum policy_protocol promise; /* the protocol that the bytes must be, when allowed */
	bool may_private; /* a rule says so, or names the address; or a person allowed an address
			     literal */
	char rule[POLICY_TEXT_MAX]; /* "FILE:LINE: the line", or "" */
	char because[POLICY_TEXT_MAX];
	char by[64];     /* who answered and how ("ana on tty"), or "" */
	uint32_t number; /* of the rule, for policy_rule_look(); 0: none. Not sent over links. */
	struct policy_limits limits; /* of an allow, or of an answer that allows */
};

/* The canonical form of @host: a name, IPv4 in every inet_aton spelling, IPv6 with or without
 * brackets. -EBADMSG with @why for anything that cannot be a host, and for port 0. */
int policy_destination_set(struct policy_destination *ret, const char *host, size_t host_len,
			   uint16_t port, struct err *why);
/* "https://a.test:443"; IPv6 in brackets. Returns @out. */
#define POLICY_DESTINATION_TEXT_MAX (POLICY_HOST_MAX + 24)
const char *policy_destination_text(const struct policy_destination *dst,
				    char out[POLICY_DESTINATION_TEXT_MAX]);
bool policy_destination_equal(const struct policy_destination *left,
			      const struct policy_destination *right);
enum policy_protocol policy_protocol_of_port(uint16_t port);

/* Static names: "allow"; "https"; "rule_deny"; "connect". */
const char *policy_action_name(enum policy_action action);
const char *policy_protocol_name(enum policy_protocol protocol);
const char *policy_reason_code(enum policy_reason reason);
int policy_reason_status(enum policy_reason reason);
/* True: it was allowed, and its server was not reached (502 and 504 of RFC 9110). */
bool policy_reason_is_failure(enum policy_reason reason);
const char *policy_reason_sentence(enum policy_reason reason);
const char *policy_reason_next(enum policy_reason reason);

/* Returned owned, empty. Until a default is set it is POLICY_DENY. */
struct policy *policy_new(void);
void policy_free(struct policy *policy);
/* Reads a file and what it includes; all problems go to policy_errors(). 0, -EINVAL or -errno. */
int policy_load(struct policy *policy, const char *path);
/* As policy_load(), in a layer (policy_load() uses COMMAND_LINE); reads every *.policy of a folder,
 * which may be missing. */
int policy_load_layer(struct policy *policy, const char *path, enum policy_layer layer);
int policy_load_folder(struct policy *policy, const char *path, enum policy_layer layer);
/* Called for every POLICY_PROJECT file, with its bytes; @path is absolute. An enum policy_trust. */
typedef int (*policy_trust_fn)(const char *path, const void *bytes, size_t len, void *arg);
void policy_set_trust(struct policy *policy, policy_trust_fn trust, void *arg);
/* As the functions above, for text; @name is shown in place of the file ("--policy", "<test>"). */
int policy_load_text(struct policy *policy, const char *name, const char *text);
int policy_load_text_layer(struct policy *policy, const char *name, const char *text,
			   enum policy_layer layer);
/* After all files. -EINVAL: see policy_errors(); the policy must not be used. */
int policy_finish(struct policy *policy);
/* In compiler form, one problem after another (file:line:column, the line, a caret, a suggestion);
 * notes are warnings about something valid. Borrowed. */
const char *policy_errors(const struct policy *policy);
size_t policy_error_count(const struct policy *policy);
const char *policy_notes(const struct policy *policy);

/* When `for` begins: seconds since 1970. Without it no rule with `for` allows anything. */
void policy_set_start(struct policy *policy, int64_t now);

/* The default in the files; false: there is none. --default overrides it by policy_set_default(),
 * but never loosens the managed one. */
bool policy_get_default(const struct policy *policy, enum policy_action *ret_action);
void policy_set_default(struct policy *policy, enum policy_action action);

/* The function that decides. Never fails, never allocates: what it cannot decide is a denial. */
void policy_decide(const struct policy *policy, const struct policy_facts *facts,
		   struct policy_verdict *ret);
/* May @resolved be dialled for @dst under @verdict (an allow)? Fills @ret: POLICY_ALLOW or a denial
 * (special address, metadata, `deny` by CIDR). Call it for every address, also of a literal. */
void policy_decide_address(const struct policy *policy, const struct policy_destination *dst,
			   const struct policy_verdict *verdict, const struct addr *resolved,
			   struct policy_verdict *ret);
/* Is it the loopback of the machine that dials it (127/8, ::1, *.localhost)? Then the sandbox's own
 * is meant. */
bool policy_destination_is_loopback(const struct policy_destination *dst);
