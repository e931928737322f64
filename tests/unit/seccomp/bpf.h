/* bpf: runs a system call filter on made-up calls, so that a test sees what it answers for any
 * number, ABI and argument without making the call. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct sock_filter;

struct bpf_call {
	uint32_t arch; /* AUDIT_ARCH_… */
	uint32_t number;
	uint64_t args[6];
};

/* The filter's SECCOMP_RET_… value; ends the program on an instruction a filter of ours must not
 * have. */
uint32_t bpf_run(const struct sock_filter *code, size_t count, const struct bpf_call *call);
