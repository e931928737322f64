/* confine: what the worker gives up before it reads its first hostile byte: files, programs,
 * threads, listening, executable memory, being looked into. */
#pragma once

struct err;

/* For the calling process, for good; every file it will need is open by now. Landlock is taken as
 * far as the kernel has it; anything else that fails is returned, and the caller must not go on: 0
 * or -errno. */
int confine_worker(struct err *why);
