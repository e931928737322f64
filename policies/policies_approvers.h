/* policies_approvers: who may answer other users' questions by a signed file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct policy;

/* An approver's key: the @index-th, or false. An approver with several keys is listed once for
 * each. */
#define POLICY_APPROVER_NAME_MAX 32
struct policy_approver {
	char name[POLICY_APPROVER_NAME_MAX];
	uint8_t key[32]; /* Ed25519; a key has one name */
};
bool policy_get_approver(const struct policy *policy, size_t index, struct policy_approver *ret);
/* How many approvers with different names must agree before anything is allowed; at least 1. */
unsigned int policy_get_approvers_needed(const struct policy *policy);
