#include "tests/unit/exec/test_exec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "tests/unit/exec/rig.h"

/* What was refused to a command, from what refused it. */

#define TOLD_MAX 300

static struct {
	enum exec_refused what;
	int error;
	char call[32], path[512];
} told[TOLD_MAX];
static size_t told_count;

static void on_refused(const struct exec_evidence *evidence, void *arg)
{
	ck_assert_uint_lt(told_count, TOLD_MAX);
	ck_assert_int_gt(evidence->pid, 0);
	told[told_count].what = evidence->what;
	told[told_count].error = evidence->error;
	(void)snprintf(told[told_count].call, sizeof(told[0].call), "%s", evidence->call);
	(void)snprintf(told[told_count].path, sizeof(told[0].path), "%s", evidence->path);
	told_count++;
}

static void init(struct rig *rig, int user)
{
	rig_init(rig, user);
	told_count = 0;
	rig->config.on_refused = on_refused;
}

static const char *all_told(void)
{
	static char text[4096];
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < told_count && len < sizeof(text) - 600; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%d %d %s %s; ",
					(int)told[i].what, told[i].error, told[i].call,
					told[i].path);
	return text;
}

/* What is tried, where OUT is a directory that is not the command's, KEPT one that stays read-only
 * in its own, and HIDDEN one that it may not see. */
static const struct {
	const char *script;
	enum exec_refused what;
	int error;
	const char *call, *path; /* behind OUT, KEPT or HIDDEN, which is its first word */
} refusals[] = {
	{ ": >$OUT/new", EXEC_REFUSED_WRITE, EROFS, "openat", "OUT/new" },
	{ ": >>$OUT/there", EXEC_REFUSED_WRITE, EROFS, "openat", "OUT/there" },
	{ "cd $OUT; : >new", EXEC_REFUSED_WRITE, EROFS, "openat", "OUT/new" },
	{ "cd $OUT/sub; : >../new", EXEC_REFUSED_WRITE, EROFS, "openat", "OUT/new" },
	{ "ln -s $OUT link; : >link/new", EXEC_REFUSED_WRITE, EROFS, "openat", "OUT/new" },
	{ "ln -s $OUT/there link; : >link", EXEC_REFUSED_WRITE, EROFS, "openat", "OUT/there" },
	{ "mkdir $OUT/new", EXEC_REFUSED_WRITE, EROFS, "mkdir", "OUT/new" },
	{ "mkdir -p $OUT/new/deep", EXEC_REFUSED_WRITE, EROFS, "mkdir", "OUT/new" },
	{ "rm $OUT/there", EXEC_REFUSED_WRITE, EROFS, "unlinkat", "OUT/there" },
	{ "rmdir $OUT/sub", EXEC_REFUSED_WRITE, EROFS, "rmdir", "OUT/sub" },
	{ "mv $OUT/there .", EXEC_REFUSED_WRITE, EROFS, "renameat2", "OUT/there" },
	{ "ln -s x $OUT/new", EXEC_REFUSED_WRITE, EROFS, "symlinkat", "OUT/new" },
	{ "chmod 600 $OUT/there", EXEC_REFUSED_WRITE, EROFS, "fchmodat", "OUT/there" },
	{ "touch -d 2001-01-01 $OUT/there", EXEC_REFUSED_WRITE, EROFS, "openat", "OUT/there" },
	{ "mkfifo $OUT/new", EXEC_REFUSED_WRITE, EROFS, "mknodat", "OUT/new" },
	{ ": >$KEPT/new", EXEC_REFUSED_WRITE, EROFS, "openat", "KEPT/new" },
	{ "rm $KEPT/there", EXEC_REFUSED_WRITE, EROFS, "unlinkat", "KEPT/there" },
	{ ": >$HIDDEN/there", EXEC_REFUSED_WRITE, EACCES, "openat", "HIDDEN/there" },
	{ "cat $HIDDEN/there", EXEC_REFUSED_READ, EACCES, "openat", "HIDDEN/there" },
	{ "cd kept/..; cat hidden/there", EXEC_REFUSED_READ, EACCES, "openat", "HIDDEN/there" },
};

static void fill(struct rig *rig, char *kept, char *hidden)
{
	auto_free char *there = mem_printf("%s/there", rig->outside);
	auto_free char *sub = mem_printf("%s/sub", rig->outside);
	auto_close int fd = open(there, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(mkdir(sub, 0755), 0);
	rig_make(rig, "kept/there", "x");
	rig_make(rig, "hidden/there", "x");
	(void)snprintf(kept, 128, "%s/kept", rig->dir);
	(void)snprintf(hidden, 128, "%s/hidden", rig->dir);
}

START_TEST(refusal_is_told)
{
	size_t row = (size_t)_i / RIG_USERS;
	char kept[128], hidden[128], want[256];
	const char *const kept_list[] = { kept, NULL }, *const hidden_list[] = { hidden, NULL };
	const char *rest = strchr(refusals[row].path, '/');
	struct rig rig;

	init(&rig, _i % RIG_USERS);
	fill(&rig, kept, hidden);
	rig.config.read_only = kept_list;
	rig.config.hidden = hidden_list;
	rig.config.tells_reads = true;
	auto_free char *script = mem_printf("exec 2>&1; OUT=%s KEPT=%s HIDDEN=%s; %s || exit 1",
					    rig.outside, kept, hidden, refusals[row].script);
	const char *text = rig_sh(&rig, script);

	ck_assert_msg(rig.result.status != 0, "%s worked: %s", script, text);
	(void)snprintf(want, sizeof(want), "%s%s",
		       refusals[row].path[0] == 'O'   ? rig.outside
		       : refusals[row].path[0] == 'K' ? kept
						      : hidden,
		       rest);
	ck_assert_msg(told_count == 1, "%s: %zu told: %s", script, told_count, all_told());
	ck_assert_msg(told[0].what == refusals[row].what && told[0].error == refusals[row].error &&
			      strcmp(told[0].path, want) == 0,
		      "%s: %s, not %s", script, all_told(), want);
	ck_assert_msg(strcmp(told[0].call, refusals[row].call) == 0, "%s: %s", script, all_told());
	ck_assert_uint_ge(rig.result.refused, 1);
	rig_done(&rig);
}
END_TEST

/* Nothing of this was refused by the sandbox, whatever it says. */
static const char *const innocent[] = {
	"echo Permission denied; echo Operation not permitted >&2; exit 1",
	"true",
	"echo x >f; mkdir -p d/e; mv f d; ln -s d l; chmod 600 d/f; touch d/f; rm -r d l",
	"echo x >/tmp/f; rm /tmp/f; echo x >/dev/null; : >/dev/shm/x",
	"mkdir -p $PWD/a/b/c",
	"cat /etc/passwd /proc/self/status",
	"cat /nowhere/at/all",
	"echo x >/nowhere/at/all",
	"rm -f /usr/nowhere /etc/nowhere",
	"mkdir /usr /etc",
	"ls /root/x",
	"head -c1 /dev/zero; echo x >/dev/full",
	"exec 3<>/dev/null; echo x >&3",
};

START_TEST(nothing_is_made_up)
{
	const char *script = innocent[_i / RIG_USERS];
	struct rig rig;

	init(&rig, _i % RIG_USERS);
	rig.config.tells_reads = true;
	(void)rig_sh(&rig, script);
	ck_assert_msg(told_count == 0, "%s: %s", script, all_told());
	ck_assert_uint_eq(rig.result.refused, 0);
	rig_done(&rig);
}
END_TEST

TCase *test_notify(void)
{
	TCase *tcase = tcase_create("notify");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, refusal_is_told, 0, (int)ARRAY_SIZE(refusals) * RIG_USERS);
	tcase_add_loop_test(tcase, nothing_is_made_up, 0, (int)ARRAY_SIZE(innocent) * RIG_USERS);
	return tcase;
}
