/* probe: the functions of the table in probe.c, one for each way. Each returns -errno if the
 * way is closed, PROBE_SKIP(reason) if it was not tried, and else anything not negative. */
#pragma once

#include "exec/probe/probe.h"

#define PROBE_OPEN       0L
#define PROBE_SKIP_FROM  (-5000L)
#define PROBE_SKIP(why)  (PROBE_SKIP_FROM - (long)(why))
#define PROBE_PATHS_MAX  4    /* of one kind that are tried */
#define PROBE_WAIT_MS    2000 /* for an answer that comes at once unless the machine is overloaded */
#define PROBE_NUMBER_MAX 24   /* digits, and the NUL */

typedef long (*probe_fn)(const struct probe_setting *setting);

/* The text of the first bait of this kind (enum wire_bait), or NULL. */
const char *probe_bait(const struct probe_setting *setting, char kind);
long probe_number(const char *digits);
/* Copies @before, @number in decimal, and @after to @out of @size bytes, cut. */
void probe_name(char *out, unsigned long size, const char *before, long number, const char *after);
/* Closes what a call returned that must not work, and returns its result. */
long probe_close(long fd);
/* PROBE_OPEN, unless @result is @error or @other. */
long probe_refused(long result, long error, long other);

long probe_network_tcp(const struct probe_setting *setting);
long probe_network_tcp6(const struct probe_setting *setting);
long probe_network_route(const struct probe_setting *setting);
long probe_network_route6(const struct probe_setting *setting);
long probe_network_metadata(const struct probe_setting *setting);
long probe_network_udp(const struct probe_setting *setting);
long probe_network_udp6(const struct probe_setting *setting);
long probe_network_icmp(const struct probe_setting *setting);
long probe_network_raw(const struct probe_setting *setting);
long probe_network_raw6(const struct probe_setting *setting);
long probe_network_packet(const struct probe_setting *setting);
long probe_network_vsock(const struct probe_setting *setting);
long probe_network_netlink(const struct probe_setting *setting);
long probe_network_interfaces(const struct probe_setting *setting);
long probe_files_abstract(const struct probe_setting *setting);
long probe_files_unix(const struct probe_setting *setting);
long probe_files_control(const struct probe_setting *setting);
long probe_kernel_io_uring(const struct probe_setting *setting);
long probe_kernel_signals(const struct probe_setting *setting);
long probe_kernel_processes(const struct probe_setting *setting);
long probe_kernel_init(const struct probe_setting *setting);
long probe_kernel_descriptors(const struct probe_setting *setting);
long probe_kernel_namespaces(const struct probe_setting *setting);
long probe_kernel_keyrings(const struct probe_setting *setting);
long probe_kernel_perf(const struct probe_setting *setting);
long probe_kernel_bpf(const struct probe_setting *setting);
long probe_kernel_userfaultfd(const struct probe_setting *setting);
long probe_kernel_mounts(const struct probe_setting *setting);
long probe_kernel_set_user_id(const struct probe_setting *setting);
long probe_kernel_terminal(const struct probe_setting *setting);
long probe_files_settings(const struct probe_setting *setting);
long probe_files_outside(const struct probe_setting *setting);
long probe_files_protected(const struct probe_setting *setting);
long probe_files_hidden(const struct probe_setting *setting);
