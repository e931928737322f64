/* access: owned lists of accesses, and how they widen a sandbox. */
#pragma once

#include "exec/orchestrator/orchestrator_request.h"

struct access_list {
	struct orchestrator_access list[ORCHESTRATOR_ACCESSES_MAX]; /* strings are owned */
	size_t count;
};

/* 0, or -EINVAL with @why: a path is not absolute, or a host or protocol is invalid. */
int access_check(const struct orchestrator_access *access, struct err *why);
bool access_is_equal(const struct orchestrator_access *a, const struct orchestrator_access *b);
bool access_has(const struct access_list *list, const struct orchestrator_access *access);
/* Adds a copy, unless it is in the list already. False: the list is full. */
bool access_add(struct access_list *list, const struct orchestrator_access *access);
/* Not empty, and destinations only. */
bool access_is_destinations(const struct access_list *list);
void access_done(struct access_list *list);

/* Does @sandbox grant it already? Always false for an access that is not part of a sandbox. */
bool access_is_given(const struct exec_sandbox *sandbox, const struct orchestrator_access *access);
/* @sandbox widened by those of @list that are part of a sandbox: returned owned. NULL with @why. */
struct exec_sandbox *access_widen(const struct exec_sandbox *sandbox,
				  const struct access_list *list, struct err *why);

/* @sandbox, which is taken, widened by @access; @sandbox itself if that is not possible, or not
 * part of a sandbox. Returned owned. */
struct exec_sandbox *access_widen_if(struct exec_sandbox *sandbox,
				     const struct orchestrator_access *access);

/* "write /a/b", "https://a.test:443", for keys and people: returned owned. */
char *access_text(const struct orchestrator_access *access);
/* "allow https://a.test:443", `write "/a"` for a folder, a line of the policy: returned owned.
 * NULL: no line can express it. */
char *access_line(const struct orchestrator_access *access, bool is_denial);
