#include "exec/init/sys.h"
#include "exec/stages/stages.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/prctl.h>
#include <linux/securebits.h>
#include <stdint.h>

/* The kernel's capability numbers are contiguous; the first unknown one ends the loop. */
#define CAPS_MAX 64

int caps_have(uint64_t used, uint64_t kept)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct left[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		left[i].effective = (uint32_t)(used >> 32 * i);
		left[i].permitted = (uint32_t)(kept >> 32 * i);
	}
	return (int)sys(capset, &head, left);
}

int caps_drop(uint64_t kept)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct left[_LINUX_CAPABILITY_U32S_3] = { { 0 } };
	long r = 0;

	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		left[i].effective = left[i].permitted = (uint32_t)(kept >> 32 * i);
	/* The order matters: the first three need CAP_SETPCAP, which capset() removes. */
	for (int cap = 0; cap < CAPS_MAX && r == 0; cap++)
		r = sys(prctl, PR_CAPBSET_DROP, cap, 0, 0, 0);
	if (r < 0 && r != -EINVAL)
		return (int)r;
	r = sys(prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (r == 0)
		r = sys(prctl, PR_SET_SECUREBITS,
			SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
				SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
				SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED | SECBIT_KEEP_CAPS_LOCKED,
			0, 0, 0);
	if (r == 0)
		r = sys(capset, &head, left);
	if (r == 0)
		r = sys(prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	/* The command has our ids: this keeps it from reading init's memory and from attaching to
	 * it. */
	if (r == 0)
		r = sys(prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
	return (int)r;
}
