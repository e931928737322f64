/* resume: taking up the chain of an audit log that exists. */
#pragma once

#include <sys/types.h>

#include "gateway/sinks/chain.h"

/* The first time: the head's record is read and hashed, and so is what stands behind it; half a
 * line behind the head is cut off. Under the lock. 0 and @ret is where the chain stands, or
 * -EBADMSG with words. */
int resume_first(int fd, int head_fd, off_t size, struct chain *ret, struct err *why);
/* Later: another process has appended since @chain, and its head is believed as far as it goes. */
int resume_again(int fd, int head_fd, off_t size, struct chain *chain, struct err *why);
