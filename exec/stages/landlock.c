#include "exec/init/init.h"
#include "exec/init/sys.h"
#include "exec/stages/path.h"
#include "exec/stages/stages.h"

#include <errno.h>
#include <linux/landlock.h>
#include <stdbool.h>
#include <sys/stat.h>

/* The mounts keep the command from writing by path. But an inherited descriptor refers to the
 * host's writable mount, and /proc/self/fd/0 opens it again with any mode, so its open mode is no
 * protection. Landlock is, because its rules apply to directories and not to mounts. Reading is not
 * restricted: the mounts hide what is hidden, and directories are refused on 0–2. Before ABI 3
 * (Linux 6.2) one way stays open: truncate(2) by such a path. */

#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif

/* The kernel's landlock_ruleset_attr; older headers have only its first fields. */
struct rules_head {
	uint64_t files, network, scoped;
};
/* In the host's network namespace, only this protects the host's abstract sockets; the same holds
 * for a descriptor that was created there. */
#define SCOPE_ABSTRACT 1U
#define ABI_SCOPES     6 /* Linux 6.12; before it they can be reached there */

static const uint64_t write_file = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE;
static const uint64_t write_tree = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE |
				   LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
				   LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |
				   LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
				   LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
				   LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER;

static uint64_t handled_by(long abi)
{
	uint64_t handled = write_tree;

	if (abi < 2)
		handled &=
			~LANDLOCK_ACCESS_FS_REFER; /* moves between directories are then refused */
	if (abi < 3)
		handled &= ~LANDLOCK_ACCESS_FS_TRUNCATE;
	return handled;
}

static int allow(long rules, const char *path, uint64_t access)
{
	int fd = path_open(path);

	if (fd < 0)
		return fd;
	struct landlock_path_beneath_attr rule = { .allowed_access = access, .parent_fd = fd };
	long r = path_is_directory(fd);

	if (r == 0)
		rule.allowed_access &= write_file; /* the other rights are for directories */
	if (r >= 0)
		r = sys(landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
	(void)sys(close, fd);
	return (int)r;
}

static int allow_mounts(struct init *init, long rules, uint64_t access)
{
	int r = 0;

	for (char **at = init->plan.lists[WIRE_MOUNTS]; *at && r == 0; at++) {
		char what = (*at)[0];

		if (what != WIRE_WRITE && what != WIRE_WRITE_NEW && what != WIRE_CACHE &&
		    what != WIRE_CACHE_NEW && what != WIRE_FRESH && what != WIRE_FRESH_TMP)
			continue;
		init->detail = *at + 1;
		r = allow(rules, *at + 1, access);
	}
	return r;
}

/* A file that the caller opened for writing as 1 or 2 can be written and truncated through the
 * descriptor anyway, so the command may open it again through /dev/stdout and /dev/stderr, as
 * shells do. A file opened for appending is excluded, because there every write goes to the end. */
static int allow_outputs(long rules, uint64_t access)
{
	for (int fd = 1; fd <= 2; fd++) {
		struct landlock_path_beneath_attr rule = { .allowed_access = access,
							   .parent_fd = fd };
		long flags = sys(fcntl, fd, F_GETFL);
		struct stat what;

		if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || sys(fstat, fd, &what) < 0 ||
		    !(S_ISCHR(what.st_mode) || (S_ISREG(what.st_mode) && !(flags & O_APPEND))))
			continue;
		long r = sys(landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);

		if (r < 0 && r != -EBADFD) /* on a file system without paths, which Landlock does
					      not restrict */
			return (int)r;
	}
	return 0;
}

static int allow_all(struct init *init, long rules, uint64_t handled)
{
	int r = allow_mounts(init, rules, handled);

	init->detail = "/dev";
	if (r == 0)
		r = allow(rules, "/dev", handled);
	/* Its dangerous parts are mounted read-only; a debugger writes /proc/PID/mem. */
	init->detail = "/proc";
	if (r == 0)
		r = allow(rules, "/proc", write_file & handled);
	if (r == 0)
		init->detail = "";
	if (r == 0)
		r = allow_outputs(rules, write_file & handled);
	return r;
}

int landlock_restrict(struct init *init)
{
	uint32_t flags = init->plan.head->flags;

	/* If everything may be written, protected files are refused on 0–2 instead. */
	if ((flags & WIRE_OPEN) != 0)
		return 0;
	long abi = sys(landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	if (abi < 0) /* this kernel has no Landlock: only the mounts protect */
		return flags & WIRE_HAS_FILES ? (int)abi : 0;

	uint64_t handled = handled_by(abi);
	struct rules_head head = { .files = handled };
	/* The size says which fields are used; newer fields are not handled. */
	long rules = sys(landlock_create_ruleset, &head, sizeof(head.files), 0);

	if (rules < 0)
		return (int)rules;
	int r = allow_all(init, rules, handled);

	if (r == 0)
		r = (int)sys(landlock_restrict_self, rules, 0);
	(void)sys(close, rules);
	return r;
}

int landlock_scope(struct init *init)
{
	/* Every ruleset that does not allow moves and links between directories denies them, even
	 * one about something else. */
	const struct rules_head head = { .files = LANDLOCK_ACCESS_FS_REFER,
					 .scoped = SCOPE_ABSTRACT };
	long abi = sys(landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	if (abi < ABI_SCOPES)
		return 0;
	long rules = sys(landlock_create_ruleset, &head, sizeof(head), 0);

	if (rules < 0)
		return (int)rules;
	long r = allow(rules, "/", LANDLOCK_ACCESS_FS_REFER);

	if (r == 0)
		r = sys(landlock_restrict_self, rules, 0);
	(void)sys(close, rules);
	init->is_scoped = r == 0;
	return (int)r;
}
