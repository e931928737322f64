#include "tests/unit/exec/test_exec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "exec/sandbox/paths.h"
#include "exec/sandbox/plan.h"
#include "exec/sandbox/sockets.h"

#define HEAD "Num       RefCount Protocol Flags    Type St Inode Path\n"
#define LINE "0000000000000000: 00000002 00000000 00010000 0001 01 12345 "

static int bind_at(const char *path)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	(void)snprintf(name.sun_path, sizeof(name.sun_path), "%s", path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	return fd;
}

/* In DIR there are: "socket", "with space" (both sockets) and "file". Its parts in the text are
 * written as %. */
static const struct {
	const char *text;
	const char *want; /* after DIR; NULL: none */
	bool is_fresh, is_writable;
} listings[] = {
	{ HEAD, NULL, false, false },
	{ HEAD LINE "%/socket\n", "/socket", false, false },
	{ HEAD LINE "%/socket", "/socket", false, false }, /* no newline at the end */
	{ HEAD LINE "%/with space\n", "/with space", false, false },
	{ HEAD LINE "@%/socket\n", NULL, false,
	  false },                              /* abstract: the namespace keeps those out */
	{ HEAD LINE "\n", NULL, false, false }, /* unnamed */
	{ HEAD LINE "%/gone\n", NULL, false, false },
	{ HEAD LINE "%/file\n", NULL, false, false },  /* a path of another mount namespace */
	{ HEAD LINE "socket\n", NULL, false, false },  /* relative to nobody knows what */
	{ HEAD LINE "%/socket\n", NULL, true, false }, /* in a directory the command gets empty */
	{ HEAD LINE "%/socket\n", "/socket", true, true }, /* but it is attached back */
	{ HEAD LINE "%/socket\n" LINE "%/socket\n", "/socket", false, false },
	{ HEAD LINE "%/./socket\n", "/socket", false, false },
	{ "\n\n \n:::\n", NULL, false, false },
};

static char *fill_in(const char *text, const char *dir)
{
	char *out = mem_new(strlen(text) * 16 + 4096);
	size_t len = 0;

	for (; *text; text++)
		if (*text == '%')
			len += (size_t)snprintf(out + len, 64, "%s", dir);
		else
			out[len++] = *text;
	return out;
}

START_TEST(finds_what_can_be_seen)
{
	char dir[64] = "/var/tmp/sallyport-test-XXXXXX";
	struct paths found = { 0 };
	struct plan plan = { 0 };
	struct err why = { 0 };

	ck_assert_ptr_nonnull(mkdtemp(dir));
	auto_free char *plain = mem_printf("%s/socket", dir);
	auto_free char *spaced = mem_printf("%s/with space", dir);
	auto_free char *file = mem_printf("%s/file", dir);
	int first = bind_at(plain), second = bind_at(spaced);
	FILE *made = fopen(file, "w");

	ck_assert_ptr_nonnull(made);
	(void)fclose(made);
	if (listings[_i].is_fresh)
		paths_add(&plan.fresh, dir);
	if (listings[_i].is_writable)
		paths_add(&plan.writable, dir);
	auto_free char *text = fill_in(listings[_i].text, dir);

	ck_assert_int_eq(sockets_parse(text, &plan, &found, &why), 0);
	ck_assert_uint_eq(found.count, listings[_i].want ? 1 : 0);
	if (listings[_i].want) {
		auto_free char *want = mem_printf("%s%s", dir, listings[_i].want);

		ck_assert_str_eq(found.list[0], want);
	}
	close(first);
	close(second);
	paths_done(&plan.fresh);
	paths_done(&plan.writable);
	paths_done(&found);
	ck_assert_int_eq(unlink(plain) | unlink(spaced) | unlink(file) | rmdir(dir), 0);
}
END_TEST

START_TEST(finds_the_hosts)
{
	char dir[64] = "/var/tmp/sallyport-test-XXXXXX";
	struct paths found = { 0 };
	const struct plan plan = { 0 };
	struct err why = { 0 };

	ck_assert_ptr_nonnull(mkdtemp(dir));
	auto_free char *path = mem_printf("%s/socket", dir);
	int fd = bind_at(path);

	ck_assert_int_eq(sockets_find(&plan, &found, &why), 0);
	ck_assert(paths_has(&found, path));
	paths_done(&found);
	close(fd);
	ck_assert_int_eq(unlink(path) | rmdir(dir), 0);
}
END_TEST

TCase *test_sockets(void)
{
	TCase *tcase = tcase_create("sockets");

	tcase_add_loop_test(tcase, finds_what_can_be_seen, 0, ARRAY_SIZE(listings));
	tcase_add_test(tcase, finds_the_hosts);
	return tcase;
}
