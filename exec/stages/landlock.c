#include "exec/init/init.h"
#include "exec/init/sys.h"
#include "exec/stages/path.h"
#include "exec/stages/stages.h"

#include <errno.h>
#include <linux/landlock.h>
#include <stdbool.h>
#include <sys/stat.h>

/* The mounts keep the command from writing by path. A descriptor it inherited carries the host's
 * writable mount, and /proc/self/fd/0 opens it again with any mode: the open mode is no protection,
 * Landlock is, since its rules hang on directories and not on mounts. Reading is left alone: what
 * is hidden is hidden by the mounts, and directories are refused on 0–2. Not closed before ABI 3
 * (Linux 6.2): truncate(2) by such a path. */

#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif

/* The kernel's landlock_ruleset_attr, which older headers have only the beginning of. */
struct rules_head {
	uint64_t files, network, scoped;
};
/* In the host's network namespace its abstract sockets have no other wall, and a descriptor that
 * was made there takes that along. */
#define SCOPE_ABSTRACT 1U
#define ABI_SCOPES     6 /* Linux 6.12; before it they are open there */

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
		rule.allowed_access &= write_file; /* the rest is for what holds others */
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

		if (what != WIRE_WRITE && what != WIRE_WRITE_NEW && what != WIRE_FRESH &&
		    what != WIRE_FRESH_TMP)
			continue;
		init->detail = *at + 1;
		r = allow(rules, *at + 1, access);
	}
	return r;
}

/* What the caller gave to be written on 1 and 2 can be written and cut through the descriptor
 * anyway, so it may be opened again for that by /dev/stdout and /dev/stderr, as shells do. Not what
 * the caller appends to: there each write stands behind what is there. */
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

		if (r < 0 && r != -EBADFD) /* of a file system without paths: not restricted */
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
	/* Its dangerous parts are read-only mounts; a debugger writes /proc/PID/mem. */
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

	/* Where all may be written what is protected is refused on 0–2. */
	if ((flags & WIRE_OPEN) != 0)
		return 0;
	long abi = sys(landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	if (abi < 0) /* no Landlock in this kernel: the mounts stand alone */
		return flags & WIRE_HAS_FILES ? (int)abi : 0;

	uint64_t handled = handled_by(abi);
	struct rules_head head = { .files = handled };
	/* The size says which fields we know; more recent ones are not ours to handle. */
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
	/* Moves and links between directories are denied by every set of rules that does not allow
	 * them, also by one about something else. */
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
