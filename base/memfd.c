#include "base/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "base/err.h"
#include "base/fd.h"

/* Linux 6.3 wants one of these flags; older kernels do not know them. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

int memfd_sealed(const char *name, enum memfd_use use, const void *bytes, size_t len,
		 struct err *why)
{
	unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	auto_close int fd =
		memfd_create(name, flags | (use == MEMFD_PROGRAM ? MFD_EXEC : MFD_NOEXEC_SEAL));

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, flags);
	if (fd < 0 && errno == EACCES)
		return err_set(why, -EACCES,
			       "the kernel forbids executable memory files (vm.memfd_noexec=2), "
			       "and the sandbox's first process runs from one; allow it with: "
			       "sysctl vm.memfd_noexec=1");
	if (fd < 0)
		return err_errno(why, errno, "cannot make a memory file");
	int r = fd_write_all(fd, bytes, len);

	if (r < 0)
		return err_errno(why, -r, "cannot fill a memory file");
	if (fcntl(fd, F_ADD_SEALS, SEALS) < 0)
		return err_errno(why, errno, "cannot seal a memory file");
	return fd_take(&fd);
}
