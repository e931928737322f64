/* disk: tells the loop when what was written to files is on the disk. The kernel does the work
 * aside (io_submit(2)), so nothing waits for it here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct disk;
struct err;
struct loop;

#define DISK_FILES_MAX 4 /* of one request */

/* Runs once, from the loop: 0, or the -errno of the first file that failed. */
typedef void (*disk_done_fn)(int result, void *arg);

/* One request, in its owner, who frees the disk first. Zeroed means idle. */
struct disk_request {
	disk_done_fn done;
	void *arg;
	size_t left; /* files; 0: idle */
	int result;
};

/* Keeps @loop. Returned owned, or NULL with @why: the kernel cannot do it. */
struct disk *disk_new(struct loop *loop, struct err *why);
/* Waits for the requests that are under way, whose @done does not run any more. NULL is fine. */
void disk_free(struct disk *disk);
/* Asks for the data of @fds (borrowed) that was written so far. 0, or -errno: @done does not
 * run. */
int disk_begin(struct disk *disk, struct disk_request *request, const int *fds, size_t count,
	       disk_done_fn done, void *arg);
