#include "tests/unit/exec/test_exec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "exec/sandbox/plan.h"
#include "exec/notify/program_file.h"

/* The kernel looks at 256 bytes; what is not there is zeros. */
#define HEAD 256

static const struct {
	const char *head;
	int want;
	const char *interpreter, *argument;
} lines[] = {
	{ "#!/bin/sh\necho", 1, "/bin/sh", NULL },
	{ "#!/bin/sh", 1, "/bin/sh", NULL },
	{ "#! \t /bin/sh \t \necho", 1, "/bin/sh", NULL },
	{ "#!/bin/sh -e\n", 1, "/bin/sh", "-e" },
	{ "#!/bin/sh  -e  -u \n", 1, "/bin/sh", "-e  -u" },
	{ "#!relative\n", 1, "relative", NULL },
	{ "#!/usr/bin/env -S a b", 1, "/usr/bin/env", "-S a b" },
	{ "#!\n/bin/sh", -ENOEXEC, NULL, NULL },
	{ "#!  \t\n", -ENOEXEC, NULL, NULL },
	{ "\177ELF", 0, NULL, NULL },
	{ "", 0, NULL, NULL },
	{ "#", 0, NULL, NULL },
	{ " #!/bin/sh\n", 0, NULL, NULL },
};

START_TEST(first_lines)
{
	char head[HEAD] = "";
	auto_free char *interpreter = NULL, *argument = NULL;

	memcpy(head, lines[_i].head, strlen(lines[_i].head));
	ck_assert_int_eq(program_file_parse(head, sizeof(head), &interpreter, &argument),
			 lines[_i].want);
	if (lines[_i].want != 1)
		return;
	ck_assert_str_eq(interpreter, lines[_i].interpreter);
	ck_assert(!argument == !lines[_i].argument);
	/* The kernel's own cut of trailing zeros: a word ends at the first. */
	if (argument)
		ck_assert_str_eq(argument, lines[_i].argument);
}
END_TEST

/* A name that goes on where the kernel stops reading is nobody's. */
START_TEST(a_cut_name_is_none)
{
	char head[HEAD];
	auto_free char *interpreter = NULL, *argument = NULL;

	memset(head, 'x', sizeof(head));
	memcpy(head, "#!", 2);
	ck_assert_int_eq(program_file_parse(head, sizeof(head), &interpreter, &argument), -ENOEXEC);
	head[200] = ' ';
	ck_assert_int_eq(program_file_parse(head, sizeof(head), &interpreter, &argument), 1);
	ck_assert_uint_eq(strlen(interpreter), 198);
	ck_assert_uint_eq(strlen(argument), HEAD - 201);
}
END_TEST

TCase *test_script(void)
{
	TCase *tcase = tcase_create("script");

	tcase_add_loop_test(tcase, first_lines, 0, ARRAY_SIZE(lines));
	tcase_add_test(tcase, a_cut_name_is_none);
	return tcase;
}
