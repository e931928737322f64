#include "proxy/request.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/gateway.h"

struct request *request_new(const struct policy_facts *facts, int64_t now_ms)
{
	struct request *request = mem_new(sizeof(*request));

	request->facts = *facts;
	request->started_ms = now_ms;
	return request;
}

void request_free(struct request *request)
{
	if (!request)
		return;
	gateway_withdraw(request->ticket);
	free(request->plea);
	free(request->texts);
	free(request);
}

void request_keep_plea(struct request *request, const char *plea)
{
	free(request->plea);
	request->plea = mem_strdup(plea);
	request->facts.plea = request->plea;
}

void request_keep_verdict(struct request *request, const struct policy_verdict *verdict)
{
	size_t rule = strlen(verdict->rule) + 1;
	size_t because = strlen(verdict->because) + 1;
	size_t by = strlen(verdict->by) + 1;
	char *texts = mem_new(rule + because + by);

	memcpy(texts, verdict->rule, rule);
	memcpy(texts + rule, verdict->because, because);
	memcpy(texts + rule + because, verdict->by, by);
	free(request->texts);
	request->texts = texts;
	request->action = verdict->action;
	request->reason = verdict->reason;
	request->promise = verdict->promise;
	request->may_private = verdict->may_private;
	request->rate_count = verdict->limits.rate_count;
	request->rate_s = verdict->limits.rate_s;
	request->has_verdict = true;
}

void request_get_verdict(const struct request *request, struct policy_verdict *ret)
{
	const char *text = request->texts;

	memset(ret, 0, sizeof(*ret));
	ret->action = request->action;
	ret->reason = request->reason;
	ret->promise = request->promise;
	ret->may_private = request->may_private;
	ret->limits.rate_count = request->rate_count;
	ret->limits.rate_s = request->rate_s;
	if (!text)
		return;
	(void)snprintf(ret->rule, sizeof(ret->rule), "%s", text);
	text += strlen(text) + 1;
	(void)snprintf(ret->because, sizeof(ret->because), "%s", text);
	text += strlen(text) + 1;
	(void)snprintf(ret->by, sizeof(ret->by), "%s", text);
}

void request_report(struct request *request, struct gateway_client *client,
		    enum policy_reason reason, bool is_refused, const char *cause, int64_t now_ms)
{
	struct gateway_report report = {
		.facts = request->facts,
		.closed = reason,
		.resolved = request->resolved,
		.is_resolved_upstream = request->is_resolved_upstream,
		.bytes_up = request->bytes_up,
		.bytes_down = request->bytes_down,
		.duration_ms = (uint64_t)(now_ms - request->started_ms),
		.dns_ms = request->dns_ms,
		.dial_ms = request->dial_ms,
	};

	if (request->is_reported)
		return;
	request->is_reported = true;
	report.ticket = take(request->ticket);
	request_get_verdict(request, &report.verdict);
	if (is_refused) {
		report.verdict.action = POLICY_DENY;
		report.verdict.reason = reason;
	}
	(void)snprintf(report.cause, sizeof(report.cause), "%s", cause ? cause : "");
	gateway_report(client, &report);
}
