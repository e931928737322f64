#include "gateway/approvers/tty/tty_self.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"

static const unsigned int self_may_enter[] = {
	[TTY_IDLE] = BIT(TTY_DRAWING) | BIT(TTY_GONE),
	[TTY_DRAWING] = BIT(TTY_FENCE) | BIT(TTY_BETWEEN) | BIT(TTY_GONE),
	[TTY_FENCE] = BIT(TTY_GUARD) | BIT(TTY_BETWEEN) | BIT(TTY_GONE),
	[TTY_GUARD] = BIT(TTY_OPEN) | BIT(TTY_BETWEEN) | BIT(TTY_GONE),
	[TTY_OPEN] = BIT(TTY_BETWEEN) | BIT(TTY_GONE),
	[TTY_BETWEEN] = BIT(TTY_DRAWING) | BIT(TTY_IDLE) | BIT(TTY_GONE),
	[TTY_GONE] = 0,
};

struct self_walk {
	const struct approver *self;
	void (*each)(const struct approver_question *question, void *arg);
	void *arg;
};

static void self_see(const struct approver_question *question, void *arg)
{
	const struct self_walk *walk = arg;
	struct approver_question seen = *question;

	if (walk->self->is_painted && !walk->self->is_in_window)
		seen.risk |= APPROVER_PAINTED;
	walk->each(&seen, walk->arg);
}

void tty_self_each(const struct approver *self,
		   void (*each)(const struct approver_question *question, void *arg), void *arg)
{
	struct self_walk walk = { self, each, arg };

	self->source->each(self->of, self_see, &walk);
}

void tty_self_enter(struct approver *self, enum tty_state next)
{
	assert(self_may_enter[self->state] & BIT(next));
	loop_timer_stop(&self->timer);
	self->state = next;
}

bool tty_self_is_held(const struct approver *self)
{
	return self->state != TTY_IDLE && self->state != TTY_GONE;
}

void tty_self_later(struct approver *self)
{
	loop_defer(self->loop, &self->task, self->next, self);
}

void tty_self_note(struct approver *self, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(self->draft.note, sizeof(self->draft.note), format, args); /* may be cut */
	va_end(args);
	self->is_stale = true;
}

bool tty_self_leaves(struct approver *self, unsigned char key)
{
	if (key != 'x' || !self->look.may_leave)
		return false;
	self->source->gone(self->of);
	return true;
}
