#include "tests/unit/exec/test_exec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "exec/exec_made.h"
#include "policies/policies_protected.h"
#include "tests/unit/exec/rig.h"

/* Another program changes the folder after the search has found what to protect: before the mounts
 * are made (@before), and while the command runs (@during). */
static const struct {
	const char *before, *script, *during;
	const char *printed; /* NULL: it is killed, because of @path */
	const char *path;
} changes[] = {
	{ "rm -r tree", "test ! -e tree && echo x >y && echo ran", NULL, "ran\n", NULL },
	{ "rm -r tree/.git/hooks", "echo x >tree/y; echo ran", NULL, "ran\n", NULL },
	{ "rm tree/.envrc secret", "test ! -e secret && echo ran", NULL, "ran\n", NULL },
	/* What comes back is protected, or ends the run. */
	{ "rm tree/.envrc && echo new >tree/.envrc", "echo evil >>tree/.envrc; cat tree/.envrc",
	  NULL, "new\n", NULL },
	{ "rm secret && echo new >secret", "cat secret; echo ran", NULL, "ran\n", NULL },
	{ "mv tree was && cp -r was tree",
	  "echo evil >>tree/.envrc; echo evil >tree/.git/hooks/x; mv tree t; cat tree/.envrc", NULL,
	  "old\n", NULL },
	{ "rm tree/.envrc", "sleep 60", "echo new >tree/.envrc", NULL, "tree/.envrc" },
	{ "rm -r tree", "sleep 60", "mkdir tree; echo new >tree/.envrc", NULL, "tree/.envrc" },
	{ "rm secret", "sleep 60", "echo new >secret", NULL, "secret" },
	{ "rm tree/.envrc", "echo evil >tree/.envrc; sleep 60", NULL, NULL, "tree/.envrc" },
};

static void in_folder(const struct rig *rig, const char *script)
{
	auto_free char *line = mem_printf("cd %s && { %s; }", rig->dir, script);

	ck_assert_int_eq(system(line), 0);
}

static void start(struct rig *rig, const char *script, const char *during)
{
	auto_free char *wanted = mem_printf("touch ready; %s", script);
	const char *const argv[] = { "sh", "-c", wanted, NULL };

	if (!rig_start(rig, argv))
		ck_abort_msg("not started: %s", rig->text);
	if (!during)
		return;
	auto_free char *later =
		mem_printf("(i=0; until [ -e ready ] || [ $((i += 1)) -gt 6000 ]; do sleep 0.02; "
			   "done; %s) & true",
			   during);

	in_folder(rig, later);
}

START_TEST(changed_since_the_search)
{
	const struct policy_protection protection = { 0 };
	size_t at = (size_t)_i / RIG_USERS, len;
	struct rig rig;

	rig_init(&rig, _i % RIG_USERS);
	rig_make(&rig, "tree/.envrc", "old\n");
	rig_make(&rig, "tree/.git/hooks/pre-commit", "old\n");
	rig_make(&rig, "secret", "old\n");
	auto_free char *secret = mem_printf("%s/secret", rig.dir);
	const char *const hidden[] = { secret, NULL };

	rig.config.protection = &protection;
	rig.config.hidden = hidden;
	auto_free char *seen = NULL;
	FILE *out = open_memstream(&seen, &len);

	exec_look(&rig.config, out);
	ck_assert_int_eq(fclose(out), 0);
	rig.config.seen = (struct exec_seen){ seen, len };
	in_folder(&rig, changes[at].before);
	start(&rig, changes[at].script, changes[at].during);
	rig_wait(&rig);
	if (changes[at].printed) {
		const char *last = strstr(rig.text, changes[at].printed);

		ck_assert_msg(rig.result.end == EXEC_PROCESS_EXITED && last &&
				      strcmp(last, changes[at].printed) == 0,
			      "%s: %s %s", changes[at].before, rig.result.why, rig.text);
	} else {
		ck_assert_int_eq(rig.result.end, EXEC_PROCESS_KILLED);
		ck_assert_ptr_nonnull(strstr(rig.result.why, "was created while"));
		ck_assert_ptr_nonnull(strstr(rig.result.why, changes[at].path));
	}
	rig_done(&rig);
}
END_TEST

TCase *test_changed(void)
{
	TCase *tcase = tcase_create("changed");

	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, changed_since_the_search, 0,
			    (int)ARRAY_SIZE(changes) * RIG_USERS);
	return tcase;
}
