#include "tests/unit/exec/test_exec.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "exec/sandbox/env.h"
#include "exec/sandbox/files.h"
#include "exec/init/read.h"
#include "exec/sandbox/plan.h"
#include "exec/notify/preload.h"
#include "tests/unit/exec/rig.h"

#define NODE_FILE   "/run/sallyport/node.cjs"
#define HOSTS_FILE  "/run/sallyport/hosts"
#define NODE_OPTION "--require=" NODE_FILE

static const struct {
	const char *before, *after;
} appended[] = {
	{ NULL, "V=ours" },
	{ "V=", "V=ours" },
	{ "V=theirs", "V=theirs ours" },
	{ "V=a b=c", "V=a b=c ours" },
};

START_TEST(appends_to_a_variable)
{
	char **env = mem_new_array(3, sizeof(*env));
	const char *got;

	env[0] = mem_strdup("VV=other");
	env[1] = appended[_i].before ? mem_strdup(appended[_i].before) : NULL;
	env = env_append(env, "V", "ours");
	got = env[1];
	ck_assert_str_eq(env[0], "VV=other");
	ck_assert_str_eq(got, appended[_i].after);
	ck_assert_ptr_null(env[2]);
	mem_free_list(env);
}
END_TEST

/* Where the file has its place, and where a variable would name what is not there. */
static const struct {
	const char *fresh, *writable;
	bool is_there;
} places[] = {
	{ "/run", "/home/ana", true },
	{ "/run", "/run/other", true },
	{ "/run", "/run/sallyport/deeper", true },
	{ "/run", "/run/sallyport", false },
	{ "/var/run", "/home/ana", false },
};

static const char *text_of(const struct plan *plan, const char *path)
{
	for (char **file = plan->files; *file; file += 2)
		if (strcmp(file[0], path) == 0)
			return file[1];
	return NULL;
}

static const char *replacement_of(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->instead.count; i += 2)
		if (strcmp(plan->instead.list[i + 1], path) == 0)
			return plan->instead.list[i];
	return "";
}

START_TEST(puts_files_where_they_stay)
{
	struct plan plan = { .env = mem_new_array(1, sizeof(char *)), .uid = 1 };

	paths_add(&plan.fresh, "/tmp");
	paths_add(&plan.fresh, places[_i].fresh);
	paths_add(&plan.writable, places[_i].writable);
	files_plan(&plan);
	if (places[_i].is_there) {
		ck_assert_str_eq(plan.files[0], NODE_FILE);
		ck_assert_str_eq(plan.files[1], preload_node);
		ck_assert_ptr_nonnull(text_of(&plan, HOSTS_FILE));
		ck_assert_str_eq(replacement_of(&plan, "/etc/hosts"), HOSTS_FILE);
		ck_assert_str_eq(plan.env[0], "NODE_OPTIONS=" NODE_OPTION);
	} else {
		ck_assert_ptr_null(plan.files[0]);
		ck_assert_ptr_null(plan.env[0]);
		ck_assert_uint_eq(plan.instead.count, 0);
	}
	paths_done(&plan.instead);
	paths_done(&plan.fresh);
	paths_done(&plan.writable);
	mem_free_list(plan.files);
	mem_free_list(plan.env);
}
END_TEST

/* What a view may make of the host's file, that leaves it as it is. */
static const struct {
	const char *hidden, *writable;
	uint32_t flags;
} hosts[] = {
	{ "/etc/hosts", NULL, 0 },
	{ NULL, "/etc", 0 },
	{ NULL, NULL, WIRE_EMPTY },
	{ NULL, NULL, WIRE_HOST_NETWORK },
};

START_TEST(leaves_the_hosts_file)
{
	struct plan plan = { .env = mem_new_array(1, sizeof(char *)),
			     .uid = 1,
			     .flags = hosts[_i].flags };

	paths_add(&plan.fresh, "/run");
	if (hosts[_i].hidden)
		paths_add(&plan.hidden, hosts[_i].hidden);
	if (hosts[_i].writable)
		paths_add(&plan.writable, hosts[_i].writable);
	files_plan(&plan);
	ck_assert_str_eq(replacement_of(&plan, "/etc/hosts"), "");
	ck_assert_ptr_null(text_of(&plan, HOSTS_FILE));
	paths_done(&plan.instead);
	paths_done(&plan.fresh);
	paths_done(&plan.hidden);
	paths_done(&plan.writable);
	mem_free_list(plan.files);
	mem_free_list(plan.env);
}
END_TEST

START_TEST(shows_them_in_the_plan)
{
	struct rig rig;

	rig_init(&rig, 0);
	rig.config.argv = (const char *const[]){ "true", NULL };
	auto_free char *text = exec_plan_text(&rig.config, NULL);

	ck_assert_msg(strstr(text, "file       " NODE_FILE "\n"), "%s", text);
	ck_assert_msg(strstr(text, "env        NODE_OPTIONS=" NODE_OPTION "\n"), "%s", text);
	rig_done(&rig);
}
END_TEST

/* Each must exit 0; --env NODE_OPTIONS=--title=x is given. */
static const char *const scripts[] = {
	"test \"$NODE_OPTIONS\" = '--title=x " NODE_OPTION "'",
	"test \"$(ls -A /run/sallyport | grep -Ev '^((apt|resolv).conf|chromium)$' | tr '\\n' ' "
	"')\" = "
	"\"hosts node.cjs socket \" "
	"&& test \"$(stat "
	"-c %a " NODE_FILE ")\" = 444",
	"cmp " NODE_FILE " expected",
	"cmp /etc/hosts " HOSTS_FILE " && ! sh -c ': >> /etc/hosts' 2>err",
	/* Names are asked inside, without search domains; what the host calls others is left out.
	 */
	"! grep -Ev '^(127[.]|::1)' /etc/hosts && grep -q localhost /etc/hosts",
	"test ! -e /etc/resolv.conf || test \"$(head -1 /etc/resolv.conf)\" = 'nameserver "
	"198.18.0.1' && ! grep -q search /etc/resolv.conf",
};

START_TEST(writes_them)
{
	struct rig rig;

	rig_init(&rig, _i % RIG_USERS);
	rig_make(&rig, "expected", preload_node);
	rig.config.env_set = (const char *const[]){ "NODE_OPTIONS=--title=x", NULL };
	(void)rig_ok(&rig, scripts[_i / RIG_USERS]);
	rig_done(&rig);
}
END_TEST

/* The list of files as init reads it: @count strings, each @each but the last, which is @last. */
static const struct {
	unsigned int count;
	const char *each, *last;
	int want;
} lists[] = {
	{ 0, "/a", "/a", 0 },
	{ 2, "/run/a", "", 0 },
	{ 4, "/a", "text", 0 },
	{ 2 * WIRE_FILES_MAX, "/a", "text", 0 },
	{ 1, "/a", "/a", -EBADMSG },
	{ 3, "/a", "/a", -EBADMSG },
	{ 2, "a", "text", -EBADMSG },
	{ 2, "/a/../b", "text", -EBADMSG },
	{ 2 * WIRE_FILES_MAX + 2, "/a", "text", -EBADMSG },
};

static size_t add(char *to, const char *text)
{
	memcpy(to, text, strlen(text) + 1);
	return strlen(text) + 1;
}

START_TEST(reads_pairs_only)
{
	struct {
		struct wire_plan head;
		char text[1024];
	} image = { .head.magic = WIRE_MAGIC, .head.limits.processes = 1 };
	char *pointers[128];
	struct read_plan plan;
	size_t len = add(image.text, "/");

	for (int i = 0; i < WIRE_TEXTS; i++)
		image.head.limits.texts[i][0] = '1';
	len += add(image.text + len, "sh");
	for (unsigned int i = 0; i < lists[_i].count; i++)
		len += add(image.text + len,
			   i + 1 < lists[_i].count ? lists[_i].each : lists[_i].last);
	len += add(image.text + len, "t/tmp");
	image.head.counts[WIRE_ARGV] = 1;
	image.head.counts[WIRE_FILES] = lists[_i].count;
	image.head.counts[WIRE_MOUNTS] = 1;
	image.head.bytes = (uint32_t)(sizeof(image.head) + len);
	ck_assert_uint_le(read_pointers(&image, image.head.bytes), ARRAY_SIZE(pointers));
	ck_assert_int_eq(read_plan(&image, image.head.bytes, pointers, &plan), lists[_i].want);
}
END_TEST

TCase *test_files(void)
{
	TCase *tcase = tcase_create("files");

	tcase_add_loop_test(tcase, appends_to_a_variable, 0, ARRAY_SIZE(appended));
	tcase_add_loop_test(tcase, puts_files_where_they_stay, 0, ARRAY_SIZE(places));
	tcase_add_loop_test(tcase, leaves_the_hosts_file, 0, ARRAY_SIZE(hosts));
	tcase_add_test(tcase, shows_them_in_the_plan);
	tcase_add_loop_test(tcase, writes_them, 0, (int)ARRAY_SIZE(scripts) * RIG_USERS);
	tcase_add_loop_test(tcase, reads_pairs_only, 0, ARRAY_SIZE(lists));
	return tcase;
}
