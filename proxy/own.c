#include "proxy/own.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "policies/policies_tools.h"
#include "proxy/proxy.h"
#include "proxy/way.h"

#define OWN_VALUE_MAX 640 /* of one parameter, decoded, and NUL */

static const char own_index[] =
	"sallyport: what can be asked here\n"
	"GET  /denials                             what was denied to this command, newest first\n"
	"GET  /why?destination=https://HOST:PORT   what policy says of one destination\n"
	"POST /propose?destination=https://HOST:PORT&reason=TEXT\n"
	"     asks a person for one destination; the answer comes when it is given, and what "
	"waits\n"
	"     for that destination goes on by itself. One host and one port: no wildcards\n"
	"With Accept: application/json the answers are JSON.\n";

bool own_quota_take(struct own_quota *quota, int64_t now_ms)
{
	int64_t back = (now_ms - quota->since_ms) / OWN_PROPOSAL_MS;

	if (back >= quota->used) {
		quota->used = 0;
		quota->since_ms = now_ms;
	} else if (back > 0) {
		quota->used -= (unsigned int)back;
		quota->since_ms += back * OWN_PROPOSAL_MS;
	}
	if (quota->used >= OWN_PROPOSALS)
		return false;
	quota->used++;
	return true;
}

static int own_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* application/x-www-form-urlencoded, one value. -E2BIG, or -EBADMSG: a bad escape or a NUL. */
static int own_decode(struct http1_span from, char out[OWN_VALUE_MAX])
{
	size_t len = 0;

	for (size_t i = 0; i < from.len; i++) {
		char c = from.at[i];

		if (c == '%') {
			int high = i + 2 < from.len ? own_digit(from.at[i + 1]) : -1;
			int low = i + 2 < from.len ? own_digit(from.at[i + 2]) : -1;

			if (high < 0 || low < 0 || high + low == 0)
				return -EBADMSG;
			c = (char)(high * 16 + low);
			i += 2;
		} else if (c == '+') {
			c = ' ';
		}
		if (len + 1 >= OWN_VALUE_MAX)
			return -E2BIG;
		out[len++] = c;
	}
	out[len] = '\0';
	return 0;
}

/* What follows "NAME=" up to '&'. -ENOENT: there is none. -EEXIST: there are two. */
static int own_parameter(struct http1_span query, const char *name, char out[OWN_VALUE_MAX])
{
	size_t name_len = strlen(name);
	int r = -ENOENT;

	while (query.len > 0) {
		const char *end = memchr(query.at, '&', query.len);
		size_t len = end ? (size_t)(end - query.at) : query.len;

		if (len > name_len && query.at[name_len] == '=' &&
		    memcmp(query.at, name, name_len) == 0) {
			struct http1_span value = { query.at + name_len + 1, len - name_len - 1 };

			if (r != -ENOENT)
				return -EEXIST;
			r = own_decode(value, out);
			if (r < 0)
				return r;
		}
		query.at += end ? len + 1 : len;
		query.len -= end ? len + 1 : len;
	}
	return r;
}

static void own_say(struct own_page *page, int status, const char *words)
{
	page->status = status;
	(void)buffer_printf(&page->body, LIMITS_PAGE_BYTES, "sallyport: %s\n", words); /* fits */
}

/* One exact destination out of the query; else the page says what is wrong with it. */
static bool own_destination(struct http1_span query, struct own_page *page)
{
	char text[OWN_VALUE_MAX];
	struct err why = { 0 };
	int r = own_parameter(query, "destination", text);

	if (r < 0) {
		own_say(page, 400,
			r == -ENOENT   ? "destination= is missing: https://HOST:PORT"
			: r == -EEXIST ? "destination= once"
				       : "destination= cannot be read");
		return false;
	}
	if (policy_destination_parse(text, &page->dst, &why) < 0) {
		own_say(page, 400, why.text);
		return false;
	}
	return true;
}

static bool own_is_reachable(const struct way *way, struct own_page *page)
{
	if (strcmp(page->dst.host, OWN_HOST) != 0 && !way_is_own(way, &page->dst))
		return true;
	own_say(page, 400, policy_reason_sentence(POLICY_OWN_LISTENER));
	return false;
}

static void own_verdict(const struct policy_destination *dst, const struct policy_verdict *verdict,
			const struct refusal_style *style, struct buffer *out)
{
	struct refusal refusal = { .reason = verdict->reason, .dst = dst, .verdict = verdict };

	if (style->wants_json)
		(void)refusal_json(&refusal, out); /* fits: every text has a limit */
	else
		(void)refusal_text(&refusal, out);
}

/* What the files say. What people allowed meanwhile is not known here, and is not told: a
 * request shows it. */
static void own_why(const struct way *way, struct http1_span query,
		    const struct refusal_style *style, struct own_page *page)
{
	struct policy_verdict verdict;

	if (!own_destination(query, page) || !own_is_reachable(way, page))
		return;
	struct policy_facts facts = { .dst = page->dst,
				      .carries = page->dst.protocol,
				      .exec = way->exec };

	policy_decide(way->proxy->config->policy, &facts, &verdict);
	page->status = 200;
	page->is_json = style->wants_json;
	own_verdict(&page->dst, &verdict, style, &page->body);
}

static void own_propose(const struct way *way, struct http1_span query, struct own_page *page)
{
	char reason[OWN_VALUE_MAX];
	int r;

	if (!own_destination(query, page) || !own_is_reachable(way, page))
		return;
	r = own_parameter(query, "reason", reason);
	if (r < 0 || strlen(reason) >= OWN_REASON_MAX || reason[0] == '\0') {
		own_say(page, 400, "reason= says what it is for, in 1 to 300 bytes");
		return;
	}
	memcpy(page->reason, reason, strlen(reason) + 1);
	page->is_proposal = true;
}

static void own_denials(const struct way *way, const struct refusal_style *style,
			struct own_page *page)
{
	page->status = 200;
	page->is_json = style->wants_json;
	if (style->wants_json)
		(void)denials_json(&way->denials, &page->body); /* cut there */
	else
		(void)denials_text(&way->denials, &page->body);
}

static bool own_is(struct http1_span span, const char *text)
{
	return span.len == strlen(text) && memcmp(span.at, text, span.len) == 0;
}

void own_page_make(const struct way *way, const struct http1_head *head,
		   const struct refusal_style *style, struct own_page *ret)
{
	const char *mark = head->path.len ? memchr(head->path.at, '?', head->path.len) : NULL;
	struct http1_span path = { head->path.at,
				   mark ? (size_t)(mark - head->path.at) : head->path.len };
	struct http1_span query = { mark ? mark + 1 : head->path.at,
				    mark ? head->path.len - path.len - 1 : 0 };
	bool is_read = own_is(head->method, "GET") || style->is_head;
	bool is_proposal = own_is(path, "/propose");

	*ret = (struct own_page){ .status = 404 };
	if (is_proposal ? !own_is(head->method, "POST") : !is_read)
		own_say(ret, 405,
			is_proposal ? "/propose takes POST" : "this page takes GET or HEAD");
	else if (is_proposal && head->body != HTTP1_NO_BODY &&
		 !(head->body == HTTP1_LENGTH && head->length == 0))
		own_say(ret, 400, "/propose has no body: all is in the query");
	else if (is_proposal)
		own_propose(way, query, ret);
	else if (own_is(path, "/denials"))
		own_denials(way, style, ret);
	else if (own_is(path, "/why"))
		own_why(way, query, style, ret);
	else if (own_is(path, "/") || path.len == 0)
		ret->status = 200;
	if (ret->body.len == 0 && !ret->is_proposal)
		(void)buffer_append(&ret->body, own_index, sizeof(own_index) - 1,
				    LIMITS_PAGE_BYTES); /* fits */
}

int own_allowed(const struct policy_destination *dst, const struct policy_verdict *verdict,
		const struct refusal_style *style, struct buffer *out)
{
	struct buffer body = { 0 };
	char field[96];

	own_verdict(dst, verdict, style, &body);
	(void)snprintf(field, sizeof(field), "x-sallyport-reason: %s\r\n",
		       policy_reason_code(verdict->reason));
	int r = refusal_http_page(200, style, field, &body, out);

	buffer_clear(&body);
	return r;
}
