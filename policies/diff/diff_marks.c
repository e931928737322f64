#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "policies/diff/diff_impl.h"
#include "policies/engine/index_impl.h"
#include "policies/engine/rules_impl.h"

static void marks_add_name(struct diff_marks *marks, const char *text, size_t len)
{
	marks->names = mem_reserve(marks->names, &marks->name_room, marks->name_count + 1,
				   sizeof(*marks->names));
	marks->names[marks->name_count++] = (struct diff_name){ text, len };
}

static void marks_add_block(struct diff_marks *marks, const char *key)
{
	struct addr_block block = { .base.family = (uint8_t)key[1], .bits = (uint8_t)key[2] };

	memcpy(block.base.bytes, key + 3, sizeof(block.base.bytes));
	marks->blocks = mem_reserve(marks->blocks, &marks->block_room, marks->block_count + 1,
				    sizeof(*marks->blocks));
	marks->blocks[marks->block_count++] = block;
	if (block.base.family == AF_INET)
		marks->is_v4_length[block.bits] = true;
	else
		marks->is_v6_length[block.bits] = true;
}

static void marks_add_port(struct diff_marks *marks, uint32_t port)
{
	if (port > UINT16_MAX)
		return;
	marks->ports = mem_reserve(marks->ports, &marks->port_room, marks->port_count + 1,
				   sizeof(*marks->ports));
	marks->ports[marks->port_count++] = (uint16_t)port;
}

static void marks_add_pattern(struct diff_marks *marks, const struct policy *policy,
			      const struct pattern *pattern)
{
	const char *key = rules_key(policy, pattern);

	for (uint32_t i = 0; i < pattern->port_count; i++) {
		marks_add_port(marks, policy->ports[pattern->ports + i].first);
		marks_add_port(marks, policy->ports[pattern->ports + i].last + 1U);
	}
	if (pattern->kind == PATTERN_BLOCK)
		marks_add_block(marks, key);
	else if (pattern->kind != PATTERN_ANY)
		marks_add_name(marks, key, pattern->key_len);
}

static void marks_add_policy(struct diff_marks *marks, const struct policy *policy)
{
	for (size_t i = 0; i < policy->rule_count; i++) {
		struct rule rule;

		rules_get_bare(policy, (uint32_t)i, &rule);
		bool is_block = rule.pattern.kind == PATTERN_BLOCK;

		marks_add_pattern(marks, policy, &rule.pattern);
		for (uint32_t j = 0; j < rule.exception_count; j++) {
			const struct pattern *exception = &policy->exceptions[rule.exceptions + j];

			marks_add_pattern(marks, policy, exception);
			if (exception->kind != PATTERN_ANY &&
			    is_block != (exception->kind == PATTERN_BLOCK))
				marks->is_crossed = true;
		}
	}
}

static int marks_compare_names(const void *left, const void *right)
{
	const struct diff_name *a = left, *b = right;
	size_t len = a->len < b->len ? a->len : b->len;
	int order = memcmp(a->text, b->text, len);

	return order != 0 ? order : (a->len > b->len) - (a->len < b->len);
}

static int marks_compare_blocks(const void *left, const void *right)
{
	const struct addr_block *a = left, *b = right;

	if (a->base.family != b->base.family)
		return a->base.family < b->base.family ? -1 : 1;
	if (a->bits != b->bits)
		return a->bits < b->bits ? -1 : 1;
	return memcmp(a->base.bytes, b->base.bytes, sizeof(a->base.bytes));
}

static int marks_compare_ports(const void *left, const void *right)
{
	uint16_t a = *(const uint16_t *)left, b = *(const uint16_t *)right;

	return (a > b) - (a < b);
}

/* Sorts, removes duplicates, and returns how many are left. */
static size_t marks_unique(void *array, size_t count, size_t size,
			   int (*compare)(const void *, const void *))
{
	char *bytes = array;
	size_t kept = 0;

	if (count == 0)
		return 0;
	qsort(array, count, size, compare);
	for (size_t i = 1; i < count; i++) {
		if (compare(bytes + kept * size, bytes + i * size) == 0)
			continue;
		kept++;
		memmove(bytes + kept * size, bytes + i * size, size);
	}
	return kept + 1;
}

void diff_marks_init(struct diff_marks *marks, const struct policy *before,
		     const struct policy *after)
{
	/* Ports where the protocol that a port implies changes. */
	static const uint16_t implied[] = { 1, 80, 81, 443, 444 };

	*marks = (struct diff_marks){ 0 };
	for (size_t i = 0; i < sizeof(implied) / sizeof(implied[0]); i++)
		marks_add_port(marks, implied[i]);
	/* Separate rules apply to the command's own loopback. */
	marks_add_name(marks, "localhost", strlen("localhost"));
	marks_add_policy(marks, before);
	marks_add_policy(marks, after);
	marks->name_count = marks_unique(marks->names, marks->name_count, sizeof(*marks->names),
					 marks_compare_names);
	marks->block_count = marks_unique(marks->blocks, marks->block_count, sizeof(*marks->blocks),
					  marks_compare_blocks);
	marks->port_count = marks_unique(marks->ports, marks->port_count, sizeof(*marks->ports),
					 marks_compare_ports);
}

void diff_marks_done(struct diff_marks *marks)
{
	free(marks->names);
	free(marks->blocks);
	free(marks->ports);
}

bool diff_marks_has_name(const struct diff_marks *marks, const char *text, size_t len)
{
	struct diff_name name = { text, len };

	return bsearch(&name, marks->names, marks->name_count, sizeof(name), marks_compare_names);
}

uint32_t diff_marks_block(const struct diff_marks *marks, const struct addr *addr)
{
	const bool *is_length = addr->family == AF_INET ? marks->is_v4_length : marks->is_v6_length;
	int widest = addr->family == AF_INET ? 32 : 128;

	if (marks->block_count == 0)
		return DIFF_NONE;
	for (int bits = widest; bits >= 0; bits--) {
		struct addr_block block = { .base.family = addr->family, .bits = (uint8_t)bits };
		char key[PATTERN_BLOCK_KEY];

		if (!is_length[bits])
			continue;
		index_block_key(addr, (uint8_t)bits, key);
		memcpy(block.base.bytes, key + 3, sizeof(block.base.bytes));
		const struct addr_block *found = bsearch(&block, marks->blocks, marks->block_count,
							 sizeof(block), marks_compare_blocks);

		if (found)
			return (uint32_t)(found - marks->blocks);
	}
	return DIFF_NONE;
}
