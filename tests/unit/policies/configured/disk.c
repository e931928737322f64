#include "tests/unit/policies/configured/configured_test.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"

/* A file system of its own for each test, below a folder that is removed. */
static char root[] = "/tmp/sallyport-configured-XXXXXX";

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
	return remove(path);
}

static void teardown(void)
{
	ck_assert_int_eq(nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static char *below(const char *path)
{
	return mem_printf("%s%s", root, path);
}

/* With the folders it needs. */
static void write_file(const char *path, const char *text)
{
	auto_free char *full = below(path);

	for (char *slash = strchr(full + strlen(root) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(full, 0755); /* may be there */
		*slash = '/';
	}
	auto_close int fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fd_write_all(fd, text, strlen(text)), 0);
}

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(root));
	write_file(CASE_CWD "/README", "");
}

static int read_tool(enum configured_tool tool, struct heard *heard, struct err *why)
{
	struct configured_environment env = { .home = CASE_HOME, .cwd = CASE_CWD, .root = root };
	struct configured_hearer hearer = { heard_found, heard_note, heard };

	memset(heard, 0, sizeof(*heard));
	memset(why, 0, sizeof(*why));
	return configured_read(tool, &env, &hearer, why);
}

/* One file for each tool that has one where nothing needs to be trusted. */
static const struct {
	enum configured_tool tool;
	const char *path, *text, *want;
} places[] = {
	{ CONFIGURED_NPM, CASE_HOME "/.npmrc", "registry=https://a.test/\n", "https://a.test:443" },
	{ CONFIGURED_NPM, "/etc/npmrc", "registry=https://a.test/\n", "https://a.test:443" },
	{ CONFIGURED_PIP, "/etc/xdg/pip/pip.conf", "[global]\nindex-url=https://a.test\n",
	  "https://a.test:443" },
	{ CONFIGURED_CARGO, CASE_HOME "/.cargo/config.toml",
	  "[registries.a]\nindex='https://a.test'\n", "https://a.test:443" },
	{ CONFIGURED_GO, CASE_HOME "/.config/go/env", "GOPROXY=https://a.test\n",
	  "https://a.test:443" },
	{ CONFIGURED_MAVEN, "/etc/maven/settings.xml",
	  "<settings><mirrors><mirror><url>https://a.test</url></mirror></mirrors></settings>",
	  "https://a.test:443" },
	{ CONFIGURED_APT, "/etc/apt/sources.list", "deb http://a.test x y\n", "http://a.test:80" },
	{ CONFIGURED_DOCKER, "/etc/docker/daemon.json",
	  "{\"registry-mirrors\":[\"https://a.test\"]}", "https://a.test:443" },
};

START_TEST(found_where_the_tool_looks)
{
	struct heard heard;
	struct err why;

	write_file(places[_i].path, places[_i].text);
	ck_assert_msg(read_tool(places[_i].tool, &heard, &why) == 0, "%s", why.text);
	ck_assert_msg(strncmp(heard.found, places[_i].want, strlen(places[_i].want)) == 0, "%s%s",
		      heard.found, heard.notes);
	ck_assert_ptr_nonnull(strstr(heard.found, places[_i].path));
}
END_TEST

START_TEST(apt_folder)
{
	struct heard heard;
	struct err why;

	write_file("/etc/apt/sources.list.d/b.sources",
		   "# Debian's own form\nTypes: deb\nURIs: https://b.test/x\n http://c.test/\n"
		   "Suites: s\nSigned-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n\n"
		   "Types: deb\nEnabled: no\nURIs: https://off.test/\nSuites: s\n\n"
		   "uris: https://d.test\n");
	write_file("/etc/apt/sources.list.d/a.list", "deb https://a.test x y\n");
	write_file("/etc/apt/sources.list.d/old.list.save", "deb https://not.test x y\n");
	write_file("/etc/apt/sources.list.d/od!d.list", "deb https://not.test x y\n");
	ck_assert_msg(read_tool(CONFIGURED_APT, &heard, &why) == 0, "%s", why.text);
	ck_assert_str_eq(heard.found, "https://a.test:443 /etc/apt/sources.list.d/a.list:1\n"
				      "https://b.test:443 /etc/apt/sources.list.d/b.sources:3\n"
				      "http://c.test:80 /etc/apt/sources.list.d/b.sources:4\n"
				      "https://d.test:443 /etc/apt/sources.list.d/b.sources:15\n");
	write_file("/etc/apt/sources.list.d/c.sources", "Types: deb\nURIs https://b.test/x\n");
	ck_assert_int_eq(read_tool(CONFIGURED_APT, &heard, &why), -EBADMSG);
	ck_assert_str_eq(why.text,
			 "/etc/apt/sources.list.d/c.sources:2: the line is not \"Field: value\"");
	ck_assert_str_eq(heard.found, "");
}
END_TEST

START_TEST(too_many_files)
{
	struct heard heard;
	struct err why;

	for (unsigned int i = 0; i <= CONFIGURED_FOLDER_MAX; i++) {
		auto_free char *path = mem_printf("/etc/apt/sources.list.d/%u.list", i);

		write_file(path, "");
	}
	ck_assert_int_eq(read_tool(CONFIGURED_APT, &heard, &why), -E2BIG);
}
END_TEST

START_TEST(too_many_destinations)
{
	auto_free char *text = mem_new(64 * (CONFIGURED_DESTINATIONS_MAX + 2));
	struct heard heard;
	struct err why;

	for (unsigned int i = 0; i <= CONFIGURED_DESTINATIONS_MAX; i++)
		(void)snprintf(text + strlen(text), 64, "deb http://h%u.test x y\n", i);
	write_file("/etc/apt/sources.list", text);
	ck_assert_int_eq(read_tool(CONFIGURED_APT, &heard, &why), -E2BIG);
	ck_assert_str_eq(heard.found, "");
}
END_TEST

START_TEST(linked_from_home)
{
	auto_free char *link = below(CASE_HOME "/.npmrc"), *elsewhere = below("/dotfiles/npmrc");
	auto_free char *inside = below(CASE_CWD "/npmrc"), *loop = below("/etc/npmrc");
	struct heard heard;
	struct err why;

	write_file("/dotfiles/npmrc", "registry=https://a.test\n");
	write_file(CASE_CWD "/npmrc", "registry=https://evil.test\n");
	ck_assert_int_eq(symlink(elsewhere, link), 0);
	ck_assert_int_eq(read_tool(CONFIGURED_NPM, &heard, &why), 0);
	ck_assert_str_eq(heard.found, "https://a.test:443 /home/ana/.npmrc:1\n");

	/* Into the project: then it is the command's to write, by whatever name. */
	ck_assert_int_eq(unlink(link), 0);
	ck_assert_int_eq(symlink(inside, link), 0);
	ck_assert_int_eq(read_tool(CONFIGURED_NPM, &heard, &why), 0);
	ck_assert_str_eq(heard.found, "");
	ck_assert_ptr_nonnull(strstr(heard.notes, "/home/ana/.npmrc: not read"));

	ck_assert_int_eq(unlink(link), 0);
	write_file("/etc/x", "");
	ck_assert_int_eq(symlink("npmrc", loop), 0);
	ck_assert_int_eq(read_tool(CONFIGURED_NPM, &heard, &why), -ELOOP);
}
END_TEST

/* What trust is asked about, and what it says. */
struct trusting {
	const char *bytes; /* that are trusted */
	char asked[512], read[512];
};

static bool trust(const char *path, const void *bytes, size_t len, void *arg)
{
	struct trusting *trusting = arg;
	size_t used = strlen(trusting->asked);

	(void)snprintf(trusting->asked + used, sizeof(trusting->asked) - used, "%s\n",
		       path + strlen(root));
	return len == strlen(trusting->bytes) && memcmp(bytes, trusting->bytes, len) == 0;
}

static void hear_read(const char *path, void *arg)
{
	struct trusting *trusting = arg;
	size_t used = strlen(trusting->read);

	(void)snprintf(trusting->read + used, sizeof(trusting->read) - used, "%s\n",
		       path + strlen(root));
}

static void read_trusting(enum configured_tool tool, const char *bytes, struct heard *heard,
			  struct trusting *ret)
{
	struct configured_environment env = { .home = CASE_HOME,
					      .cwd = CASE_CWD,
					      .root = root,
					      .is_trusted = trust,
					      .was_read = hear_read,
					      .trust_arg = ret };
	struct configured_hearer hearer = { heard_found, heard_note, heard };
	struct err why = { 0 };

	*ret = (struct trusting){ .bytes = bytes };
	memset(heard, 0, sizeof(*heard));
	ck_assert_msg(configured_read(tool, &env, &hearer, &why) == 0, "%s", why.text);
}

START_TEST(trusted_by_its_bytes)
{
	static const char project[] = "@p:registry=https://p.test\n";
	struct trusting trusting;
	struct heard heard;

	write_file(CASE_HOME "/.npmrc", "registry=https://a.test\n");
	write_file(CASE_CWD "/.npmrc", project);
	read_trusting(CONFIGURED_NPM, "other", &heard, &trusting);
	ck_assert_str_eq(heard.found, "https://a.test:443 /home/ana/.npmrc:1\n");
	ck_assert_ptr_nonnull(strstr(heard.notes, "/project/.npmrc: not read"));
	ck_assert_str_eq(trusting.read, CASE_HOME "/.npmrc\n");
	read_trusting(CONFIGURED_NPM, project, &heard, &trusting);
	ck_assert_str_eq(heard.found, "https://p.test:443 /home/ana/project/.npmrc:1\n"
				      "https://a.test:443 /home/ana/.npmrc:1\n");
	ck_assert_str_eq(trusting.asked, CASE_CWD "/.npmrc\n");
	ck_assert_str_eq(trusting.read, CASE_HOME "/.npmrc\n");
}
END_TEST

/* Every file of a repository, also above the working folder; and what nobody can have trusted, as
 * the folder .git itself, breaks nothing. */
START_TEST(a_repository_by_its_bytes)
{
	static const char config[] = "[remote \"o\"]\nurl = https://git.test/x\n";
	struct trusting trusting;
	struct heard heard;

	write_file(CASE_HOME "/.gitconfig", "");
	write_file(CASE_HOME "/.git/config", config);
	read_trusting(CONFIGURED_GIT, "other", &heard, &trusting);
	ck_assert_str_eq(heard.found, "");
	ck_assert_ptr_nonnull(strstr(heard.notes, CASE_HOME "/.git/config: not read"));
	read_trusting(CONFIGURED_GIT, config, &heard, &trusting);
	ck_assert_str_eq(heard.found, "https://git.test:443 /home/ana/.git/config:2\n");
	ck_assert_str_eq(trusting.asked, CASE_HOME "/.git/config\n");
	ck_assert_str_eq(trusting.read, CASE_HOME "/.gitconfig\n");
}
END_TEST

static const struct {
	const char *what;
	int want;
} refusals[] = {
	{ "others can write it", -EPERM },
	{ "its group can write it", -EPERM },
	{ "a folder", -EINVAL },
	{ "a FIFO", -EINVAL },
	{ "larger than the limit", -E2BIG },
	{ "the file contains a NUL byte", -EBADMSG },
	{ "not ours to read", -EACCES },
};

static void spoil(const char *path, int how)
{
	auto_close int fd = -1;

	switch (how) {
	case 0:
	case 1:
		ck_assert_int_eq(chmod(path, how == 0 ? 0606 : 0660), 0);
		return;
	case 2:
	case 3:
		ck_assert_int_eq(unlink(path), 0);
		ck_assert_int_eq(how == 2 ? mkdir(path, 0700) : mkfifo(path, 0600), 0);
		return;
	case 4:
		ck_assert_int_eq(truncate(path, CONFIGURED_FILE_MAX_BYTES + 1), 0);
		return;
	case 5:
		fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
		ck_assert_int_eq(fd_write_all(fd, "\0", 1), 0);
		return;
	default:
		ck_assert_int_eq(chmod(path, 0), 0);
	}
}

START_TEST(refused_files)
{
	auto_free char *path = below(CASE_HOME "/.npmrc");
	struct heard heard;
	struct err why;

	write_file(CASE_HOME "/.npmrc", "registry=https://a.test\n");
	spoil(path, _i);
	if (refusals[_i].want == -EACCES && access(path, R_OK) == 0) {
		ck_assert_uint_eq(geteuid(), 0); /* root reads everything: nothing to see */
		return;
	}
	ck_assert_msg(read_tool(CONFIGURED_NPM, &heard, &why) == refusals[_i].want, "%s: %s",
		      refusals[_i].what, why.text);
	ck_assert_ptr_eq(strstr(why.text, "/home/ana/.npmrc"), why.text);
	ck_assert_str_eq(heard.found, "");
}
END_TEST

TCase *disk_cases(void)
{
	TCase *tcase = tcase_create("disk");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, found_where_the_tool_looks, 0, ARRAY_SIZE(places));
	tcase_add_test(tcase, apt_folder);
	tcase_add_test(tcase, too_many_files);
	tcase_add_test(tcase, too_many_destinations);
	tcase_add_test(tcase, linked_from_home);
	tcase_add_test(tcase, trusted_by_its_bytes);
	tcase_add_test(tcase, a_repository_by_its_bytes);
	tcase_add_loop_test(tcase, refused_files, 0, ARRAY_SIZE(refusals));
	return tcase;
}
