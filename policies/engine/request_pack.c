#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "policies/engine/request_impl.h"

void policy_request_set_target(struct policy_request *ret, const char *target, size_t len,
			       char room[POLICY_PATH_MAX + POLICY_QUERY_MAX])
{
	const char *mark = len > 0 ? memchr(target, '?', len) : NULL;
	size_t path = mark ? (size_t)(mark - target) : len;
	size_t query = mark ? len - path - 1 : 0;

	if (path < POLICY_PATH_MAX && (len == 0 || !memchr(target, '\0', len))) {
		memcpy(room, path > 0 ? target : "/", path > 0 ? path : 1);
		room[path > 0 ? path : 1] = '\0';
		ret->path = room;
	}
	if (query < POLICY_QUERY_MAX && (len == 0 || !memchr(target, '\0', len))) {
		char *out = room + POLICY_PATH_MAX;

		if (query > 0)
			memcpy(out, mark + 1, query);
		out[query] = '\0';
		ret->query = out;
	}
}

bool policy_request_is_override(const char *name, size_t len)
{
	static const char *const names[] = {
		"x-http-method-override", "x-http-method", "x-method-override", "x-original-url",
		"x-original-uri",         "x-rewrite-url", "x-original-method", "x-forwarded-uri",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (text_equal_nocase(name, len, names[i]))
			return true;
	}
	return false;
}

static size_t text_size(const char *text)
{
	return text ? strlen(text) + 1 : 0;
}

size_t policy_request_size(const struct policy_request *request)
{
	if (!request)
		return 0;
	size_t size = sizeof(*request) + text_size(request->method) + text_size(request->path) +
		      text_size(request->query) +
		      (request->fields ? (request->field_count + 1) * sizeof(*request->fields) : 0);

	for (size_t i = 0; request->fields && i < request->field_count; i++)
		size += text_size(request->fields[i].name) + text_size(request->fields[i].value);
	return size;
}

static const char *text_copy(const char *text, char **at)
{
	size_t size = text_size(text);
	char *to = *at;

	if (!text)
		return NULL;
	memcpy(to, text, size);
	*at += size;
	return to;
}

struct policy_request *policy_request_copy(const struct policy_request *request, void *room)
{
	if (!request)
		return NULL;
	struct policy_request *copy = room;
	struct policy_field *fields = (struct policy_field *)(copy + 1);
	char *at = (char *)fields;

	*copy = *request;
	if (request->fields) {
		at = (char *)(fields + request->field_count + 1);
		for (size_t i = 0; i < request->field_count; i++) {
			fields[i].name = text_copy(request->fields[i].name, &at);
			fields[i].value = text_copy(request->fields[i].value, &at);
		}
		copy->fields = fields;
	}
	copy->method = text_copy(request->method, &at);
	copy->path = text_copy(request->path, &at);
	copy->query = text_copy(request->query, &at);
	return copy;
}

unsigned int policy_request_parts(const struct policy *policy)
{
	unsigned int parts = 0;

	for (size_t i = 0; i < policy->clause_count; i++) {
		unsigned int kind = policy->clauses[i].kind;

		parts |= kind == CLAUSE_METHOD                         ? POLICY_PART_METHOD
			 : kind == CLAUSE_PATH || kind == CLAUSE_QUERY ? POLICY_PART_TARGET
			 : kind == CLAUSE_HEADER                       ? POLICY_PART_FIELDS
								       : 0U;
	}
	return parts;
}
