/* access: what may be touched, as lists that are owned, and what they make of a sandbox. */
#pragma once

#include "exec/orchestrator/orchestrator_request.h"

struct access_list {
	struct orchestrator_access list[ORCHESTRATOR_ACCESSES_MAX]; /* strings are owned */
	size_t count;
};

/* 0, or -EINVAL with @why: a path is not absolute, a host or protocol cannot be one. */
int access_check(const struct orchestrator_access *access, struct err *why);
bool access_is_equal(const struct orchestrator_access *a, const struct orchestrator_access *b);
bool access_has(const struct access_list *list, const struct orchestrator_access *access);
/* Copies it; one that is there already is not added again. False: the list is full. */
bool access_add(struct access_list *list, const struct orchestrator_access *access);
/* Some, and nothing else. */
bool access_is_destinations(const struct access_list *list);
void access_done(struct access_list *list);

/* Does @sandbox give it already? Never for what is not in a sandbox. */
bool access_is_given(const struct exec_sandbox *sandbox, const struct orchestrator_access *access);
/* @sandbox with those of @list that are a sandbox's to give: returned owned. NULL with @why. */
struct exec_sandbox *access_widen(const struct exec_sandbox *sandbox,
				  const struct access_list *list, struct err *why);

/* "write /a/b", "https://a.test:443", for keys and people: returned owned. */
char *access_text(const struct orchestrator_access *access);
/* "allow https://a.test:443", a line of the policy: returned owned. NULL: it cannot be one. */
char *access_line(const struct orchestrator_access *access, bool is_denial);
