/* notify_process: the process next to the gate that inspects a command's calls. It reads the
 * command's memory and opens the paths in it. Either may take as long as the command or a file
 * system wants, so the gate's loop does neither. It protects nothing by itself: it refuses what the
 * filter refuses anyway, and leaves the rest to the kernel, its mounts and Landlock. */
#pragma once

#include <stdbool.h>

struct notify_shared;
struct plan;

struct notify_process_config {
	const struct plan *plan;
	struct notify_shared *shared;
	bool tells_refused, judges_programs;
};

/* For helper_start(): @arg is a struct notify_process_config. Runs until the gate is gone. */
int notify_process_run(int socket, void *arg);
