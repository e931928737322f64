/* Files of answers: checks their signers, and that the content is what they signed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/crypto/base64.h"
#include "base/err.h"
#include "base/mem.h"
#include "gateway/bundle/bundle_impl.h"

#define ANSWERS_FORMAT  "sallyport-answers"
#define ANSWERS_MESSAGE "sallyport-answers-v1" /* the beginning of the signed message */
#define ANSWERS_DATE    32
#define ANSWERS_EARLY_S 86400 /* how far the signer's clock may be ahead */

/* One line of one file. */
struct vote {
	enum policy_action action;
	char *text; /* text form of the destination */
	char name[POLICY_APPROVER_NAME_MAX];
	int64_t until_s;
};

struct bundle_answers {
	struct vote *votes;
	size_t count, room;
};

static json_t *answer_json(const struct bundle_answer *answer)
{
	char text[POLICY_DESTINATION_TEXT_MAX];
	auto_free char *line = mem_printf("%s %s", policy_action_name(answer->action),
					  policy_destination_text(&answer->dst, text));

	return json_string(line);
}

char *bundle_answers_text(const struct bundle_answer *answers, size_t count, const char *digest,
			  int64_t now_s, int64_t until_s, const uint8_t key[SIGN_KEY_BYTES])
{
	char public[SIGN_PUBLIC_TEXT_MAX];
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, answer_json(&answers[i]));
	json_t *object = json_pack("{s:s, s:i, s:o, s:s, s:I, s:I, s:s}", "format", ANSWERS_FORMAT,
				   "version", 1, "answers", list, "bundle", digest, "from",
				   (json_int_t)now_s, "until", (json_int_t)until_s, "key",
				   sign_public_text(key, public));
	char *text = bundle_json_text(object);

	json_decref(object);
	return text;
}

char *bundle_answers_message(const char *text, size_t *ret_len)
{
	return bundle_json_message(ANSWERS_MESSAGE, text, ret_len);
}

char *bundle_answers_file(const char *text, const void *signature, size_t len, bool is_ssh)
{
	json_t *object = json_loads(text, 0, NULL);
	auto_free char *shown = base64_encode(signature, len);

	json_object_set_new(object, is_ssh ? "ssh_signature" : "signature", json_string(shown));
	auto_free char *file = bundle_json_text(object);

	json_decref(object);
	return mem_printf("%s\n", file);
}

struct bundle_answers *bundle_answers_new(void)
{
	return mem_new(sizeof(struct bundle_answers));
}

void bundle_answers_free(struct bundle_answers *answers)
{
	if (!answers)
		return;
	for (size_t i = 0; i < answers->count; i++)
		free(answers->votes[i].text);
	free(answers->votes);
	free(answers);
}

/* The members of a file other than its lines. */
struct answers_head {
	uint8_t key[SIGN_KEY_BYTES];
	uint64_t from_s, until_s;
};

static bool is_digest(const char *text)
{
	return text && strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

static bool read_head(const json_t *object, struct answers_head *ret)
{
	static const char *const members[] = { "format", "version", "answers", "bundle",
					       "from",   "until",   "key" };
	const char *format = bundle_json_string(object, "format");
	uint64_t version;

	return bundle_json_has_only(object, members, ARRAY_SIZE(members)) && format &&
	       strcmp(format, ANSWERS_FORMAT) == 0 &&
	       bundle_json_number(object, "version", &version) && version == 1 &&
	       is_digest(bundle_json_string(object, "bundle")) &&
	       bundle_json_number(object, "from", &ret->from_s) &&
	       bundle_json_number(object, "until", &ret->until_s) &&
	       bundle_json_key(object, "key", ret->key);
}

/* Checks a signature of either kind over all other members. */
static int check_signature(json_t *object, struct answers_head *ret_head)
{
	bool is_ssh = json_object_get(object, "ssh_signature") != NULL;
	uint8_t signature[SIGN_SSH_MAX];
	size_t len = 0, message_len;
	int r = bundle_json_signature(object, is_ssh ? "ssh_signature" : "signature", signature,
				      sizeof(signature), &len);

	if (r < 0 || !read_head(object, ret_head))
		return -EINVAL;
	auto_free char *text = bundle_json_text(object);
	auto_free char *message = bundle_answers_message(text, &message_len);

	if (is_ssh)
		return sign_ssh_check(ret_head->key, BUNDLE_NAMESPACE, text, strlen(text),
				      signature, len);
	return len == SIGN_BYTES ? sign_check(ret_head->key, message, message_len, signature)
				 : -EINVAL;
}

/* "allow https://a.test:443" */
static bool read_line(const json_t *line, struct bundle_answer *ret)
{
	static const enum policy_action actions[] = { POLICY_ALLOW, POLICY_DENY };
	const char *text = json_string_value(line);

	for (size_t i = 0; text && i < ARRAY_SIZE(actions); i++) {
		const char *word = policy_action_name(actions[i]);
		size_t len = strlen(word);

		if (strncmp(text, word, len) != 0 || text[len] != ' ')
			continue;
		ret->action = actions[i];
		return strlen(text) == json_string_length(line) &&
		       bundle_json_destination(text + len + 1, &ret->dst);
	}
	return false;
}

static void add_vote(struct bundle_answers *answers, const struct vote *vote)
{
	if (answers->count == answers->room) {
		answers->room = answers->room > 0 ? answers->room * 2 : 16;
		answers->votes = mem_grow(answers->votes, answers->room, sizeof(*answers->votes));
	}
	answers->votes[answers->count++] = *vote;
}

/* Adds all lines, or none. */
static int add_lines(struct bundle_answers *answers, const json_t *list, const char *name,
		     int64_t until_s)
{
	size_t before = answers->count;
	struct bundle_answer answer;

	for (size_t i = 0; i < json_array_size(list); i++) {
		char text[POLICY_DESTINATION_TEXT_MAX];
		struct vote vote = { .until_s = until_s };

		if (!read_line(json_array_get(list, i), &answer)) {
			while (answers->count > before)
				free(answers->votes[--answers->count].text);
			return -EBADMSG;
		}
		vote.action = answer.action;
		vote.text = mem_strdup(policy_destination_text(&answer.dst, text));
		(void)snprintf(vote.name, sizeof(vote.name), "%s", name);
		add_vote(answers, &vote);
	}
	return 0;
}

static bool find_approver(const struct policy *policy, const uint8_t key[SIGN_KEY_BYTES],
			  struct policy_approver *ret)
{
	for (size_t i = 0; policy_get_approver(policy, i, ret); i++) {
		if (memcmp(ret->key, key, SIGN_KEY_BYTES) == 0)
			return true;
	}
	return false;
}

static int add_checked(struct bundle_answers *answers, const struct policy *policy, json_t *object,
		       int64_t now_s, struct err *why)
{
	const json_t *list = json_object_get(object, "answers");
	struct policy_approver approver;
	struct answers_head head;
	char key[SIGN_PUBLIC_TEXT_MAX];
	int r = check_signature(object, &head);

	if (r == -EINVAL || !json_is_array(list))
		return err_set(why, -EBADMSG, "this is not a file of answers");
	if (r < 0)
		return err_set(why, -EBADMSG, "the file was changed after it was signed");
	if (!find_approver(policy, head.key, &approver))
		return err_set(why, -EPERM,
			       "the file is signed by %s, but no `approver` line of the policy "
			       "names that key",
			       sign_public_text(head.key, key));
	if (now_s < 0 || head.until_s <= (uint64_t)now_s)
		return err_set(why, -ETIME, "the file has expired");
	if (head.from_s > (uint64_t)now_s + ANSWERS_EARLY_S)
		return err_set(why, -EBADMSG,
			       "the file's date is in the future; one of the clocks is wrong");
	if (head.until_s <= head.from_s || head.until_s - head.from_s > BUNDLE_ANSWERS_FOR_MAX_S)
		return err_set(
			why, -EBADMSG,
			"the file must be valid for some time, but not for more than a year");
	r = add_lines(answers, list, approver.name, (int64_t)head.until_s);
	return r < 0 ? err_set(why, r, "the file is signed, but its content is not a valid answer")
		     : 0;
}

int bundle_answers_add(struct bundle_answers *answers, const struct policy *policy,
		       const char *text, size_t len, int64_t now_s, struct err *why)
{
	json_t *object = len <= BUNDLE_ANSWERS_MAX_BYTES
				 ? json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL)
				 : NULL;
	int r = object ? add_checked(answers, policy, object, now_s, why)
		       : err_set(why, -EBADMSG, "this is not a file of answers");

	json_decref(object);
	return r;
}

/* Sorts by destination, then by action and name, so that equal ones are adjacent. */
static int compare_votes(const void *left, const void *right)
{
	const struct vote *a = left, *b = right;
	int order = strcmp(a->text, b->text);

	if (order == 0)
		order = (int)a->action - (int)b->action;
	return order != 0 ? order : strcmp(a->name, b->name);
}

/* The sum of the votes for one action on one destination. */
struct tally {
	unsigned int names;
	int64_t until_s;
	char by[64];
};

static void tally_add(struct tally *tally, const struct vote *vote)
{
	size_t len = strlen(tally->by);

	if (vote->until_s < tally->until_s || tally->names == 0)
		tally->until_s = vote->until_s;
	(void)snprintf(tally->by + len, sizeof(tally->by) - len, "%s%s",
		       tally->names > 0 ? " and " : "", vote->name); /* may be cut */
	tally->names++;
}

/* Each name counts once, with the latest end that it has signed. */
static size_t tally_votes(const struct vote *votes, size_t count, struct tally *ret)
{
	size_t i = 0;

	*ret = (struct tally){ 0 };
	while (i < count && votes[i].action == votes[0].action &&
	       strcmp(votes[i].text, votes[0].text) == 0) {
		struct vote latest = votes[i];

		for (i++; i < count && compare_votes(&votes[i], &latest) == 0; i++) {
			if (votes[i].until_s > latest.until_s)
				latest.until_s = votes[i].until_s;
		}
		tally_add(ret, &latest);
	}
	return i;
}

static void write_line(FILE *out, const struct vote *vote, const struct tally *tally)
{
	char date[ANSWERS_DATE];
	time_t until = (time_t)tally->until_s;
	struct tm parts;

	(void)gmtime_r(&until, &parts);
	(void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &parts);
	(void)fprintf(out, "answer %s %s until %s   # by %s by bundle\n",
		      policy_action_name(vote->action), vote->text, date, tally->by);
}

int bundle_answers_policy(struct bundle_answers *answers, const struct policy *policy,
			  char **ret_text, size_t *ret_lacking)
{
	unsigned int needed = policy_get_approvers_needed(policy);
	char *text = NULL;
	size_t len = 0, lacking = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return -ENOMEM;
	if (answers->count > 0)
		qsort(answers->votes, answers->count, sizeof(*answers->votes), compare_votes);
	for (size_t i = 0; i < answers->count;) {
		const struct vote *vote = &answers->votes[i];
		struct tally tally;

		i += tally_votes(vote, answers->count - i, &tally);
		if (vote->action == POLICY_DENY || tally.names >= needed)
			write_line(out, vote, &tally);
		else
			lacking++;
	}
	if (fclose(out) != 0) {
		free(text);
		return -ENOMEM;
	}
	*ret_text = text;
	*ret_lacking = lacking;
	return 0;
}
