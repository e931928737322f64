/* `sallyport approve`: widths, risks, and remembered answers. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/approve/approve.h"
#include "tests/contract/test_approve_stage.h"

static void open_and_ask(void)
{
	stage_run_open(&stage.runs[0], "7f3a");
	stage_watch("watch");
	stage_ask(&stage.runs[0], "https://a.example.org:443");
}

static const struct {
	const char *words;
	int status;
	const char *printed;
} widths[] = {
	{ "deny 7f3a-1 --scope session --domain", 0, "7f3a-1  https://**.example.org:443  denied" },
	{ "allow 7f3a-1 --scope exec --domain --all-ports --for 90m --confirm example.org", 0,
	  "7f3a-1  https://**.example.org:* for 90m  allowed for this command" },
	{ "deny 7f3a-1 --words 'not-now'", 0, "7f3a-1  https://a.example.org:443  denied once" },
	{ "allow 7f3a-1 --domain --confirm example.org", 2,
	  "sallyport approve allow: --domain needs an answer that lasts; add --scope exec, "
	  "--scope session or --scope always\n" },
	{ "allow 7f3a-1 --scope session --program --confirm example.org", 3,
	  "sallyport: 7f3a-1 was not answered" },
	/* The error shows the whole command to type. */
	{ "allow 7f3a-1 --scope always --domain --for 1h", 3,
	  "sallyport: 7f3a-1 was not answered: a whole domain, always: to allow it, "
	  "type example.org as well:\n"
	  "  sallyport approve allow 7f3a-1 --scope always --domain --for 1h --confirm "
	  "example.org\n" },
	{ "allow 7f3a-1 --scope always --all-ports --confirm a.example.org", 3,
	  "sallyport: 7f3a-1 was not answered: every port, always" },
	/* What is merely new needs no more than the answer. */
	{ "allow 7f3a-1 --scope session --for 1h", 0,
	  "7f3a-1  https://a.example.org:443 for 1h  allowed for this session" },
	{ "allow 7f3a-1 --for soon", 2, "sallyport approve allow: --for needs a duration" },
	{ "allow 7f3a-1 --upload 64x", 2, "sallyport approve allow: --upload needs a size" },
	{ "allow 7f3a-1 --connections 0", 2,
	  "sallyport approve allow: --connections needs a number" },
	{ "deny 7f3a-1 --upload 64k", 2, "sallyport approve deny: no such option" },
	{ "abort 7f3a-1 --domain", 2, "sallyport approve abort: no such option" },
	{ "list --domain", 2, "sallyport approve list: no such option" },
};

START_TEST(width_is_printed_as_it_is_granted)
{
	open_and_ask();
	ck_assert_int_eq(stage_approve(widths[_i].words), widths[_i].status);
	ck_assert_msg(strncmp(stage.output, widths[_i].printed, strlen(widths[_i].printed)) == 0,
		      "%s", stage.output);
	ck_assert_uint_eq(stage.runs[0].told, widths[_i].status == 0);
	stage_end_watch(0);
}
END_TEST

START_TEST(a_risk_is_shown)
{
	open_and_ask();
	ck_assert_int_eq(stage_approve("list"), 0);
	ck_assert_ptr_nonnull(
		strstr(stage.output,
		       "\n  NEW       example.org has never been allowed on this machine\n"));
	stage_end_watch(0);
}
END_TEST

START_TEST(grants_are_listed_and_taken_back)
{
	open_and_ask();
	ck_assert_int_eq(stage_approve("grants"), 0);
	ck_assert_str_eq(stage.output, "no answer is remembered\n");
	ck_assert_int_eq(
		stage_approve("allow 7f3a-1 --scope session --domain --confirm example.org"), 0);
	ck_assert_int_eq(stage_approve("grants"), 0);
	ck_assert_ptr_eq(strstr(stage.output, "7f3a-g1  allow https://**.example.org:443\n"
					      "  scope     session, by "),
			 stage.output);
	ck_assert_int_eq(stage_approve("grants --json"), 0);
	json_t *all = json_loads(stage.output, 0, NULL), *grant = json_array_get(all, 0);

	ck_assert_uint_eq(json_array_size(all), 1);
	ck_assert_str_eq(approve_text_member(grant, "id"), "7f3a-g1");
	ck_assert_str_eq(approve_text_member(grant, "run"), "7f3a");
	ck_assert_str_eq(approve_text_member(grant, "text"), "https://**.example.org:443");
	json_decref(all);

	ck_assert_int_eq(stage_approve("revoke 7f3a-g9"), 1);
	ck_assert_int_eq(stage_approve("revoke 7f3a-1"), 2);
	ck_assert_int_eq(stage_approve("revoke 0b1c-g1"), 1);
	ck_assert_int_eq(stage_approve("revoke ../x-g1"), 2);
	ck_assert_int_eq(stage_approve(_i ? "undo" : "revoke 7f3a-g1"), 0);
	ck_assert_ptr_nonnull(strstr(stage.output, "revoked"));
	ck_assert_int_eq(stage_approve(_i ? "undo 7f3a" : "revoke 7f3a-g1"), 1);
	ck_assert_int_eq(stage_approve("grants"), 0);
	ck_assert_str_eq(stage.output, "no answer is remembered\n");
	stage_end_watch(0);
}
END_TEST

START_TEST(undo_wants_to_know_the_run)
{
	stage_run_open(&stage.runs[0], "7f3a");
	stage_run_open(&stage.runs[1], "0b1c");
	ck_assert_int_eq(stage_approve("undo"), 3);
	ck_assert_ptr_nonnull(strstr(stage.output, "more than one run"));
	ck_assert_int_eq(stage_approve("undo 0b1c"), 1);
	ck_assert_int_eq(stage_approve("undo 0b1c 7f3a"), 2);
}
END_TEST

START_TEST(no_connection_is_open)
{
	open_and_ask();
	ck_assert_int_eq(stage_approve("live"), 0);
	ck_assert_str_eq(stage.output, "no connection is open\n");
	ck_assert_int_eq(stage_approve("live --json"), 0);
	ck_assert_str_eq(stage.output, "[]\n");
	ck_assert_int_eq(stage_approve("live here"), 2);
	ck_assert_int_eq(stage_approve("cut"), 2);
	ck_assert_int_eq(stage_approve("cut 7f3a-g1"), 2);
	ck_assert_int_eq(stage_approve("cut ../x-c1"), 2);
	ck_assert_int_eq(stage_approve("cut 7f3a-c9"), 1);
	ck_assert_int_eq(stage_approve("cut 0b1c-c1"), 1);
	stage_end_watch(0);
}
END_TEST

START_TEST(connection_is_listed_and_cut)
{
	char words[APPROVE_ID_MAX + 8];

	open_and_ask();
	ck_assert_int_eq(stage_approve("allow 7f3a-1 --scope session --confirm example.org"), 0);
	ck_assert_int_eq(stage_approve("live"), 0);
	ck_assert_ptr_nonnull(strstr(stage.output, "  https://a.example.org:443\n"));
	ck_assert_ptr_nonnull(strstr(stage.output, "7f3a-g1\n"));
	ck_assert_int_eq(stage_approve("live --json"), 0);
	json_t *all = json_loads(stage.output, 0, NULL), *live = json_array_get(all, 0);

	ck_assert_uint_eq(json_array_size(all), 1);
	ck_assert_str_eq(approve_text_member(live, "run"), "7f3a");
	ck_assert_str_eq(approve_text_member(live, "grant"), "7f3a-g1");
	(void)snprintf(words, sizeof(words), "cut %s", approve_text_member(live, "id"));
	json_decref(all);
	ck_assert_int_eq(stage_approve(words), 0);
	ck_assert_ptr_nonnull(strstr(stage.output, "  cut\n"));
	stage_end_watch(0);
}
END_TEST

TCase *tcase_ledger(void)
{
	TCase *tcase = tcase_create("ledger");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, stage_setup, stage_teardown);
	tcase_add_loop_test(tcase, width_is_printed_as_it_is_granted, 0, (int)ARRAY_SIZE(widths));
	tcase_add_test(tcase, a_risk_is_shown);
	tcase_add_loop_test(tcase, grants_are_listed_and_taken_back, 0, 2);
	tcase_add_test(tcase, connection_is_listed_and_cut);
	tcase_add_test(tcase, no_connection_is_open);
	tcase_add_test(tcase, undo_wants_to_know_the_run);
	return tcase;
}
