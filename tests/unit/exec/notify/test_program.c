#include "tests/unit/exec/test_exec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/unit/exec/rig.h"

/* Exactly the file that was decided on is executed. */

static const char script_text[] = "#!/bin/sh\necho \"ran $0 $*\"\n";
static const char other_text[] = "#!/bin/sh\necho other\n";

static void make_program(struct rig *rig, const char *name, const char *text)
{
	auto_free char *path = mem_printf("%s/%s", rig->dir, name);

	rig_make(rig, name, text);
	ck_assert_int_eq(chmod(path, 0755), 0);
}

/* Decides on what is at @path now, which the rig keeps. */
static void decide_on(struct rig *rig, const char *path)
{
	struct stat what;

	ck_assert_int_eq(stat(path, &what), 0);
	rig->config.program = (struct exec_program){ path, what.st_dev, what.st_ino };
}

static const struct {
	const char *program, *name; /* what is decided on, argv[0] */
	const char *want;
} programs[] = {
	{ "/usr/bin/printf", "printf", "a b" },
	{ "/usr/bin/printf", "anything", "a b" }, /* argv[0] is only a name then */
	{ "/bin/sh", "sh", "sh: " },              /* by a link, perhaps */
	{ "%/script", "script", "ran %/script a b\n" },
	{ "%/script", "%/script", "ran %/script a b\n" },
	{ "%/link", "link", "ran %/link a b\n" },
};

static char *fill_in(const struct rig *rig, const char *text)
{
	return text[0] == '%' ? mem_printf("%s%s", rig->dir, text + 1) : mem_strdup(text);
}

START_TEST(runs_what_was_decided_on)
{
	int at = _i / RIG_USERS;
	struct rig rig;

	rig_init(&rig, _i % RIG_USERS);
	make_program(&rig, "script", script_text);
	auto_free char *link = mem_printf("%s/link", rig.dir);

	ck_assert_int_eq(symlink("script", link), 0);
	auto_free char *program = fill_in(&rig, programs[at].program);
	auto_free char *name = fill_in(&rig, programs[at].name);

	decide_on(&rig, program);
	ck_assert(rig_start(&rig, (const char *const[]){ name, "a b", NULL }));
	rig_wait(&rig);
	const char *at_dir = strchr(programs[at].want, '%');
	auto_free char *want = at_dir ? mem_printf("%.*s%s%s", (int)(at_dir - programs[at].want),
						   programs[at].want, rig.dir, at_dir + 1)
				      : mem_strdup(programs[at].want);

	ck_assert_msg(strncmp(rig.text, want, strlen(want)) == 0, "%s: %s, %s", want, rig.text,
		      rig.result.why);
	rig_done(&rig);
}
END_TEST

/* The name a multi-call program goes by stays what it was called. */
START_TEST(keeps_its_first_argument)
{
	struct rig rig;

	rig_init(&rig, _i);
	decide_on(&rig, "/bin/bash");
	ck_assert(rig_start(&rig, (const char *const[]){ "other-name", "-c", "echo $0", NULL }));
	rig_wait(&rig);
	ck_assert_str_eq(rig.text, "other-name\n");
	rig_done(&rig);
}
END_TEST

/* Between the decision and the start, from outside. */
static void swap_by_rename(struct rig *rig)
{
	auto_free char *other = mem_printf("%s/other", rig->dir);
	auto_free char *program = mem_printf("%s/program", rig->dir);

	ck_assert_int_eq(rename(other, program), 0);
}

static void remove_it(struct rig *rig)
{
	auto_free char *program = mem_printf("%s/program", rig->dir);

	ck_assert_int_eq(unlink(program), 0);
}

static void turn_link(struct rig *rig)
{
	auto_free char *program = mem_printf("%s/program", rig->dir);

	remove_it(rig);
	ck_assert_int_eq(symlink("other", program), 0);
}

static void change_in_path(struct rig *rig)
{
	make_program(rig, "first/program", other_text);
}

static const struct {
	void (*change)(struct rig *rig);
	bool is_binary;
	int status;
	const char *says;
} changes[] = {
	{ swap_by_rename, false, 126, "the file was replaced after the decision" },
	{ swap_by_rename, true, 126, "the file was replaced after the decision" },
	{ turn_link, false, 126, "the file was replaced after the decision" },
	{ remove_it, false, 127, "not found" },
	{ change_in_path, false, 0, NULL }, /* PATH is not asked again */
};

START_TEST(runs_nothing_that_was_put_in_its_place)
{
	int at = _i / RIG_USERS;
	struct rig rig;

	rig_init(&rig, _i % RIG_USERS);
	make_program(&rig, "other", other_text);
	make_program(&rig, "program", script_text);
	rig_make(&rig, "first", NULL);
	auto_free char *program = mem_printf("%s/program", rig.dir);
	auto_free char *path = mem_printf("PATH=%s/first:%s:/usr/bin:/bin", rig.dir, rig.dir);

	if (changes[at].is_binary) {
		auto_free char *copy = mem_printf("cp /bin/true %s", program);

		ck_assert_int_eq(system(copy), 0);
	}
	decide_on(&rig, program);
	rig.config.env_set = (const char *const[]){ path, NULL };
	rig.on_ready = changes[at].change;
	ck_assert(rig_start(&rig, (const char *const[]){ "program", NULL }));
	rig_wait(&rig);
	ck_assert_int_eq(rig.result.status, changes[at].status);
	ck_assert_ptr_null(strstr(rig.text, "other"));
	if (changes[at].says) {
		ck_assert_int_eq(rig.result.end, EXEC_PROCESS_NOT_STARTED);
		ck_assert_msg(strstr(rig.result.why, changes[at].says), "%s", rig.result.why);
	}
	rig_done(&rig);
}
END_TEST

/* What is somewhere else inside: nothing is there, or another file. */
START_TEST(looks_inside)
{
	char dir[] = "/tmp/sallyport-test-XXXXXX";
	struct rig rig;

	rig_init(&rig, _i);
	ck_assert_ptr_nonnull(mkdtemp(dir));
	auto_free char *program = mem_printf("%s/program", dir);
	auto_free char *copy = mem_printf("cp /bin/true %s", program);

	ck_assert_int_eq(system(copy), 0);
	decide_on(&rig, program);
	ck_assert(rig_start(&rig, (const char *const[]){ "program", NULL }));
	rig_wait(&rig);
	ck_assert_int_eq(rig.result.status, 127); /* its /tmp is empty */
	ck_assert_int_eq(unlink(program) | rmdir(dir), 0);
	rig_done(&rig);
}
END_TEST

START_TEST(a_program_is_absolute)
{
	struct rig rig;

	rig_init(&rig, 0);
	rig.config.program = (struct exec_program){ .path = "sh" };
	ck_assert(!rig_start(&rig, (const char *const[]){ "sh", NULL }));
	ck_assert_msg(strstr(rig.text, "is not an absolute path"), "%s", rig.text);
	rig_done(&rig);
}
END_TEST

TCase *test_program(void)
{
	TCase *tcase = tcase_create("program");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, runs_what_was_decided_on, 0,
			    (int)ARRAY_SIZE(programs) * RIG_USERS);
	tcase_add_loop_test(tcase, keeps_its_first_argument, 0, RIG_USERS);
	tcase_add_loop_test(tcase, runs_nothing_that_was_put_in_its_place, 0,
			    (int)ARRAY_SIZE(changes) * RIG_USERS);
	tcase_add_loop_test(tcase, looks_inside, 0, RIG_USERS);
	tcase_add_test(tcase, a_program_is_absolute);
	return tcase;
}
