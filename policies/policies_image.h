/* policies_image: a policy as one flat, sealed piece of memory, for whoever decides in another
 * process. docs/decisions/0012 says what is in it and what is checked. */
#pragma once

#include "policies/policies.h"

/* Moves @policy into a memfd that nobody can write, resize or unseal, and returns it, owned and
 * close-on-exec. From then on @policy reads the image too: it decides as before, and nothing can be
 * loaded into it. Piece by piece, so that there are never two of them: after an error @policy only
 * denies. Before policy_finish(), or with problems: -EINVAL, and nothing has changed. */
int policy_image_make(struct policy *policy, struct err *why);

/* A policy, returned owned, that decides, looks and lists from the image in @fd (borrowed, and no
 * longer needed). Every offset is checked here, once. -EPERM: not sealed; -EBADMSG: not an image,
 * or damaged; -EPROTO: of another version of this program. */
int policy_image_open(int fd, struct policy **ret, struct err *why);
