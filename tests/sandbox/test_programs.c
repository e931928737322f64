#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "tests/unit/exec/rig.h"

/* Programs inside are judged while another thread replaces them: a denied program never runs, an
 * allowed one does, and neither gate nor sandbox is left over. tests/hostile/racer.c. */

#define PROGRAM_MAX (16 << 20)
#define WAITING_MAX 512

/* Opened before the tests become another user, who may not enter the folder that it was built in.
 */
static int racer_fd;

static struct {
	struct rig rig;
	uint64_t evil;
	unsigned int asked, refused;
	bool is_slow;
	struct {
		uint64_t id;
		bool is_allowed;
	} waiting[WAITING_MAX];
	size_t waiting_count;
	struct loop_timer answering;
} t;

static void on_refused(const struct exec_evidence *evidence, void *arg)
{
	if (evidence->what == EXEC_REFUSED_PROGRAM)
		t.refused++;
}

static void answer_all(void *arg)
{
	/* A process that died since then does not exist any more, which the error shows. */
	for (size_t i = 0; i < t.waiting_count; i++)
		(void)exec_process_answer(t.rig.process, t.waiting[i].id, t.waiting[i].is_allowed);
	t.waiting_count = 0;
}

/* The command may end while a question is open; nothing is there to answer then. */
static void on_end(struct rig *rig)
{
	loop_timer_stop(&t.answering);
}

static void on_program(uint64_t id, const struct exec_program *program, const char *const *argv,
		       const char *cwd, void *arg)
{
	bool is_allowed = program->inode != t.evil &&
			  !(program->interpreter && program->interpreter->inode == t.evil);

	t.asked++;
	for (; *argv; argv++)
		is_allowed = is_allowed && strcmp(*argv, "evil") != 0;
	if (!t.is_slow) {
		ck_assert_int_eq(exec_process_answer(t.rig.process, id, is_allowed), 0);
		return;
	}
	ck_assert_uint_lt(t.waiting_count, WAITING_MAX);
	t.waiting[t.waiting_count].id = id;
	t.waiting[t.waiting_count++].is_allowed = is_allowed;
	if (!t.answering.is_armed)
		loop_timer_start(t.rig.loop, &t.answering, 2, answer_all, NULL);
}

static void put_copy(const char *name, const char *mark)
{
	auto_free char *to = mem_printf("%s/%s", t.rig.dir, name);
	auto_free char *text = NULL;
	size_t len = 0;
	auto_close int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	struct stat what;

	ck_assert_int_ge(out, 0);
	ck_assert_int_eq(lseek(racer_fd, 0, SEEK_SET), 0);
	ck_assert_int_eq(fd_read_all(racer_fd, PROGRAM_MAX, &text, &len, NULL), 0);
	ck_assert_int_eq(fd_write_all(out, text, len), 0);
	ck_assert_int_eq(fd_write_all(out, mark, strlen(mark)), 0);
	ck_assert_int_eq(fchmod(out, 0755), 0);
	ck_assert_int_eq(fstat(out, &what), 0);
	if (strcmp(mark, "EVIL") == 0)
		t.evil = what.st_ino;
}

static const struct {
	const char *name, *tries;
	bool is_slow, has_good, has_refused; /* both may happen, and some of it must */
} cases[] = {
	{ "path", "600", false, true, true },        { "word", "600", false, true, true },
	{ "pointer", "600", false, true, true },     { "link", "600", false, true, true },
	{ "rename", "600", false, true, true },      { "descriptor", "600", false, true, true },
	{ "folder", "600", false, true, true },      { "interpreter", "500", false, true, true },
	{ "script", "500", false, true, true },      { "path", "300", true, true, true },
	{ "word", "300", true, true, true },         { "link", "300", true, true, true },
	{ "kills", "400", false, false, false },     { "kills", "300", true, false, false },
	{ "crowd", "300", true, true, false },       { "threads", "300", false, true, false },
	{ "threads", "100", true, true, false },     { "signals", "300", false, true, false },
	{ "signals", "100", true, true, false },     { "debugger", "50", false, false, true },
	{ "memory-file", "50", false, false, true }, { "long", "5", false, false, true },
};

START_TEST(nothing_else_runs)
{
	const char *const argv[] = { "./racer", cases[_i / RIG_USERS].name,
				     cases[_i / RIG_USERS].tries, NULL };
	unsigned int good = 0, evil = 1, refused = 0, killed = 0, other = 1;

	memset(&t, 0, sizeof(t));
	rig_init(&t.rig, _i % RIG_USERS);
	t.is_slow = cases[_i / RIG_USERS].is_slow;
	t.rig.config.on_refused = on_refused;
	t.rig.config.on_program = on_program;
	t.rig.on_end = on_end;
	put_copy("racer", "");
	put_copy("good", "GOOD");
	put_copy("evil", "EVIL");
	ck_assert_msg(rig_start(&t.rig, argv), "%s", t.rig.text);
	rig_wait(&t.rig);
	ck_assert_msg(t.rig.result.end == EXEC_PROCESS_EXITED && t.rig.result.status == 0,
		      "%s: end %d, status %d, %s, %s", argv[1], t.rig.result.end,
		      t.rig.result.status, t.rig.result.why, t.rig.text);
	ck_assert_msg(sscanf(t.rig.text, "good %u evil %u refused %u killed %u other %u", &good,
			     &evil, &refused, &killed, &other) == 5,
		      "%s: %s", argv[1], t.rig.text);
	if (getenv("RACER_SAYS"))
		(void)dprintf(t.rig.saved[2], "%-12s slow %d: %s", argv[1], t.is_slow, t.rig.text);
	ck_assert_msg(evil == 0, "%s: %s", argv[1], t.rig.text);
	ck_assert_msg(!cases[_i / RIG_USERS].has_good || good > 0, "%s: %s", argv[1], t.rig.text);
	ck_assert_msg(!cases[_i / RIG_USERS].has_refused || refused > 0, "%s: %s", argv[1],
		      t.rig.text);
	rig_done(&t.rig);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("programs");
	TCase *tcase = tcase_create("races");
	SRunner *runner = srunner_create(suite);

	tcase_set_timeout(tcase, 300);
	const char *only = getenv("RACER_ONLY"); /* only one row, for debugging */
	int first = only ? (int)strtol(only, NULL, 10) : 0;
	const char *racer = getenv("RACER");

	racer_fd = racer ? open(racer, O_RDONLY | O_CLOEXEC) : -1;
	if (racer_fd < 0) {
		fprintf(stderr, "RACER says where the racer is\n");
		return EXIT_FAILURE;
	}

	tcase_add_loop_test(tcase, nothing_else_runs, first,
			    only ? first + 1 : (int)ARRAY_SIZE(cases) * RIG_USERS);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
