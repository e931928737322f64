#include "exec/init/sys.h"
#include "exec/stages/stages.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>

#include "seccomp_command.h"

int filter_load(void)
{
	struct sock_fprog program = {
		.len = (unsigned short)seccomp_command_len,
		.filter = (struct sock_filter *)(uintptr_t)seccomp_command,
	};

	return (int)sys(seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}
