/* confine: the worker gives up files, programs, threads, listening, executable memory and being
 * traced, before it reads its first hostile byte. */
#pragma once

struct err;

/* Confines the calling process for good; every file that it needs must be open. Landlock is used as
 * far as the kernel supports it; any other failure is returned, and the caller must stop: 0 or
 * -errno. */
int confine_worker(struct err *why);
