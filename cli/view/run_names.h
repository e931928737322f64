/* run_names: tells the workers when the host's resolv.conf or hosts file has changed. */
#pragma once

#include <stdint.h>

struct gateway;
struct loop;
struct run_names;

/* Keeps @loop, @gateway, and @writable, the folders that the command may write (NULL-terminated): a
 * changed file in one of them counts from the next run on. @since_us: the latest time at which the
 * workers read the files. Returned owned. */
struct run_names *run_names_new(struct loop *loop, struct gateway *gateway, char *const *writable,
				int64_t since_us);
/* Commands may write more now. */
void run_names_set_writable(struct run_names *names, char *const *writable);
void run_names_free(struct run_names *names);
