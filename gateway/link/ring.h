/* ring: a file of frames that a worker writes in place of sending them, because nobody waits for an
 * answer. A frame is in the file before the worker goes on, and the file outlives both processes:
 * what is left of it is read with the log of the dead run. Both see the same pages, the worker
 * through a mapping, the gateway with pread() and pwrite(), which a worker that shortens the file
 * cannot make it fall over. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/frame.h"

#define RING_BYTES     (256U << 10) /* of frames that the gateway has not recorded yet */
#define RING_ENTRY_MAX 4096         /* a longer frame is sent over the link */

/* The gateway's end. */
struct ring;
/* Makes DIR/NAME, locked while either end has it. Returned owned, with the worker's descriptor in
 * @ret_fd, owned, too. NULL: the file system has no room, or mappings of it are not coherent. */
struct ring *ring_new(const char *dir, const char *name, int *ret_fd);
/* Frees it; @is_over: removes the file, too. */
void ring_free(struct ring *ring, bool is_over);
/* The number by which the worker may decide, once it has heard the same one; 0: by none. When it is
 * lowered, what the worker has let go before can be read. -EIO: the file cannot be written, and has
 * the old one.
 */
int ring_set(struct ring *ring, uint64_t number);
/* Calls @each with the next frames, until it returns another value than 0. 0, its value, or
 * -EBADMSG: the worker has written something else. */
typedef int (*ring_frame_fn)(struct frame *frame, int64_t wall_us, void *arg);
int ring_read(struct ring *ring, ring_frame_fn each, void *arg);
/* The records of everything that was read are kept: its room is free. */
void ring_keep(struct ring *ring);

/* Opens the ring at @path, which a run that was killed has left; @ret is owned. 0, or -EBUSY: it is
 * in use; -ENOENT: it is gone; another -errno: it cannot be read, and stays. */
int ring_open_left(const char *path, struct ring **ret);

/* The worker's end. */
struct ring_writer;
/* Takes @fd. Returned owned; NULL: it cannot be mapped. */
struct ring_writer *ring_writer_new(int fd);
void ring_writer_free(struct ring_writer *writer);
/* False: it has no room, or the frame is too long. @wall_us: since 1970. */
bool ring_write(struct ring_writer *writer, const struct frame *frame, int64_t wall_us);
/* The number that the gateway allows now. What was written before the call is seen by a gateway
 * that changes it afterwards. */
uint64_t ring_allowed(const struct ring_writer *writer);
bool ring_is_half_full(const struct ring_writer *writer);
