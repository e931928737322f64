/* notify: serves what tells of the command's calls: says what was refused, and has programs judged.
 * Never the wall itself: it refuses what the filter refuses anyway, and lets the kernel, its mounts
 * and Landlock decide the rest. */
#pragma once

#include "exec/exec.h"

struct loop;
struct notify;
struct plan;

/* Takes @plan; the functions of @config get @arg. Returned owned. */
struct notify *notify_new(struct loop *loop, struct plan *plan,
			  const struct exec_plan_config *config, void *arg);
/* The sandbox has been killed. */
void notify_free(struct notify *notify);

/* Taken: @listener, from the filter, and @told, from the wall, which says what is to be answered.
 * Once. */
void notify_start(struct notify *notify, int listener, int told);
int notify_answer(struct notify *notify, uint64_t id, bool is_allowed);
uint64_t notify_count(const struct notify *notify); /* see exec_result.refused */
/* What init's filter is to tell of for @config: of enum wire_flag. */
uint32_t notify_wishes(const struct exec_plan_config *config);
