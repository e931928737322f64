/* policies: text → rules, facts → verdict. Pure: no sockets, no loop, no clock of its own. The language is
 * sallyport-policy(5); the words (verdict, answer, destination) are those of docs/ARCHITECTURE.md. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

struct err;
struct policy;

#define POLICY_HOST_MAX 254 /* 253 octets (RFC 1035 §2.3.4) and NUL */
#define POLICY_TEXT_MAX 512
#define POLICY_MAX_BYTES (256U << 20) /* of one file */

/* Zero is the safe end of each. The order of enum policy_action is its strength: deny > ask > allow. */
enum policy_action { POLICY_DENY, POLICY_ASK, POLICY_ALLOW };
enum policy_protocol { POLICY_NO_PROTOCOL, POLICY_HTTP, POLICY_HTTPS, POLICY_TCP, POLICY_UDP };
/* How the request came in. Never part of the key; in records only. */
enum policy_way { POLICY_WAY_NONE, POLICY_WAY_HTTP, POLICY_WAY_CONNECT, POLICY_WAY_SOCKS5 };
#define X(name, code, status, sentence, next) POLICY_##name,
enum policy_reason {
#include "policies/reasons.def"
	POLICY_REASON_COUNT
};
#undef X

/* Where a request wants to go: the approval key. Canonical, so equal keys are equal text. */
struct policy_destination {
	char host[POLICY_HOST_MAX]; /* lower-case A-labels without trailing dot, or addr_text() */
	struct addr addr;	    /* family 0 unless the host is an address literal */
	enum policy_protocol protocol;
	uint16_t port;
};

/* What is known of a request before the decision. @dst.protocol is the protocol of the approval key: what the port implies
 * (80 http, 443 https, else tcp), so that all ways in share one question. @carries is the narrowest promise the request can
 * keep (an absolute-form request on port 8000 carries http though its key is tcp). */
struct policy_facts {
	struct policy_destination dst;
	enum policy_protocol carries;
	enum policy_way way;
	uint64_t exec; /* 0: none */
};

struct policy_verdict {
	enum policy_action action;
	enum policy_reason reason;
	enum policy_protocol promise; /* what the bytes are held to when allowed */
	bool may_private;	      /* a rule names the address or says private, or @dst is a literal a person allowed */
	char rule[POLICY_TEXT_MAX];   /* "FILE:LINE: the line", or "" */
	char because[POLICY_TEXT_MAX];
	char by[64]; /* who answered and how ("ana on tty"), or "" */
};

/* Canonical form of @host (N01–N11 of the bypass catalogue): -EBADMSG with words for anything that cannot be a host.
 * Takes names, IPv4 in every inet_aton spelling, IPv6 with or without brackets. Port 0 is refused. */
int policy_destination_set(struct policy_destination *ret, const char *host, size_t host_len, uint16_t port,
			   struct err *why);
/* "https://a.test:443", "a.test", "10.0.0.1:22": as in explain and expect; no port: 443. */
int policy_destination_parse(const char *text, struct policy_destination *ret, struct err *why);
/* "https://a.test:443"; IPv6 in brackets. Returns @out. */
#define POLICY_DESTINATION_TEXT_MAX (POLICY_HOST_MAX + 24)
const char *policy_destination_text(const struct policy_destination *dst, char out[POLICY_DESTINATION_TEXT_MAX]);
bool policy_destination_equal(const struct policy_destination *left, const struct policy_destination *right);
enum policy_protocol policy_protocol_of_port(uint16_t port);

/* Static names: "allow"; "https"; "rule_deny"; "connect". */
const char *policy_action_name(enum policy_action action);
const char *policy_protocol_name(enum policy_protocol protocol);
const char *policy_way_name(enum policy_way way);
const char *policy_reason_code(enum policy_reason reason);
int policy_reason_status(enum policy_reason reason);
const char *policy_reason_sentence(enum policy_reason reason);
const char *policy_reason_next(enum policy_reason reason);

/* Returned owned, empty: no rules, no default (policy_default() is POLICY_DENY until one is set). */
struct policy *policy_new(void);
void policy_free(struct policy *policy);
/* Reads a file and what it includes. Every problem is added to policy_errors(); returns 0 or -EINVAL/-errno. */
int policy_load(struct policy *policy, const char *path);
/* As policy_load() for text; @name stands for the file in messages ("--policy", "<test>"). */
int policy_load_text(struct policy *policy, const char *name, const char *text);
/* After all files: checks what spans files and every `expect` line. -EINVAL: see policy_errors(); the policy must not be used. */
int policy_finish(struct policy *policy);
/* Compiler form, one problem after another (file:line:column, the line, a caret, what to write instead). Borrowed. */
const char *policy_errors(const struct policy *policy);
size_t policy_error_count(const struct policy *policy);
/* Rules and answers, of all files. */
size_t policy_rule_count(const struct policy *policy);

/* The default said by a file; false: none did. --default overrides by policy_set_default(). */
bool policy_get_default(const struct policy *policy, enum policy_action *ret_action);
void policy_set_default(struct policy *policy, enum policy_action action);

/* The one function that decides. Never fails, never allocates: what it cannot answer is a denial. */
void policy_decide(const struct policy *policy, const struct policy_facts *facts, struct policy_verdict *ret);
/* May @resolved be dialled for @dst under @verdict (an allow)? Fills @ret: POLICY_ALLOW or a denial with its reason: special
 * addresses, metadata, `deny` by CIDR. Called for every address of every answer, also of a literal. */
void policy_decide_address(const struct policy *policy, const struct policy_destination *dst,
			   const struct policy_verdict *verdict, const struct addr *resolved,
			   struct policy_verdict *ret);
/* Is it the loopback of whoever dials it (127/8, ::1, localhost, *.localhost)? The proxy then dials inside the sandbox,
 * unless a rule names it. */
bool policy_destination_is_loopback(const struct policy_destination *dst);

/* Appends `answer allow|deny DESTINATION   # PROVENANCE` to @path (created 0600, folder 0700): lock, fsync, rename; not
 * twice; no symlinks; nothing that others may write. */
int policy_answer_append(const char *path, enum policy_action action, const struct policy_destination *dst,
			 const char *provenance, struct err *why);

/* What @after decides differently from @before: hosts, ports and protocols that every pattern of both treats alike, with one
 * request as the example. Text is borrowed for the call. */
struct policy_change {
	enum policy_action before, after;
	const char *what;	 /* "newly allowed", "newly denied", "newly asked", "other bytes" */
	const char *destination; /* in the policy's language */
	const char *resolved;	 /* only when it resolves to this block, else "" */
	const char *example;
	const char *example_address; /* with @resolved, else "" */
};
typedef void (*policy_change_fn)(const struct policy_change *change, void *arg);
/* Compares on one request of every kind there is: a proof, docs/decisions/0050. Returns 0: the same everywhere, 1: not;
 * -E2BIG: too much to prove. Calls @report at once, for at most @max changes; *@ret_count: how many there are. */
int policy_diff(const struct policy *before, const struct policy *after, size_t max, policy_change_fn report, void *arg,
		size_t *ret_count, struct err *why);

/* @text in the canonical layout: same verdicts, order and comments. Returned owned. */
char *policy_format(const char *text, size_t len, size_t *ret_len);
/* The same for a file, replaced whole under the lock of policy_answer_append(), unless @is_check_only. A file with errors, a
 * symbolic link, or what others may write is refused. */
int policy_format_file(const char *path, bool is_check_only, bool *ret_changed, struct err *why);

/* What others wrote, in our language: never wider. @name: of the file, for messages. Returned owned: the policy, and one line
 * "FILE:LINE: what" for each thing it does not say. -EBADMSG: a denial cannot be said, or the file cannot be read. */
int policy_import(const char *format, const char *name, const char *text, size_t len, char **ret_text, char **ret_losses,
		  struct err *why);
const char *policy_import_format(size_t number); /* NULL behind the last */
