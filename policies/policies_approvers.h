/* policies_approvers: who may answer the questions of others by a file that they have signed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct policy;

/* Who may answer by a signed file, one for each of their keys: the @index-th, or false. */
#define POLICY_APPROVER_NAME_MAX 32
struct policy_approver {
	char name[POLICY_APPROVER_NAME_MAX];
	uint8_t key[32]; /* Ed25519; a key has one name */
};
bool policy_get_approver(const struct policy *policy, size_t index, struct policy_approver *ret);
/* How many of different names have to agree before anything is allowed so; at least 1. */
unsigned int policy_get_approvers_needed(const struct policy *policy);
