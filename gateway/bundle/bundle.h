/* bundle: questions that nobody was there to answer, in a file that can be answered elsewhere, and
 * the files of answers to it. Both are JSON, signed: docs/decisions/0094. Pure but for keys: no
 * files, no clock, no program is started. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sign.h"
#include "policies/policies.h"
#include "policies/policies_approvers.h"

struct err;
struct bundle;

#define BUNDLE_MAX_BYTES         (4U << 20)
#define BUNDLE_KEYS_MAX          10000 /* more destinations are counted together */
#define BUNDLE_COMMANDS_MAX      8     /* that are named, for one destination */
#define BUNDLE_SOURCES_MAX       256   /* runs that are named; more are counted */
#define BUNDLE_ANSWERS_MAX_BYTES (1U << 20)
#define BUNDLE_ANSWERS_FOR_MAX_S (366 * 86400)
#define BUNDLE_NAMESPACE         "sallyport-answer" /* ssh-keygen -Y sign -n */

/* All that is known of one destination. Text is visible, and cut. */
struct bundle_request {
	struct policy_destination dst;
	uint64_t count, runs;               /* how often, and in how many runs */
	int64_t first_s, last_s;            /* since 1970 */
	const char *rule, *because;         /* why it was asked; "" when there is no rule */
	const char *program, *chain, *plea; /* as of an approver_question; "" when not known */
	const char *commands[BUNDLE_COMMANDS_MAX]; /* up to the first NULL */
};
/* Where a bundle comes from. */
struct bundle_source {
	const char *run, *session;
	int64_t at_s;
	uint8_t key[SIGN_KEY_BYTES];
};

struct bundle *bundle_new(void);
void bundle_free(struct bundle *bundle);
/* Counts @request to those of its destination. Copies; what is not visible text is made so. */
void bundle_note(struct bundle *bundle, const struct bundle_request *request);
bool bundle_has(const struct bundle *bundle, const struct policy_destination *dst);
void bundle_add_source(struct bundle *bundle, const struct bundle_source *source);
/* In the order of their text; borrowed until the bundle changes. NULL behind the last. */
const struct bundle_request *bundle_look(const struct bundle *bundle, size_t index);
size_t bundle_count(const struct bundle *bundle);
/* Requests to destinations that had no room; how many runs there were. */
uint64_t bundle_others(const struct bundle *bundle);
uint64_t bundle_runs(const struct bundle *bundle);
/* All of @from is counted to @into. */
void bundle_merge(struct bundle *into, const struct bundle *from);

/* The file, signed by @key: one line, returned owned. What would be too large goes without its
 * texts, then without its sources. */
int bundle_write(const struct bundle *bundle, const struct sign_key *key, char **ret_text,
		 struct err *why);
/* @ret_digest: of what was signed; @ret_signer: by whom. -EBADMSG: not a bundle, or changed since
 * it was signed. */
int bundle_read(const char *text, size_t len, struct bundle **ret,
		uint8_t ret_signer[SIGN_KEY_BYTES], char ret_digest[65], struct err *why);

/* One line of an answer: exactly this destination. */
struct bundle_answer {
	enum policy_action action; /* allow or deny */
	struct policy_destination dst;
};
/* What is to be signed, for @count answers to the bundle with @digest; @key: of whoever signs.
 * Returned owned. */
char *bundle_answers_text(const struct bundle_answer *answers, size_t count, const char *digest,
			  int64_t now_s, int64_t until_s, const uint8_t key[SIGN_KEY_BYTES]);
/* What a key signs so that its signature is good for nothing else: owned, *@ret_len bytes. */
char *bundle_answers_message(const char *text, size_t *ret_len);
/* The file: @text with @signature, that of an Ed25519 key over bundle_answers_message() or,
 * @is_ssh, that of `ssh-keygen -Y sign -n sallyport-answer` over @text. Returned owned. */
char *bundle_answers_file(const char *text, const void *signature, size_t len, bool is_ssh);

/* Files of answers that are taken together. */
struct bundle_answers;
struct bundle_answers *bundle_answers_new(void);
void bundle_answers_free(struct bundle_answers *answers);
/* Adds a file, when one of @policy's approvers has signed it and it holds at @now_s. -EBADMSG: it
 * is not whole, -EPERM: by nobody who may, -ETIME: over. */
int bundle_answers_add(struct bundle_answers *answers, const struct policy *policy,
		       const char *text, size_t len, int64_t now_s, struct err *why);
/* As lines of policy, "" when there are none: a denial of anybody, and what as many approvers as
 * @policy needs have allowed; *@ret_lacking destinations were allowed by fewer. 0 or -ENOMEM. */
int bundle_answers_policy(struct bundle_answers *answers, const struct policy *policy,
			  char **ret_text, size_t *ret_lacking);
