#include "tests/unit/exec/test_exec.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "exec/exec_sandbox.h"
#include "tests/unit/exec/words.h"

/* The working directory is /w, $TMPDIR is /t. */
static struct exec_sandbox *make(const char *text, struct err *why)
{
	return words_sandbox(text, "/w", "/t", why);
}

static struct exec_sandbox *must_make(const char *text)
{
	struct err why = { 0 };
	struct exec_sandbox *sandbox = make(text, &why);

	ck_assert_msg(sandbox != NULL, "%s: %s", text, why.text);
	return sandbox;
}

static const struct {
	const char *words, *text; /* or why it is refused, behind "!" */
} made[] = {
	{ "read-only", "sandbox    read-only\nnetwork    restricted\nread       /\n" },
	{ "read-only+net", "sandbox    read-only\nnetwork    enabled\nread       /\n" },
	{ "workspace-write", "sandbox    workspace-write\nnetwork    restricted\nread       /\n"
			     "write      /t\nwrite      /tmp\nwrite      /w\n" },
	{ "workspace-write -tmp -tmpdir",
	  "sandbox    workspace-write\nnetwork    restricted\nread       /\nwrite      /w\n" },
	{ "workspace-write -tmp -tmpdir read /w/.git deny /w/.env",
	  "sandbox    workspace-write\nnetwork    restricted\nread       /\nwrite      /w\n"
	  "deny       /w/.env\nread       /w/.git\n" },
	{ "external", "sandbox    external\nnetwork    restricted\n" },
	{ "external+net deny /s", "sandbox    external\nnetwork    enabled\ndeny       /s\n" },
	{ "danger-full-access", "sandbox    danger-full-access\nnetwork    enabled\n" },
	{ "split", "sandbox    split\nnetwork    restricted\n" },
	{ "split write //a/./b/ read /a",
	  "sandbox    split\nnetwork    restricted\nread       /a\nwrite      /a/b\n" },
	{ "split write /a read /a/ write /a", /* the lower access counts */
	  "sandbox    split\nnetwork    restricted\nread       /a\n" },
	{ "split write /a deny /a read /a",
	  "sandbox    split\nnetwork    restricted\ndeny       /a\n" },
	{ "split read /a\xff", "sandbox    split\nnetwork    restricted\nread       /a\\xff\n" },
	{ "split read a", "!not an absolute path" },
	{ "split read /a/../b", "!contains `..`" },
	{ "read-only write /w", "!cannot open a path" },
	{ "workspace-write write /x", "!cannot open a path" },
	{ "read-only read /tmp/x", "!cannot open a path" },
	{ "external read /x", "!cannot open a path" },
	{ "danger-full-access write /", "!cannot open a path" },
};

START_TEST(says_what_it_is)
{
	struct err why = { 0 };
	struct exec_sandbox *sandbox = make(made[_i].words, &why);

	if (made[_i].text[0] == '!') {
		ck_assert_ptr_null(sandbox);
		ck_assert_msg(strstr(why.text, made[_i].text + 1), "%s", why.text);
		return;
	}
	ck_assert_msg(sandbox != NULL, "%s", why.text);
	auto_free char *text = exec_sandbox_text(sandbox);

	ck_assert_str_eq(text, made[_i].text);
	exec_sandbox_free(sandbox);
}
END_TEST

START_TEST(refuses_what_contradicts_itself)
{
	struct exec_sandbox_config config = { .mode = EXEC_MODE_WORKSPACE_WRITE };
	struct exec_entry many[EXEC_ENTRIES_MAX + 1];
	char names[EXEC_ENTRIES_MAX + 1][16];
	struct err why = { 0 };

	ck_assert_ptr_null(exec_sandbox_new(&config, &why)); /* no working directory */
	config.cwd = "/";
	ck_assert_ptr_null(exec_sandbox_new(&config, &why));
	ck_assert_msg(strstr(why.text, "a workspace cannot be"), "%s", why.text);
	config = (struct exec_sandbox_config){ .mode = EXEC_MODE_SPLIT, .entries = many };
	for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
		(void)snprintf(names[i], sizeof(names[i]), "/%zu", i);
		many[i] = (struct exec_entry){ names[i], EXEC_READ };
	}
	config.entry_count = EXEC_ENTRIES_MAX;
	struct exec_sandbox *full = exec_sandbox_new(&config, &why);

	ck_assert_ptr_nonnull(full);
	ck_assert_ptr_null(exec_sandbox_widen(full, "/more", EXEC_READ, &why));
	exec_sandbox_free(full);
	config.entry_count++;
	ck_assert_ptr_null(exec_sandbox_new(&config, &why));
}
END_TEST

static const struct {
	const char *words, *path;
	enum exec_access access;
	bool is_denied;
} accesses[] = {
	{ "read-only", "/etc/x", EXEC_READ, false },
	{ "read-only", "/", EXEC_READ, false },
	{ "read-only", "/tmp/x", EXEC_DENY, false }, /* what is there is its own */
	{ "read-only", "/tmpx", EXEC_READ, false },
	{ "workspace-write", "/w/a", EXEC_WRITE, false },
	{ "workspace-write", "/wa", EXEC_READ, false },
	{ "workspace-write", "/tmp/x", EXEC_WRITE, false },
	{ "workspace-write -tmp", "/tmp/x", EXEC_DENY, false },
	{ "workspace-write deny /w/s", "/w/s/t", EXEC_DENY, true },
	{ "external deny /s", "/s", EXEC_DENY, true },
	{ "external deny /s", "/sys", EXEC_WRITE, false },
	{ "danger-full-access", "/etc", EXEC_WRITE, false },
	{ "split", "/usr", EXEC_DENY, false },
	{ "split read /usr", "/usr/bin", EXEC_READ, false },
	{ "split read /usr", "/", EXEC_DENY, false },
	{ "split write /", "/tmp/x", EXEC_WRITE, false },
	{ "split read / read /tmp", "/tmp/x", EXEC_READ, false },
	{ "split read / write /tmp/a", "/tmp/x", EXEC_DENY, false },
	{ "split read / write /tmp/a", "/tmp/a/x", EXEC_WRITE, false },
	{ "split deny /a write /a/b", "/a/b/c", EXEC_WRITE, false },
	{ "split deny /a write /a/b deny /a/b/c", "/a/b/c", EXEC_DENY, true },
	{ "split deny /", "/usr", EXEC_DENY, true },
	{ "split write /", "relative", EXEC_DENY, true },
	{ "split write /", "/a/../b", EXEC_DENY, true },
};

START_TEST(the_most_specific_path_counts)
{
	struct exec_sandbox *sandbox = must_make(accesses[_i].words);

	ck_assert_int_eq(exec_sandbox_access(sandbox, accesses[_i].path), accesses[_i].access);
	ck_assert_int_eq(exec_sandbox_is_denied(sandbox, accesses[_i].path),
			 accesses[_i].is_denied);
	exec_sandbox_free(sandbox);
}
END_TEST

static const struct {
	const char *words;
	bool has_denials, writes_all, is_unconfined;
} properties[] = {
	{ "read-only", false, false, false },
	{ "read-only deny /x", true, false, false },
	{ "workspace-write", false, false, false },
	{ "external", false, true, false },
	{ "external+net", false, true, true },
	{ "external+net deny /x", true, false, false },
	{ "danger-full-access", false, true, true },
	{ "danger-full-access deny /x", true, false, false },
	{ "split", false, false, false },
	{ "split write /", false, true, false },
	{ "split+net write /", false, true, false },
	{ "split write / read /x", false, false, false },
	{ "split deny /", true, false, false },
};

START_TEST(knows_its_properties)
{
	struct exec_sandbox *sandbox = must_make(properties[_i].words);
	struct err why = { 0 };
	struct exec_sandbox *free_one = exec_sandbox_unconfined(sandbox, &why);

	ck_assert_int_eq(exec_sandbox_has_denials(sandbox), properties[_i].has_denials);
	ck_assert_int_eq(exec_sandbox_writes_all(sandbox), properties[_i].writes_all);
	ck_assert_int_eq(exec_sandbox_is_unconfined(sandbox), properties[_i].is_unconfined);
	/* The last choice is never that of one that denies. */
	ck_assert_int_eq(free_one == NULL, properties[_i].has_denials);
	if (free_one)
		ck_assert(exec_sandbox_is_unconfined(free_one) &&
			  exec_sandbox_covers(free_one, sandbox));
	exec_sandbox_free(free_one);
	exec_sandbox_free(sandbox);
}
END_TEST

static const struct {
	const char *words, *path;
	enum exec_access access;
	const char *after; /* in words; NULL: refused */
} widenings[] = {
	{ "read-only", "/w", EXEC_WRITE, "split read / write /w" },
	{ "read-only", "/etc", EXEC_READ, "read-only" }, /* it was so already */
	{ "read-only", "/tmp/x", EXEC_READ, "split read / read /tmp/x" },
	{ "read-only deny /s", "/s", EXEC_READ, NULL },
	{ "read-only deny /s", "/s/t", EXEC_WRITE, NULL },
	{ "read-only deny /s/t", "/s", EXEC_WRITE, "split read / write /s deny /s/t" },
	{ "workspace-write -tmp -tmpdir read /w/.git", "/w", EXEC_WRITE,
	  "split read / write /w read /w/.git" }, /* nothing but the path */
	{ "workspace-write -tmp -tmpdir read /w/.git", "/w/.git", EXEC_WRITE,
	  "split read / write /w write /w/.git" },
	{ "split deny /", "/usr", EXEC_READ, NULL },
	{ "split", "/usr", EXEC_READ, "split read /usr" },
	{ "split deny /a write /a/b", "/a/b/c", EXEC_WRITE, "split deny /a write /a/b" },
	{ "split deny /a read /a/b", "/a/b/c", EXEC_WRITE, "split deny /a read /a/b write /a/b/c" },
	{ "external", "/x", EXEC_WRITE, "external" },
	{ "danger-full-access deny /x", "/x", EXEC_READ, NULL },
	{ "read-only", "/w", EXEC_DENY, NULL }, /* which would not be wider */
	{ "read-only", "w", EXEC_WRITE, NULL },
	{ "read-only", "/w/../x", EXEC_WRITE, NULL },
};

START_TEST(is_widened_by_one_path)
{
	struct exec_sandbox *sandbox = must_make(widenings[_i].words);
	auto_free char *before = exec_sandbox_key(sandbox);
	struct err why = { 0 };
	struct exec_sandbox *wide =
		exec_sandbox_widen(sandbox, widenings[_i].path, widenings[_i].access, &why);
	auto_free char *after = exec_sandbox_key(sandbox);

	ck_assert_str_eq(before, after); /* of the old one */
	ck_assert_msg((wide != NULL) == (widenings[_i].after != NULL), "%s", why.text);
	if (wide) {
		struct exec_sandbox *want = must_make(widenings[_i].after);
		auto_free char *key = exec_sandbox_key(wide);
		auto_free char *want_key = exec_sandbox_key(want);

		ck_assert_str_eq(key, want_key);
		ck_assert(words_equal(wide, want));
		/* A name that would no longer be true is not kept. */
		ck_assert_int_eq(exec_sandbox_mode(wide), strcmp(before, key) == 0
								  ? exec_sandbox_mode(sandbox)
								  : EXEC_MODE_SPLIT);
		exec_sandbox_free(want);
	} else {
		ck_assert(why.text[0] != '\0');
	}
	exec_sandbox_free(wide);
	exec_sandbox_free(sandbox);
}
END_TEST

/* In one order: does the first cover the second, and the second the first? */
static const struct {
	const char *a, *b;
	bool covers, is_covered;
} pairs[] = {
	{ "read-only", "read-only", true, true },
	{ "read-only", "split read /", true, true },
	{ "workspace-write", "read-only", true, false },
	{ "read-only", "read-only+net", false, true },
	{ "read-only deny /s", "read-only", false, true },
	{ "split read / read /tmp", "read-only", true, false },
	{ "split write /", "workspace-write", true, false },
	{ "split write / read /x", "split write / deny /x", true, false },
	{ "split write /", "external", false, true },
	{ "split write /", "split write / deny /a write /a/b", true, false },
	{ "split deny /a write /a/b", "split write /a/b", true, true },
	{ "split read /a write /a/b/c", "split read /a write /a/b", false, true },
	{ "split read /a", "split read /b", false, false },
	{ "danger-full-access", "external", true, false },
	{ "danger-full-access", "external+net", true, true },
	{ "danger-full-access", "danger-full-access deny /x", true, false },
	{ "external", "external deny /x", true, false },
};

START_TEST(covers_what_allows_less)
{
	struct exec_sandbox *a = must_make(pairs[_i].a), *b = must_make(pairs[_i].b);

	ck_assert_int_eq(exec_sandbox_covers(a, b), pairs[_i].covers);
	ck_assert_int_eq(exec_sandbox_covers(b, a), pairs[_i].is_covered);
	exec_sandbox_free(a);
	exec_sandbox_free(b);
}
END_TEST

START_TEST(opens_one_socket)
{
	struct err why = { 0 };
	struct exec_sandbox *old = must_make("read-only deny /run/s");
	struct exec_sandbox *wide = exec_sandbox_add_socket(old, "/run//a", &why);

	ck_assert_ptr_nonnull(wide);
	ck_assert_str_eq(exec_sandbox_sockets(wide)[0], "/run/a");
	ck_assert_ptr_null(exec_sandbox_sockets(wide)[1]);
	ck_assert_ptr_null(exec_sandbox_sockets(old)[0]);
	ck_assert(exec_sandbox_covers(wide, old) && !exec_sandbox_covers(old, wide));
	ck_assert(!words_equal(wide, old));
	ck_assert_ptr_null(exec_sandbox_add_socket(old, "/run/s/t", &why));
	ck_assert_msg(strstr(why.text, "denies"), "%s", why.text);
	auto_free char *text = exec_sandbox_text(wide);

	ck_assert_msg(strstr(text, "socket     /run/a\n"), "%s", text);
	exec_sandbox_free(wide);
	exec_sandbox_free(old);
}
END_TEST

START_TEST(a_key_has_one_meaning)
{
	struct exec_entry one = { "/a\tread:/b", EXEC_READ };
	const struct exec_entry two[] = { { "/a", EXEC_READ }, { "/b", EXEC_READ } };
	struct exec_sandbox_config config = { EXEC_MODE_SPLIT, .entries = &one, .entry_count = 1 };
	struct exec_sandbox *first = exec_sandbox_new(&config, NULL);

	config.entries = two;
	config.entry_count = 2;
	struct exec_sandbox *second = exec_sandbox_new(&config, NULL);
	auto_free char *left = exec_sandbox_key(first);
	auto_free char *right = exec_sandbox_key(second);

	ck_assert_str_ne(left, right);
	ck_assert_ptr_null(strchr(left, '\n'));
	ck_assert(!words_equal(first, second));
	exec_sandbox_free(first);
	exec_sandbox_free(second);
}
END_TEST

/* Over a small world, so that paths meet. */
static const char *const world[] = {
	"/",    "/a",     "/a/b",     "/a/b/c", "/a/bc",  "/b",       "/b/c",
	"/tmp", "/tmp/a", "/tmp/a/b", "/run",   "/run/s", "/var/run", "/var",
};

static uint32_t next(uint32_t *state)
{
	*state = *state * 1664525U + 1013904223U;
	return *state >> 8;
}

static struct exec_sandbox *any(uint32_t *state)
{
	static const enum exec_mode modes[] = { EXEC_MODE_SPLIT,       EXEC_MODE_SPLIT,
						EXEC_MODE_SPLIT,       EXEC_MODE_EXTERNAL,
						EXEC_MODE_FULL_ACCESS, EXEC_MODE_READ_ONLY };
	struct exec_entry entries[6];
	struct exec_sandbox_config config = {
		.mode = modes[next(state) % ARRAY_SIZE(modes)],
		.network = next(state) % 2 ? EXEC_NETWORK_ENABLED : EXEC_NETWORK_RESTRICTED,
		.entries = entries,
		.entry_count = next(state) % ARRAY_SIZE(entries),
	};

	for (size_t i = 0; i < config.entry_count; i++)
		entries[i] = (struct exec_entry){
			world[next(state) % ARRAY_SIZE(world)],
			config.mode == EXEC_MODE_SPLIT ? (enum exec_access)(next(state) % 3)
						       : EXEC_DENY,
		};
	struct exec_sandbox *sandbox = exec_sandbox_new(&config, NULL);

	ck_assert_ptr_nonnull(sandbox);
	return sandbox;
}

/* By looking at every path of the world, and at one inside of each that no entry names. */
static bool allows_all(const struct exec_sandbox *wide, const struct exec_sandbox *narrow)
{
	bool does = true;

	for (size_t i = 0; i < ARRAY_SIZE(world); i++) {
		auto_free char *inside = mem_printf("%s/other", i == 0 ? "" : world[i]);

		does &= exec_sandbox_access(wide, world[i]) >=
				exec_sandbox_access(narrow, world[i]) &&
			exec_sandbox_access(wide, inside) >= exec_sandbox_access(narrow, inside);
	}
	return does;
}

START_TEST(covering_is_exact)
{
	uint32_t state = 1;

	for (int i = 0; i < 4000; i++) {
		struct exec_sandbox *a = any(&state), *b = any(&state);
		bool is_kind = exec_sandbox_files(a) != EXEC_FILES_RESTRICTED ||
			       exec_sandbox_files(b) == EXEC_FILES_RESTRICTED;
		bool is_network = exec_sandbox_network(a) >= exec_sandbox_network(b);
		bool is_free = exec_sandbox_is_unconfined(a) || !exec_sandbox_is_unconfined(b);

		ck_assert_int_eq(exec_sandbox_covers(a, b),
				 is_kind && is_network && is_free && allows_all(a, b));
		ck_assert(!words_equal(a, b) ||
			  (exec_sandbox_covers(a, b) && exec_sandbox_covers(b, a)));
		exec_sandbox_free(a);
		exec_sandbox_free(b);
	}
}
END_TEST

START_TEST(nothing_opens_what_is_denied)
{
	uint32_t state = 7;

	for (int i = 0; i < 1000; i++) {
		struct exec_sandbox *first = any(&state);
		struct exec_sandbox *now = exec_sandbox_copy(first);

		for (int step = 0; step < 8; step++) {
			const char *path = world[next(&state) % ARRAY_SIZE(world)];
			enum exec_access access = next(&state) % 2 ? EXEC_READ : EXEC_WRITE;
			struct exec_sandbox *wide = exec_sandbox_widen(now, path, access, NULL);

			ck_assert_int_eq(wide == NULL, exec_sandbox_is_denied(now, path));
			if (!wide)
				continue;
			ck_assert(exec_sandbox_covers(wide, now));
			ck_assert_int_ge(exec_sandbox_access(wide, path), access);
			exec_sandbox_free(now);
			now = wide;
		}
		for (size_t at = 0; at < ARRAY_SIZE(world); at++)
			if (exec_sandbox_is_denied(first, world[at])) {
				ck_assert(exec_sandbox_is_denied(now, world[at]));
				ck_assert_int_eq(exec_sandbox_access(now, world[at]), EXEC_DENY);
			}
		ck_assert(exec_sandbox_has_denials(now) == exec_sandbox_has_denials(first));
		exec_sandbox_free(first);
		exec_sandbox_free(now);
	}
}
END_TEST

TCase *test_sandbox(void)
{
	TCase *tcase = tcase_create("sandbox");

	tcase_add_loop_test(tcase, says_what_it_is, 0, ARRAY_SIZE(made));
	tcase_add_test(tcase, refuses_what_contradicts_itself);
	tcase_add_loop_test(tcase, the_most_specific_path_counts, 0, ARRAY_SIZE(accesses));
	tcase_add_loop_test(tcase, knows_its_properties, 0, ARRAY_SIZE(properties));
	tcase_add_loop_test(tcase, is_widened_by_one_path, 0, ARRAY_SIZE(widenings));
	tcase_add_loop_test(tcase, covers_what_allows_less, 0, ARRAY_SIZE(pairs));
	tcase_add_test(tcase, opens_one_socket);
	tcase_add_test(tcase, a_key_has_one_meaning);
	tcase_add_test(tcase, covering_is_exact);
	tcase_add_test(tcase, nothing_opens_what_is_denied);
	return tcase;
}
