#include "tests/unit/seccomp/bpf.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool is_jump(const struct sock_filter *at, uint32_t value)
{
	switch (at->code) {
	case BPF_JMP | BPF_JEQ | BPF_K:
		return value == at->k;
	case BPF_JMP | BPF_JGT | BPF_K:
		return value > at->k;
	case BPF_JMP | BPF_JGE | BPF_K:
		return value >= at->k;
	case BPF_JMP | BPF_JSET | BPF_K:
		return (value & at->k) != 0;
	default:
		abort();
	}
}

uint32_t bpf_run(const struct sock_filter *code, size_t count, const struct bpf_call *call)
{
	struct seccomp_data data = { .nr = (int)call->number, .arch = call->arch };
	uint32_t value = 0;

	memcpy(data.args, call->args, sizeof(data.args));
	for (size_t i = 0; i < count; i++) {
		const struct sock_filter *at = &code[i];
		if (at->code == (BPF_RET | BPF_K))
			return at->k;
		if (at->code == (BPF_LD | BPF_W | BPF_ABS)) {
			if (at->k > sizeof(data) - sizeof(value))
				abort();
			memcpy(&value, (const char *)&data + at->k, sizeof(value));
		} else if (at->code == (BPF_JMP | BPF_JA)) {
			i += at->k;
		} else {
			i += is_jump(at, value) ? at->jt : at->jf;
		}
	}
	abort(); /* fell off the end: the kernel would not have taken it */
}
