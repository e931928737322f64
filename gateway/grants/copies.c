#include "gateway/grants/copies.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/audit/journal.h"
#include "gateway/grants/ledger.h"
#include "gateway/decide/review.h"
#include "gateway/decide/queue.h"
#include "gateway/grants/width.h"
#include "policies/policies_tools.h"

#define SINCE_MAX INT64_C(253402300799) /* the last second with a four-digit year */

/* One entry of the list. */
struct copy {
	const char *action, *scope, *protocol, *host, *program, *file, *by, *words;
	json_int_t session, port, since, for_s, upload, download, connections;
	int is_domain, is_every_port, is_spent;
	struct policy_destination dst;
	struct approver_width width;
	struct socket_owner_file program_file;
};

/* Reads exactly the known members: an unknown one might narrow the answer. */
static int copy_unpack(json_t *entry, struct copy *ret)
{
	json_int_t id;
	const char *from;

	return json_unpack(
		entry,
		"{s:I, s:I, s:s, s:s, s:s, s:s, s:I, s:b, s:b, s:s, s:s, s:I, s:I, s:I, s:I, s:b, "
		"s:s, s:s, s:I, s:s!}",
		"id", &id, "session", &ret->session, "action", &ret->action, "scope", &ret->scope,
		"protocol", &ret->protocol, "host", &ret->host, "port", &ret->port, "domain",
		&ret->is_domain, "all_ports", &ret->is_every_port, "program", &ret->program, "file",
		&ret->file, "for", &ret->for_s, "upload", &ret->upload, "download", &ret->download,
		"connections", &ret->connections, "spent", &ret->is_spent, "by", &ret->by, "words",
		&ret->words, "since", &ret->since, "from", &from);
}

static bool copy_is_in(json_int_t value, json_int_t least, json_int_t most)
{
	return value >= least && value <= most;
}

/* The key must be in canonical form; another spelling is invalid. */
static bool copy_destination(struct copy *copy)
{
	struct policy_destination *dst = &copy->dst;

	return copy_is_in(copy->port, 1, UINT16_MAX) &&
	       policy_destination_set(dst, copy->host, strlen(copy->host), (uint16_t)copy->port,
				      NULL) == 0 &&
	       strcmp(dst->host, copy->host) == 0 &&
	       strcmp(policy_protocol_name(dst->protocol), copy->protocol) == 0;
}

static bool copy_width(struct copy *copy)
{
	bool is_good =
		copy_is_in(copy->session, 0, INT64_MAX) &&
		socket_owner_file_read(copy->file, &copy->program_file) == 0 &&
		(copy->program[0] || !copy->file[0]) && copy_is_in(copy->since, 0, SINCE_MAX) &&
		copy_is_in(copy->for_s, 0, INT32_MAX) && copy_is_in(copy->upload, 0, INT64_MAX) &&
		copy_is_in(copy->download, 0, INT64_MAX) &&
		copy_is_in(copy->connections, 0, UINT16_MAX);

	copy->width = (struct approver_width){
		.is_domain = copy->is_domain,
		.is_every_port = copy->is_every_port,
		.is_program = copy->program[0] != '\0',
		.for_s = copy->for_s,
		.upload_max = (uint64_t)copy->upload,
		.download_max = (uint64_t)copy->download,
		.connections_max = (uint32_t)copy->connections,
	};
	return is_good;
}

/* Keeps text that is visible, as the sender wrote it. */
static void copy_text(char *out, size_t size, const char *text)
{
	bool is_visible = true;

	for (const char *at = text; *at; at++)
		is_visible = is_visible && *at >= 0x20 && *at < 0x7f;
	if (is_visible)
		(void)snprintf(out, size, "%s", text); /* may be cut */
	else
		(void)text_visible(out, size, text, strlen(text));
}

/* The sessions of an agent each have their own answers, and here these become one session's: a
 * denial overrides an allow of the same, and of two equal allows the first is kept. 1: add it; 0:
 * it is there already. */
static int copy_meets(const struct copy *copy, const struct grants *grants,
		      const struct grant_order *order, struct err *why)
{
	const struct grant *old = grants_same(grants, order);

	if (!old)
		return 1;
	if (copy->session == 0 && old->answer == 0)
		return err_set(why, -EBADMSG, "%s is listed twice", order->text);
	if (old->action != order->action)
		return order->action == POLICY_DENY;
	if (strcmp(old->text, order->text) != 0 ||
	    !socket_owner_file_equal(&old->program_file, &order->program_file))
		return err_set(why, -EBADMSG,
			       "its sessions have different answers: \"%s\" and \"%s\"", old->text,
			       order->text);
	return 0;
}

/* 1: it was added; 0: it was there already. */
static int copy_put(struct copy *copy, struct grants *grants, struct err *why)
{
	bool is_allow = strcmp(copy->action, policy_action_name(POLICY_ALLOW)) == 0;
	char text[APPROVER_KEY_MAX], by[GATEWAY_BY_MAX], words[GATEWAY_WORDS_MAX];
	enum policy_action action = is_allow ? POLICY_ALLOW : POLICY_DENY;
	int r = width_text(&copy->dst, copy->program, &copy->width, text, why);

	if (r < 0)
		return -EBADMSG;
	copy_text(by, sizeof(by), copy->by);
	copy_text(words, sizeof(words), copy->words);
	/* The grant is what the policy engine reads in the text: docs/decisions/0016. */
	struct policy *policy =
		width_policy(&copy->dst, copy->program, action, text, copy->since, why);

	policy_free(policy);
	if (!policy)
		return -EBADMSG;
	const struct grant_order order = {
		.answer = (uint64_t)copy->session, /* see copy_meets() */
		.dst = &copy->dst,
		.action = action,
		.reason = is_allow ? POLICY_GRANTED_SESSION : POLICY_DENIED_SESSION,
		.scope = GATEWAY_SESSION,
		.width = copy->width,
		.program = copy->program,
		.program_file = copy->program_file,
		.text = text,
		.by = by,
		.words = words,
		.since_s = copy->since,
	};

	r = copy_meets(copy, grants, &order, why);
	if (r == 1 && !grants_put(grants, &grants->session, &order, why))
		return -ENOSPC;
	return r;
}

/* Should it be copied? If not, counts the reason. */
static bool copy_is_wanted(const struct copy *copy, int64_t now_s, struct gateway_copied *count)
{
	bool is_over = copy->is_spent || (copy->for_s > 0 && now_s >= copy->since + copy->for_s);

	if (strcmp(copy->scope, "exec") == 0)
		count->execs++;
	else if (strcmp(copy->scope, "always") == 0)
		count->kept++;
	else if (is_over)
		count->spent++;
	return strcmp(copy->scope, "session") == 0 && !is_over;
}

static bool copy_is_named(const struct copy *copy)
{
	static const char *const scopes[] = { "exec", "session", "always" };
	bool is_known = false;

	for (size_t i = 0; i < ARRAY_SIZE(scopes); i++)
		is_known = is_known || strcmp(copy->scope, scopes[i]) == 0;
	return is_known && (strcmp(copy->action, policy_action_name(POLICY_ALLOW)) == 0 ||
			    strcmp(copy->action, policy_action_name(POLICY_DENY)) == 0);
}

static int copies_read_one(json_t *entry, int64_t now_s, struct grants *grants,
			   struct gateway_copied *count, struct err *why)
{
	struct copy copy = { 0 };

	if (copy_unpack(entry, &copy) < 0 || !copy_is_named(&copy) || !copy_destination(&copy) ||
	    !copy_width(&copy))
		return err_set(why, -EBADMSG, "this is not a remembered answer");
	return copy_is_wanted(&copy, now_s, count) ? copy_put(&copy, grants, why) : 0;
}

int copies_read(const struct gateway_copies *copies, int64_t now_s, struct grants *ret,
		struct gateway_copied *ret_count, struct err *why)
{
	json_t *list = json_loadb(copies->text, copies->len, JSON_REJECT_DUPLICATES, NULL);
	json_t *entry;
	size_t at;
	int r = 0;

	*ret_count = (struct gateway_copied){ 0 };
	if (!json_is_array(list))
		r = err_set(why, -EBADMSG, "this is not a list of remembered answers");
	json_array_foreach(list, at, entry)
	{
		r = copies_read_one(entry, now_s, ret, ret_count, why);
		if (r < 0) {
			r = err_prefix(why, r, "answer %zu", at + 1);
			break;
		}
	}
	json_decref(list);
	ret_count->copied = ret->ids.count;
	return r < 0 ? r : 0;
}

static void copies_record(struct gateway *gw, const struct grant *grant,
			  const struct gateway_copies *copies)
{
	struct policy_verdict verdict = { .action = grant->action, .reason = grant->reason };
	struct sink_record record = {
		.event = SINK_GRANTED,
		.verdict = &verdict,
		.reason = grant->reason,
		.cause = grant->text,
		.from = copies->session,
		.from_run = copies->run,
	};

	memcpy(verdict.by, grant->by, sizeof(verdict.by));
	(void)snprintf(verdict.because, sizeof(verdict.because), "%s", grant->words); /* fits */
	journal_stamp(gw->journal, &record);
	(void)journal_write(gw->journal, &record); /* kept, and checked at the commit */
}

/* @read was parsed before from the same text, so it is valid, and there is room. */
static void copies_take(struct gateway *gw, const struct grant *read,
			const struct gateway_copies *copies)
{
	const struct grant_order order = {
		.dst = &read->dst,
		.action = read->action,
		.reason = read->reason,
		.scope = read->scope,
		.width = read->width,
		.program = read->program,
		.program_file = read->program_file,
		.text = read->text,
		.by = read->by,
		.words = read->words,
		.from = copies->session,
		.since_s = read->since_s,
	};
	struct grant *grant = grants_put(&gw->grants, &gw->grants.session, &order, NULL);

	if (!grant)
		return;
	ledger_remembered(gw, grant);
	copies_record(gw, grant, copies);
}

int gateway_copy(struct gateway *gw, const struct gateway_copies *copies,
		 struct gateway_copied *ret, struct err *why)
{
	struct grants read;
	const struct grant *grant;

	grants_init(&read);
	int r = copies_read(copies, loop_wall_us(gw->loop) / 1000000, &read, ret, why);

	if (r == 0 && !(grants_has_room(&gw->grants, read.ids.count, false) &&
			grants_has_room(&gw->grants, read.wide_count, true)))
		r = err_set(why, -ENOSPC, "too many answers are remembered");
	if (r == 0) {
		ledger_forget_session(gw);
		TAILQ_FOREACH (grant, &read.all, order)
			copies_take(gw, grant, copies);
		if (journal_commit(gw->journal) < 0) {
			queue_schedule(gw); /* denies all waiting and later requests */
			r = err_set(why, -EIO, "the copies cannot be recorded");
		}
		review_grants(gw);
	}
	grants_done(&read);
	return r;
}
