/* bundle: a file of unanswered questions, which can be answered elsewhere, and the files with the
 * answers. Both are signed JSON: docs/decisions/0023. It only signs and checks: it opens no files,
 * reads no clock and starts no program. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/crypto/sign.h"
#include "policies/policies.h"
#include "policies/policies_approvers.h"

struct err;
struct bundle;

#define BUNDLE_MAX_BYTES    (4U << 20)
#define BUNDLE_KEYS_MAX     10000 /* further destinations are counted together */
#define BUNDLE_COMMANDS_MAX 8     /* number of commands that are listed for one destination */
/* number of runs that are listed; further ones are counted */
#define BUNDLE_SOURCES_MAX       256
#define BUNDLE_ANSWERS_MAX_BYTES (1U << 20)
#define BUNDLE_ANSWERS_FOR_MAX_S (366 * 86400)
#define BUNDLE_NAMESPACE         "sallyport-answer" /* ssh-keygen -Y sign -n */

/* The requests for one destination. Text is visible, and cut. */
struct bundle_request {
	struct policy_destination dst;
	uint64_t count, runs;               /* number of requests, and of runs with such requests */
	int64_t first_s, last_s;            /* since 1970 */
	const char *rule, *because;         /* why policy asks; "" when there is no rule */
	const char *program, *chain, *plea; /* as of an approver_question; "" when not known */
	const char *commands[BUNDLE_COMMANDS_MAX]; /* up to the first NULL */
};
/* The origin of a bundle. */
struct bundle_source {
	const char *run, *session;
	int64_t at_s;
	uint8_t key[SIGN_KEY_BYTES];
};

struct bundle *bundle_new(void);
void bundle_free(struct bundle *bundle);
/* Adds @request to the counts of its destination. Copies it, and makes its text visible. */
void bundle_note(struct bundle *bundle, const struct bundle_request *request);
bool bundle_has(const struct bundle *bundle, const struct policy_destination *dst);
void bundle_add_source(struct bundle *bundle, const struct bundle_source *source);
/* In the order of their text; borrowed until the bundle changes. NULL after the last. */
const struct bundle_request *bundle_look(const struct bundle *bundle, size_t index);
size_t bundle_count(const struct bundle *bundle);
/* The number of requests to destinations that had no room; the number of runs. */
uint64_t bundle_others(const struct bundle *bundle);
uint64_t bundle_runs(const struct bundle *bundle);
/* Adds all counts of @from to @into. */
void bundle_merge(struct bundle *into, const struct bundle *from);

/* Writes the file, signed with @key: one line, returned owned. If it would be too large, texts are
 * left out, and then the sources. */
int bundle_file_write(const struct bundle *bundle, const struct sign_key *key, char **ret_text,
		      struct err *why);
/* @ret_digest: of the signed text; @ret_signer: the signer's key. -EBADMSG: not a bundle, or
 * changed after it was signed. */
int bundle_file_read(const char *text, size_t len, struct bundle **ret,
		     uint8_t ret_signer[SIGN_KEY_BYTES], char ret_digest[65], struct err *why);

/* One line of an answer, for exactly this destination. */
struct bundle_answer {
	enum policy_action action; /* allow or deny */
	struct policy_destination dst;
};
/* The text to sign, for @count answers to the bundle with @digest; @key: of the signer. Returned
 * owned. */
char *bundle_answers_text(const struct bundle_answer *answers, size_t count, const char *digest,
			  int64_t now_s, int64_t until_s, const uint8_t key[SIGN_KEY_BYTES]);
/* The message to sign, with a prefix that makes the signature invalid for any other purpose: owned,
 * *@ret_len bytes. */
char *bundle_answers_message(const char *text, size_t *ret_len);
/* The file: @text with @signature, made with an Ed25519 key over bundle_answers_message() or, if
 * @is_ssh, with `ssh-keygen -Y sign -n sallyport-answer` over @text. Returned owned. */
char *bundle_answers_file(const char *text, const void *signature, size_t len, bool is_ssh);

/* The files of answers that are used together. */
struct bundle_answers;
struct bundle_answers *bundle_answers_new(void);
void bundle_answers_free(struct bundle_answers *answers);
/* Adds a file that one of @policy's approvers has signed and that is valid at @now_s. -EBADMSG: it
 * is damaged, -EPERM: the signer is no approver, -ETIME: it has expired. */
int bundle_answers_add(struct bundle_answers *answers, const struct policy *policy,
		       const char *text, size_t len, int64_t now_s, struct err *why);
/* The answers as lines of policy, "" if there are none: every denial, and what as many approvers
 * have allowed as @policy needs; *@ret_lacking destinations were allowed by fewer. 0 or -ENOMEM. */
int bundle_answers_policy(struct bundle_answers *answers, const struct policy *policy,
			  char **ret_text, size_t *ret_lacking);
