#include "proxy/http/gate_pages.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "policies/policies_tools.h"
#include "proxy/config.h"
#include "proxy/way.h"

#define OWN_VALUE_MAX 640 /* one parameter, decoded, and NUL */

static const char own_index[] =
	"sallyport: pages for the command in the sandbox\nGET  /denials                            "
	" what was denied to this command, newest first\nGET  /why?destination=https://HOST:PORT   "
	"what policy says about one destination\nPOST "
	"/propose?destination=https://HOST:PORT&reason=TEXT\n     asks a person for one "
	"destination; the response comes with the answer, and requests\n     that wait for that "
	"destination continue. One host and one port: no wildcards\nWith Accept: application/json "
	"the responses are JSON.\n";

static int gate_pages_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* One value of application/x-www-form-urlencoded. -E2BIG, or -EBADMSG: a bad escape or a NUL. */
static int gate_pages_decode(struct http1_span from, char out[OWN_VALUE_MAX])
{
	size_t len = 0;

	for (size_t i = 0; i < from.len; i++) {
		char c = from.at[i];

		if (c == '%') {
			int high = i + 2 < from.len ? gate_pages_digit(from.at[i + 1]) : -1;
			int low = i + 2 < from.len ? gate_pages_digit(from.at[i + 2]) : -1;

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

/* The value behind "NAME=", up to '&'. -ENOENT: there is no such parameter. -EEXIST: there are
 * two. */
static int gate_pages_parameter(struct http1_span query, const char *name, char out[OWN_VALUE_MAX])
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
			r = gate_pages_decode(value, out);
			if (r < 0)
				return r;
		}
		query.at += end ? len + 1 : len;
		query.len -= end ? len + 1 : len;
	}
	return r;
}

static void gate_pages_say(struct gate_pages_page *page, int status, const char *words)
{
	page->status = status;
	(void)buffer_printf(&page->body, LIMITS_PAGE_BYTES, "sallyport: %s\n", words); /* fits */
}

/* Reads one exact destination from the query; otherwise the page says what is wrong with it. */
static bool gate_pages_destination(struct http1_span query, struct gate_pages_page *page)
{
	char text[OWN_VALUE_MAX];
	struct err why = { 0 };
	int r = gate_pages_parameter(query, "destination", text);

	if (r < 0) {
		gate_pages_say(
			page, 400,
			r == -ENOENT
				? "destination= is missing; write destination=https://HOST:PORT"
			: r == -EEXIST ? "destination= is there more than once"
				       : "destination= is not valid");
		return false;
	}
	if (policy_destination_parse(text, &page->dst, &why) < 0) {
		gate_pages_say(page, 400, why.text);
		return false;
	}
	return true;
}

static bool gate_pages_is_reachable(const struct way *way, struct gate_pages_page *page)
{
	if (strcmp(page->dst.host, POLICY_GATE_HOST) != 0 && !way_is_own(way, &page->dst))
		return true;
	gate_pages_say(page, 400, policy_reason_sentence(POLICY_OWN_LISTENER));
	return false;
}

static void gate_pages_verdict(const struct refusal *refusal, const struct refusal_style *style,
			       struct buffer *out)
{
	if (style->wants_json)
		(void)refusal_json(refusal, out); /* fits: every text has a limit */
	else
		(void)refusal_text(refusal, out);
}

/* Answers from the policy files. Answers that people have given meanwhile are not known here; a
 * request shows them. */
static void gate_pages_why(const struct way *way, struct http1_span query,
			   const struct refusal_style *style, struct gate_pages_page *page)
{
	struct policy_verdict verdict;

	if (!gate_pages_destination(query, page) || !gate_pages_is_reachable(way, page))
		return;
	struct policy_facts facts = { .dst = page->dst,
				      .carries = page->dst.protocol,
				      .exec = way->exec };

	policy_facts_take_way(&facts);
	policy_decide_bytes(way->proxy->config->policy, &facts, &verdict);
	page->status = 200;
	page->is_json = style->wants_json;
	gate_pages_verdict(&(struct refusal){ .reason = verdict.reason,
					      .dst = &page->dst,
					      .verdict = &verdict,
					      .is_unasked = way->proxy->config->asks_nobody },
			   style, &page->body);
}

static void gate_pages_propose(const struct way *way, struct http1_span query,
			       struct gate_pages_page *page)
{
	char reason[OWN_VALUE_MAX];
	int r;

	if (!gate_pages_destination(query, page) || !gate_pages_is_reachable(way, page))
		return;
	r = gate_pages_parameter(query, "reason", reason);
	if (r < 0 || strlen(reason) >= GATE_PAGES_REASON_MAX || reason[0] == '\0') {
		gate_pages_say(page, 400,
			       "reason= must say in 1 to 300 bytes what the destination is for");
		return;
	}
	memcpy(page->reason, reason, strlen(reason) + 1);
	page->is_proposal = true;
}

static void gate_pages_denials(const struct way *way, const struct refusal_style *style,
			       struct gate_pages_page *page)
{
	page->status = 200;
	page->is_json = style->wants_json;
	if (style->wants_json)
		(void)denials_json(&way->denials, &page->body); /* a longer list is truncated */
	else
		(void)denials_text(&way->denials, &page->body);
}

static bool gate_pages_is(struct http1_span span, const char *text)
{
	return span.len == strlen(text) && memcmp(span.at, text, span.len) == 0;
}

void gate_pages_page_make(const struct way *way, const struct http1_head *head,
			  const struct refusal_style *style, struct gate_pages_page *ret)
{
	const char *mark = head->path.len ? memchr(head->path.at, '?', head->path.len) : NULL;
	struct http1_span path = { head->path.at,
				   mark ? (size_t)(mark - head->path.at) : head->path.len };
	struct http1_span query = { mark ? mark + 1 : head->path.at,
				    mark ? head->path.len - path.len - 1 : 0 };
	bool is_read = gate_pages_is(head->method, "GET") || style->is_head;
	bool is_proposal = gate_pages_is(path, "/propose");

	*ret = (struct gate_pages_page){ .status = 404 };
	if (is_proposal ? !gate_pages_is(head->method, "POST") : !is_read)
		gate_pages_say(ret, 405,
			       is_proposal ? "/propose takes POST" : "this page takes GET or HEAD");
	else if (is_proposal && head->body != HTTP1_NO_BODY &&
		 !(head->body == HTTP1_LENGTH && head->length == 0))
		gate_pages_say(ret, 400,
			       "a request to /propose has a body; put everything into the query");
	else if (is_proposal)
		gate_pages_propose(way, query, ret);
	else if (gate_pages_is(path, "/denials"))
		gate_pages_denials(way, style, ret);
	else if (gate_pages_is(path, "/why"))
		gate_pages_why(way, query, style, ret);
	else if (gate_pages_is(path, "/") || path.len == 0)
		ret->status = 200;
	if (ret->body.len == 0 && !ret->is_proposal)
		(void)buffer_append(&ret->body, own_index, sizeof(own_index) - 1,
				    LIMITS_PAGE_BYTES); /* fits */
}

int gate_pages_allowed(const struct policy_destination *dst, const struct policy_verdict *verdict,
		       const struct refusal_style *style, struct buffer *out)
{
	struct buffer body = { 0 };
	char field[96];

	gate_pages_verdict(
		&(struct refusal){ .reason = verdict->reason, .dst = dst, .verdict = verdict },
		style, &body);
	(void)snprintf(field, sizeof(field), "x-sallyport-reason: %s\r\n",
		       policy_reason_code(verdict->reason));
	int r = refusal_http_page(200, style, field, &body, out);

	buffer_clear(&body);
	return r;
}
