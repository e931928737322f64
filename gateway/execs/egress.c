#include "gateway/execs/egress.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/link/keys.h"

struct egress_row {
	struct key_node node;
	struct gateway_egress is;
};

struct egress {
	struct key_table table;   /* (index of the program, destination) -> its row */
	struct egress_row **rows; /* owned */
	size_t count, room;
	char **programs; /* owned list */
	bool is_full;
};

struct egress *egress_new(void)
{
	struct egress *egress = mem_new(sizeof(*egress));

	keys_init(&egress->table);
	return egress;
}

void egress_free(struct egress *egress)
{
	if (!egress)
		return;
	while (keys_pop(&egress->table))
		; /* the rows are freed below */
	keys_done(&egress->table);
	for (size_t i = 0; i < egress->count; i++)
		free(egress->rows[i]);
	free(egress->rows);
	mem_free_list(egress->programs);
	free(egress);
}

/* The index of @program in the list, where it is added; SIZE_MAX: there are too many. */
static size_t egress_program(struct egress *egress, const char *program)
{
	size_t i = 0;

	for (; egress->programs && egress->programs[i]; i++)
		if (strcmp(egress->programs[i], program) == 0)
			return i;
	if (i == EGRESS_PROGRAMS_MAX)
		return SIZE_MAX;
	mem_append_list(&egress->programs, mem_strdup(program));
	return i;
}

static struct egress_row *egress_row(struct egress *egress, size_t program,
				     const struct policy_destination *dst)
{
	struct key_node *node = keys_find(&egress->table, program, dst);

	if (node)
		return container_of(node, struct egress_row, node);
	if (egress->count == GATEWAY_EGRESS_MAX)
		return NULL;
	struct egress_row *row = mem_new(sizeof(*row));

	row->is.dst = *dst;
	row->is.program = egress->programs[program];
	keys_add(&egress->table, &row->node, program, &row->is.dst);
	egress->rows = mem_reserve(egress->rows, &egress->room, egress->count + 1,
				   sizeof(struct egress_row *));
	egress->rows[egress->count++] = row;
	return row;
}

void egress_count(struct egress *egress, const struct policy_destination *dst, const char *program,
		  enum policy_reason reason, const uint64_t bytes[GATEWAY_WAYS])
{
	if (reason == POLICY_INSIDE || dst->host[0] == '\0')
		return;
	size_t i = egress_program(egress, program ? program : "");
	struct egress_row *row = i == SIZE_MAX ? NULL : egress_row(egress, i, dst);

	if (!row) {
		egress->is_full = true;
		return;
	}
	row->is.bytes_up += bytes[GATEWAY_UP];
	row->is.bytes_down += bytes[GATEWAY_DOWN];
}

const struct gateway_egress *egress_at(const struct egress *egress, size_t i)
{
	return i < egress->count ? &egress->rows[i]->is : NULL;
}

bool egress_is_whole(const struct egress *egress)
{
	return !egress->is_full;
}
