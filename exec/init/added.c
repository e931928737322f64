#include "exec/init/added.h"

#include <errno.h>

#include "exec/init/command.h"
#include "exec/init/init.h"
#include "exec/init/sys.h"
#include "exec/init/wall.h"
#include "exec/stages/stages.h"

#define FDS 4 /* with a command: its plan and its 0–2 */

/* Of these the added command has its own. Everything else that the plan asks for must be what the
 * run's own command has; reports of its programs or of all its calls cannot be had. */
#define OWN_FLAGS (WIRE_TERMINALS | WIRE_HAS_FILES | WIRE_HAS_PROGRAM | WIRE_PROBE)
#define NOT_ADDED (WIRE_UNCONFINED | (WIRE_TELLS & ~(uint32_t)WIRE_TELL_BRIEF))

static struct into_slot *slot_of(struct init *init, uint64_t into)
{
	for (int i = 0; i < WIRE_INTO_MAX; i++)
		if (init->added[i].into == into)
			return &init->added[i];
	return NULL;
}

long added_command(struct init *init, uint64_t into)
{
	const struct into_slot *slot = into != 0 ? slot_of(init, into) : NULL;

	return into == 0 ? init->command : slot ? slot->command : 0;
}

static void tell(uint64_t into, enum wire_type type, int32_t value)
{
	const struct wire_message message = { .type = type, .value = value, .into = into };

	(void)init_send(&message, NULL, 0); /* if the gate is gone, a later call notices */
}

static void fail(const struct init *added, int error)
{
	struct wire_message message = {
		.type = WIRE_FAILED, .step = added->step, .value = -error, .into = added->into
	};

	for (size_t i = 0; i < sizeof(message.detail) - 1 && added->detail[i]; i++)
		message.detail[i] = added->detail[i];
	(void)init_send(&message, NULL, 0);
	tell(added->into, WIRE_STATUS, 125 << 8);
}

static bool is_as(const struct init *init, const struct read_plan *plan)
{
	const struct wire_plan *own = init->plan.head, *head = plan->head;

	return (own->flags & NOT_ADDED) == 0 && ((own->flags ^ head->flags) & ~OWN_FLAGS) == 0 &&
	       (head->flags & WIRE_PROBE) == 0 && own->uid == head->uid && own->gid == head->gid;
}

/* The command's process shares init's descriptors until it executes its program, so they are put in
 * place here. */
static int put_in_place(const int *stdio)
{
	long r = 0;

	for (int fd = 0; fd < 3 && r >= 0; fd++)
		r = sys(dup3, stdio[fd], fd, 0);
	return r < 0 ? (int)r : 0;
}

int added_reserve(void)
{
	long fd = sys(openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC); /* the lowest that is free */
	long r = fd;

	for (int i = 0; i < 3 && r >= 0; i++)
		r = i == fd ? fd : sys(dup3, fd, i, O_CLOEXEC);
	if (fd > 2)
		(void)sys(close, fd);
	return r < 0 ? (int)r : 0;
}

static int start(struct init *added, uint32_t size, const int *stdio)
{
	int r = 0;

	added->step = WIRE_STEP_FORK;
	if (!wall_is_free(added->whole))
		return -EAGAIN;
	if ((added->plan.head->flags & WIRE_TERMINALS) != 0)
		r = terminal_add(added, (uint16_t)(size >> 16), (uint16_t)size);
	if (r == 0)
		r = put_in_place(stdio);
	if (r == 0)
		r = command_start(added);
	(void)added_reserve();
	if (added->pty >= 0)
		(void)sys(close, added->pty);
	return r;
}

static int start_mapped(struct init *init, const struct wire_message *message,
			const struct read_plan *plan, const int *stdio)
{
	uint64_t into = message->into;
	struct into_slot *slot = slot_of(init, 0);
	struct init added = *init;

	if (!is_as(init, plan))
		return -EBADMSG;
	added.whole = init;
	added.into = into;
	added.plan = *plan;
	added.detail = "";
	added.pty = added.pty_far = -1;
	added.step = WIRE_STEP_FORK;
	int r = slot ? start(&added, (uint32_t)message->value, stdio) : -EAGAIN;

	if (r < 0) {
		fail(&added, r);
		return 0;
	}
	*slot = (struct into_slot){ into, added.command };
	tell(into, WIRE_STARTED, 0);
	return 0;
}

int added_start(struct init *init, const struct wire_message *message, const int *fds, int count)
{
	uint64_t into = message->into;
	struct map map = { .bytes = NULL };
	int r = count == FDS && into != 0 && !slot_of(init, into) ? 0 : -EBADMSG;

	if (r == 0)
		r = map_plan(fds[0], &map);
	if (r == 0)
		r = start_mapped(init, message, &map.plan, fds + 1);
	map_drop(&map);
	for (int i = 1; i < count; i++)
		(void)sys(close, fds[i]);
	return r;
}

void added_ended(struct init *init, long pid, int status)
{
	for (int i = 0; i < WIRE_INTO_MAX; i++) {
		struct into_slot *slot = &init->added[i];

		if (slot->into == 0 || slot->command != pid)
			continue;
		tell(slot->into, WIRE_STATUS, status);
		slot->into = 0;
	}
}
