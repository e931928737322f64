#include "exec/init/init.h"
#include "exec/init/sys.h"
#include "exec/init/wall.h"
#include "exec/stages/stages.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>

#include "seccomp/seccomp_calls.h"
#include "seccomp_command.h"
#include "seccomp_told.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

/* Once the wall has read a call, only a fatal signal interrupts it: any other signal would have the
 * call made and reported again. Linux 5.19; on older kernels that does happen. */
static int load(const struct sock_filter *code, size_t len)
{
	const struct sock_fprog program = {
		.len = (unsigned short)len,
		.filter = (struct sock_filter *)(uintptr_t)code,
	};
	long fd = sys(seccomp, SECCOMP_SET_MODE_FILTER,
		      SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
		      &program);

	if (fd == -EINVAL)
		fd = sys(seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			 &program);
	return (int)fd;
}

/* One filter serves all flags: a call that does not have to be reported gets the answer that it has
 * in the other filter, an error or permission. */
static uint32_t answer_of(uint32_t answer, uint32_t flags)
{
	static const uint32_t wish[] = {
		[SECCOMP_TOLD_DENIAL] = WIRE_TELL_REFUSED,
		[SECCOMP_TOLD_CHANGE] = WIRE_TELL_REFUSED,
		[SECCOMP_TOLD_MAKE] = WIRE_TELL_REFUSED | WIRE_TELL_BRIEF | WIRE_KEEPS_ABSENT,
		[SECCOMP_TOLD_READ] = WIRE_TELL_READS,
		[SECCOMP_TOLD_PROGRAM] = WIRE_TELL_PROGRAMS,
		[SECCOMP_TOLD_END] = WIRE_TELL_REFUSED,
	};
	uint32_t told = (answer & SECCOMP_RET_DATA) >> SECCOMP_TOLD_SHIFT;
	uint32_t error = answer & SECCOMP_TOLD_ERRNO;

	if ((answer & SECCOMP_RET_ACTION_FULL) != SECCOMP_RET_USER_NOTIF ||
	    told == SECCOMP_TOLD_ADDRESS || (flags & wish[told]) != 0)
		return answer;
	return error == 0 ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | error;
}

static int load_told(uint32_t flags)
{
	struct sock_filter code[seccomp_told_len];

	for (size_t i = 0; i < seccomp_told_len; i++) {
		code[i] = seccomp_told[i];
		if (code[i].code == (BPF_RET | BPF_K))
			code[i].k = answer_of(code[i].k, flags);
	}
	return load(code, seccomp_told_len);
}

int filter_load(struct init *init)
{
	uint32_t flags = init->plan.head->flags;
	int fd = (flags & (WIRE_TELLS | WIRE_KEEPS_ABSENT)) == 0
			 ? load(seccomp_command, seccomp_command_len)
			 : load_told(flags);

	if (fd < 0)
		return fd;
	wall_hand_over(init, fd);
	return 0;
}
