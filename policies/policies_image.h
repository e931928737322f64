/* policies_image: a policy as one flat, sealed block of memory, for a process that decides
 * elsewhere. docs/decisions/0012 describes its contents and checks. */
#pragma once

#include "policies/policies.h"

/* Moves @policy into a memfd that no process can write, resize or unseal; returned owned,
 * close-on-exec. @policy then reads the image: it decides as before, and nothing more can be
 * loaded into it. The memory is moved piece by piece, so that only one copy exists: after an
 * error @policy denies everything. -EINVAL: policy_finish() has not succeeded; @policy is
 * unchanged. */
int policy_image_make(struct policy *policy, struct err *why);

/* A policy, returned owned, that decides and lists from the image in @fd (borrowed; it may be
 * closed afterwards). Checks every offset, once. -EPERM: not sealed; -EBADMSG: not an image, or
 * damaged; -EPROTO: made by another version of this program. */
int policy_image_open(int fd, struct policy **ret, struct err *why);
