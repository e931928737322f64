#include "policies/diff/diff_cells_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "policies/policies_tools.h"

/* Why one host of each cell is enough.
 *
 * Names. A pattern tests a name only by asking whether a written name (a mark) is the name itself
 * or a suffix of it at a dot. Let t be the longest such mark. Then the marks that are suffixes of
 * the host are exactly those of t: so t, and whether the host is t itself, determine the result of
 * every pattern, and a host without any t matches none of them. So one host for each mark, one
 * strictly below it and at no longer mark, and one outside all of them are enough. Below a mark the
 * host gets one label that no other mark has; if the name is too long, or no label is left, there
 * is no such host.
 *
 * Addresses. Blocks are nested or disjoint. The addresses inside a block and outside the blocks
 * nested in it form intervals, and each begins at the block's first address or directly behind a
 * nested block. So the first address of each block and the one behind it, of the rules' blocks and
 * of the registries', cover every class. An IPv6 address that carries IPv4 is also judged by the
 * IPv4 address inside: every prefix is combined with every IPv4 class. */

static struct diff_cell *cells_add(struct diff_cells *cells)
{
	cells->list =
		mem_reserve(cells->list, &cells->room, cells->count + 1, sizeof(*cells->list));
	struct diff_cell *cell = &cells->list[cells->count++];

	*cell = (struct diff_cell){ .mark = DIFF_NONE };
	return cell;
}

/* Writes label number @number. It begins with a letter. */
static bool cells_label(unsigned int number, char out[16])
{
	static const char letters[] = "xyzabcdefghijklmnopqrstuvw_0123456789";

	if (number < sizeof(letters) - 1)
		(void)snprintf(out, 16, "%c", letters[number]);
	else
		(void)snprintf(out, 16, "x%u", number);
	return number <= DIFF_CELLS_MAX;
}

/* Writes a host strictly below @name (below the empty name: any) that is at no mark. False: there
 * is none. */
static bool cells_below(const struct diff_marks *marks, const struct diff_name *name,
			char out[POLICY_HOST_MAX])
{
	char label[16];

	/* A label of digits alone would be an address. */
	for (unsigned int i = name->len ? 0 : 64; cells_label(i, label); i++) {
		int len = snprintf(out, POLICY_HOST_MAX, "%s%s%.*s", label, name->len ? "." : "",
				   (int)name->len, name->text);

		if (len < 0 || len >= POLICY_HOST_MAX)
			return false;
		if (!diff_marks_has_name(marks, out, (size_t)len))
			return true;
	}
	return false;
}

int diff_cells_names(struct diff_cells *cells, const struct diff_marks *marks)
{
	static const struct diff_name nothing = { "", 0 };
	char host[POLICY_HOST_MAX];

	if (marks->name_count > DIFF_CELLS_MAX / 2)
		return -E2BIG;
	if (cells_below(marks, &nothing, host))
		memcpy(cells_add(cells)->host, host, sizeof(host));
	for (size_t i = 0; i < marks->name_count; i++) {
		const struct diff_name *name = &marks->names[i];
		struct diff_cell *cell = cells_add(cells);

		cell->mark = (uint32_t)i;
		(void)snprintf(cell->host, sizeof(cell->host), "%.*s", (int)name->len, name->text);
		if (!cells_below(marks, name, host))
			continue;
		cell = cells_add(cells);
		cell->mark = (uint32_t)i;
		cell->is_below = true;
		memcpy(cell->host, host, sizeof(host));
	}
	return 0;
}

/* All that the decision can see of an address: two with the same properties are decided alike. */
struct cells_look {
	uint32_t mark;
	uint32_t embedded[SPECIAL_EMBEDDED_MAX]; /* sorted, each once, then DIFF_NONE */
	uint8_t embedded_count, family, class;
	bool is_loopback;
};

struct cells_point {
	struct cells_look look;
	struct addr addr;
};

struct cells_points {
	struct cells_point *list;
	size_t count, room;
	uint32_t *slots; /* hash table by properties; open addressing */
	size_t slot_count;
};

static void cells_look(const struct diff_marks *marks, const struct addr *addr,
		       struct cells_look *ret)
{
	struct addr embedded[SPECIAL_EMBEDDED_MAX];
	struct policy_destination literal = { .host = "", .addr = *addr };
	size_t count = special_embedded(addr, embedded);

	memset(ret, 0, sizeof(*ret));
	memset(ret->embedded, 0xff, sizeof(ret->embedded));
	ret->mark = diff_marks_block(marks, addr);
	ret->family = addr->family;
	ret->class = (uint8_t)special_class(addr);
	ret->is_loopback = policy_destination_is_loopback(&literal);
	for (size_t i = 0; i < count; i++) {
		uint32_t mark = diff_marks_block(marks, &embedded[i]);
		size_t at = 0;

		if (mark == DIFF_NONE) /* no rule sees it, and its class is counted above */
			continue;
		while (at < ret->embedded_count && ret->embedded[at] < mark)
			at++;
		if (at < ret->embedded_count && ret->embedded[at] == mark)
			continue;
		memmove(&ret->embedded[at + 1], &ret->embedded[at],
			(ret->embedded_count - at) * sizeof(mark));
		ret->embedded[at] = mark;
		ret->embedded_count++;
	}
}

static size_t cells_slot(const struct cells_points *points, const struct cells_look *look)
{
	const unsigned char *bytes = (const unsigned char *)look;
	uint32_t hash = 2166136261U;

	for (size_t i = 0; i < sizeof(*look); i++)
		hash = (hash ^ bytes[i]) * 16777619U;
	size_t slot = hash & (points->slot_count - 1);

	while (points->slots[slot] != DIFF_NONE &&
	       memcmp(&points->list[points->slots[slot]].look, look, sizeof(*look)) != 0)
		slot = (slot + 1) & (points->slot_count - 1);
	return slot;
}

static void cells_grow(struct cells_points *points)
{
	free(points->slots);
	points->slot_count = points->slot_count ? points->slot_count * 2 : 1024;
	points->slots = mem_new_array(points->slot_count, sizeof(*points->slots));
	memset(points->slots, 0xff, points->slot_count * sizeof(*points->slots));
	for (size_t i = 0; i < points->count; i++)
		points->slots[cells_slot(points, &points->list[i].look)] = (uint32_t)i;
}

/* Adds @addr unless one with the same properties is there. */
static void cells_note(struct cells_points *points, const struct diff_marks *marks,
		       const struct addr *addr)
{
	struct addr plain = *addr;
	struct cells_look look;

	addr_unmap(&plain); /* every request is mapped in the same way */
	if (points->count * 2 >= points->slot_count)
		cells_grow(points);
	cells_look(marks, &plain, &look);
	size_t slot = cells_slot(points, &look);

	if (points->slots[slot] != DIFF_NONE)
		return;
	points->slots[slot] = (uint32_t)points->count;
	points->list =
		mem_reserve(points->list, &points->room, points->count + 1, sizeof(*points->list));
	points->list[points->count++] = (struct cells_point){ look, plain };
}

/* Addresses where something begins or has ended. */
struct cells_bounds {
	struct addr *list;
	size_t count, room;
};

static void cells_bound(struct cells_bounds *bounds, const struct addr *addr)
{
	bounds->list = mem_reserve(bounds->list, &bounds->room, bounds->count + 1, sizeof(*addr));
	bounds->list[bounds->count++] = *addr;
}

/* Adds the first address of @block, and the one behind its last. */
static void cells_bound_block(struct cells_bounds *bounds, const struct addr_block *block)
{
	struct addr behind = block->base;
	unsigned int carry = 0;

	cells_bound(bounds, &block->base);
	for (size_t i = (block->bits + 7U) / 8; i-- > 0;) {
		unsigned int step = i + 1 == (block->bits + 7U) / 8
					    ? 1U << (7 - (block->bits - 1U) % 8)
					    : carry;

		carry = behind.bytes[i] + step;
		behind.bytes[i] = (uint8_t)carry;
		carry >>= 8;
	}
	if (block->bits > 0 &&
	    carry == 0) /* otherwise the block ends with the last address of all */
		cells_bound(bounds, &behind);
}

/* For a narrow IPv6 block: adds its network, and its last octets as IPv4, also in the form that
 * Teredo hides them. */
static void cells_bound_parts(struct cells_bounds *bounds, const struct addr_block *block,
			      uint8_t family)
{
	struct addr_block part = { .base.family = AF_INET6, .bits = 64 };

	if (family == AF_INET6 && block->bits > 64) {
		memcpy(part.base.bytes, block->base.bytes, 8);
		cells_bound_block(bounds, &part);
	}
	if (family == AF_INET6 || block->bits <= 96)
		return;
	part = (struct addr_block){ .base.family = AF_INET, .bits = (uint8_t)(block->bits - 96) };
	memcpy(part.base.bytes, block->base.bytes + 12, 4);
	cells_bound_block(bounds, &part);
	for (size_t i = 0; i < 32; i++) {
		if (i < part.bits)
			part.base.bytes[i / 8] ^= (uint8_t)(0x80U >> i % 8);
	}
	cells_bound_block(bounds, &part);
}

static void cells_bounds(struct cells_bounds *bounds, const struct diff_marks *marks,
			 uint8_t family)
{
	const struct addr none = { .family = family };
	const struct addr_block *block;

	cells_bound(bounds, &none);
	for (size_t i = 0; (block = special_block(i)) != NULL; i++) {
		if (block->base.family == family)
			cells_bound_block(bounds, block);
	}
	for (size_t i = 0; i < marks->block_count; i++) {
		block = &marks->blocks[i];
		if (block->base.family == family)
			cells_bound_block(bounds, block);
		if (block->base.family == AF_INET6)
			cells_bound_parts(bounds, block, family);
	}
}

/* Combines every carrier, from its first address, with every IPv4 address. */
static void cells_carry(struct cells_bounds *bounds, const struct cells_bounds *v4)
{
	const struct addr_block *carrier;

	for (size_t i = 0; (carrier = special_carrier(i)) != NULL; i++) {
		for (size_t j = 0; j < v4->count && carrier->bits > 0; j++) {
			struct addr addr = carrier->base;

			(void)special_embed(i, &v4->list[j], &addr);
			cells_bound(bounds, &addr);
		}
	}
}

/* Combines @prefix with every IPv4 address at its end, where a carrier has it there. */
static void cells_end(struct cells_points *points, const struct diff_marks *marks, size_t carrier,
		      const struct addr *prefix, const struct cells_bounds *v4)
{
	for (size_t i = 0; i < v4->count; i++) {
		struct addr addr = *prefix;

		if (!special_embed(carrier, &v4->list[i], &addr))
			return;
		cells_note(points, marks, &addr);
	}
}

static void cells_note_all(struct cells_points *points, const struct diff_marks *marks,
			   const struct cells_bounds *bounds)
{
	for (size_t i = 0; i < bounds->count; i++)
		cells_note(points, marks, &bounds->list[i]);
}

/* Two IPv6 addresses with the same IPv4 class differ only if a rule names IPv6 blocks. */
static void cells_thin(struct cells_bounds *v4, const struct diff_marks *marks,
		       const struct cells_points *points)
{
	if (marks->block_count > 0 && marks->blocks[marks->block_count - 1].base.family == AF_INET6)
		return;
	for (v4->count = 0; v4->count < points->count; v4->count++)
		v4->list[v4->count] = points->list[v4->count].addr;
}

static int cells_points(struct cells_points *points, const struct diff_marks *marks,
			struct cells_bounds *v4, struct cells_bounds *v6)
{
	const struct addr_block *carrier;
	size_t plain;

	cells_bounds(v4, marks, AF_INET);
	cells_note_all(points, marks, v4);
	cells_thin(v4, marks, points);
	cells_bounds(v6, marks, AF_INET6);
	plain = v6->count;
	if ((plain + v4->count) * v4->count > DIFF_CELLS_MAX)
		return -E2BIG;
	cells_carry(v6, v4);
	cells_note_all(points, marks, v6);
	for (size_t i = 0; (carrier = special_carrier(i)) != NULL; i++) {
		/* Nested carriers (ISATAP inside another one) are not considered. */
		size_t count = carrier->bits == 0 ? plain : v6->count;

		for (size_t j = 0; j < count; j++) {
			if (addr_block_has(carrier, &v6->list[j]))
				cells_end(points, marks, i, &v6->list[j], v4);
		}
	}
	return 0;
}

/* Sorts marks with equal text next to each other. */
static int cells_compare(const void *left, const void *right)
{
	const struct diff_cell *a = left, *b = right;

	if (a->is_carrier != b->is_carrier)
		return a->is_carrier ? 1 : -1;
	if (a->addr.family != b->addr.family)
		return a->addr.family < b->addr.family ? -1 : 1;
	if (a->mark != b->mark)
		return a->mark < b->mark ? -1 : 1;
	return memcmp(a->addr.bytes, b->addr.bytes, sizeof(a->addr.bytes));
}

int diff_cells_addresses(struct diff_cells *cells, const struct diff_marks *marks)
{
	struct cells_points points = { 0 };
	struct cells_bounds v4 = { 0 }, v6 = { 0 };
	int r = cells_points(&points, marks, &v4, &v6);

	for (size_t i = 0; r == 0 && i < points.count; i++) {
		struct diff_cell *cell = cells_add(cells);

		cell->addr = points.list[i].addr;
		cell->mark = points.list[i].look.mark;
		cell->class = (enum special_class)points.list[i].look.class;
		cell->is_carrier = points.list[i].look.embedded[0] != DIFF_NONE;
	}
	if (r == 0 && cells->count > 0)
		qsort(cells->list, cells->count, sizeof(*cells->list), cells_compare);
	free(points.list);
	free(points.slots);
	free(v4.list);
	free(v6.list);
	return r;
}
