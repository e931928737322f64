#include "proxy/http/policy_parts.h"

#include <string.h>

#include "proxy/http/rewrite.h"

static void policy_parts_fill_method(struct policy_parts *seen, const struct http1_head *head)
{
	if (head->method.len >= sizeof(seen->method))
		return;
	memcpy(seen->method, head->method.at, head->method.len);
	seen->method[head->method.len] = '\0';
	seen->request.method = seen->method;
}

static void policy_parts_fill_target(struct policy_parts *seen, const struct http1_head *head)
{
	struct http1_span path = rewrite_target(head);

	policy_request_set_target(&seen->request, path.at, path.len, seen->target);
}

/* Returns where it ends, or 0: there is no room. */
static size_t policy_parts_put(struct policy_parts *seen, size_t used, struct http1_span span,
			       const char **ret)
{
	if (span.len >= sizeof(seen->texts) - used)
		return 0;
	if (span.len > 0)
		memcpy(seen->texts + used, span.at, span.len);
	seen->texts[used + span.len] = '\0';
	*ret = seen->texts + used;
	return used + span.len + 1;
}

/* All fields or none: with half of them, policy would see a different request. */
static void policy_parts_fill_fields(struct policy_parts *seen, const struct http1_head *head)
{
	size_t used = 0, count = 0;

	for (size_t i = 0; i < head->field_count; i++) {
		const struct http1_field *field = &head->fields[i];

		if (rewrite_drops(head, field))
			continue;
		if (count == POLICY_FIELDS_MAX)
			return;
		used = policy_parts_put(seen, used, field->name, &seen->fields[count].name);
		if (used > 0 && used < sizeof(seen->texts))
			used = policy_parts_put(seen, used, field->value,
						&seen->fields[count].value);
		else
			used = 0;
		if (used == 0 || used == sizeof(seen->texts))
			return;
		count++;
	}
	seen->request.fields = seen->fields;
	seen->request.field_count = count;
}

const struct policy_request *policy_parts_fill(struct policy_parts *seen,
					       const struct http1_head *head, unsigned int parts)
{
	if (parts == 0)
		return NULL;
	seen->request = (struct policy_request){ 0 };
	if (parts & POLICY_PART_METHOD)
		policy_parts_fill_method(seen, head);
	if (parts & POLICY_PART_TARGET)
		policy_parts_fill_target(seen, head);
	if (parts & POLICY_PART_FIELDS)
		policy_parts_fill_fields(seen, head);
	for (size_t i = 0; i < head->field_count; i++) {
		struct http1_span name = head->fields[i].name;

		seen->request.has_override |= !rewrite_drops(head, &head->fields[i]) &&
					      policy_request_is_override(name.at, name.len);
	}
	return &seen->request;
}
