#include "tests/unit/policies/configured/configured_test.h"

#include "base/mem.h"

#define CONFIG CASE_CWD "/.git/config"

static const struct configured_case cases[] = {
	{ .name = "not trusted",
	  .tool = CONFIGURED_GIT,
	  .files = { { CONFIG, "[remote \"origin\"]\n\turl = https://git.example.org/x\n" } },
	  .want = "",
	  .says = "the remotes of this repository are not read" },
	{ .name = "every kind of URL",
	  .tool = CONFIGURED_GIT,
	  .is_project_trusted = true,
	  .files = { { CONFIG, "[core]\n\tbare = false\n\tfilemode\n"
			       "[remote \"origin\"]\n\turl = https://ana:" CASE_SECRET
			       "@git.example.org/x.git\n"
			       "\tpushurl = git@push.example.org:team/x.git\n"
			       "\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
			       "[remote \"a\"] url = ssh://git@ssh.example.org:2222/x ; comment\n"
			       "[remote \"b\"]\n\turl = git://old.example.org/x\n"
			       "[remote \"c\"]\n\turl = ../sibling\n\turl = /srv/x:y.git\n"
			       "\turl = file:///srv/x\n" } },
	  .want = "https://git.example.org:443 /home/ana/project/.git/config:5\n"
		  "tcp://push.example.org:22 /home/ana/project/.git/config:6\n"
		  "tcp://ssh.example.org:2222 /home/ana/project/.git/config:8\n"
		  "tcp://old.example.org:9418 /home/ana/project/.git/config:10\n" },
	{ .name = "a repository above the working folder, rewritten",
	  .tool = CONFIGURED_GIT,
	  .is_project_trusted = true,
	  .files = { { CASE_HOME "/.git/config", "[remote \"o\"]\nurl = gh:team/x\n" },
		     { CASE_HOME "/.gitconfig",
		       "[url \"https://short.example.org/\"]\n\tinsteadOf = g\n"
		       "[url \"https://long.example.org/\"]\n\tinsteadOf = \"gh:\"\n"
		       "[url \"ssh://git@push.example.org/\"]\n\tpushInsteadOf = gh:\n"
		       "[include]\n\tpath = other\n" } },
	  .want = "https://long.example.org:443 /home/ana/.git/config:2\n"
		  "tcp://push.example.org:22 /home/ana/.git/config:2\n",
	  .says = "/home/ana/.gitconfig:8: the file that it includes is not read" },
	{ .name = "remotes of the user's file are not the repository's",
	  .tool = CONFIGURED_GIT,
	  .is_project_trusted = true,
	  .files = { { CONFIG, "[remote \"o\"]\nurl = https://a.test/\n" },
		     { CASE_HOME "/.gitconfig", "[remote \"p\"]\nurl = https://b.test/\n" } },
	  .want = "https://a.test:443 /home/ana/project/.git/config:2\n" },
	{ .name = "a working tree of a repository elsewhere",
	  .tool = CONFIGURED_GIT,
	  .is_project_trusted = true,
	  .files = { { CASE_CWD "/.git", "gitdir: /srv/x/.git/worktrees/y\n" },
		     { "/srv/x/.git/worktrees/y/commondir", "../..\n" },
		     { "/srv/x/.git/worktrees/y/../../config",
		       "[remote \"o\"]\nurl = https://a.test/\n" } },
	  .want = "https://a.test:443 /srv/x/.git/worktrees/y/../../config:2\n" },
	{ .name = "a submodule",
	  .tool = CONFIGURED_GIT,
	  .is_project_trusted = true,
	  .files = { { CASE_CWD "/.git", "gitdir: ../.git/modules/y" },
		     { CASE_CWD "/../.git/modules/y/config",
		       "[remote \"o\"]\nurl = https://a.test/\n" } },
	  .want = "https://a.test:443 /home/ana/project/../.git/modules/y/config:2\n" },
	{ .name = "submodules, before and after they are fetched",
	  .tool = CONFIGURED_GIT,
	  .is_project_trusted = true,
	  .files = { { CONFIG, "[submodule \"lib\"]\nactive = true\nurl = git@a.test:x\n" },
		     { CASE_CWD "/.gitmodules", "[submodule \"lib\"]\npath = lib\nurl = ../x\n"
						"[submodule \"b\"]\nurl = ssh://b.test/y\n" } },
	  .want = "tcp://a.test:22 /home/ana/project/.git/config:3\n"
		  "tcp://b.test:22 /home/ana/project/.gitmodules:5\n" },
	{ .name = "an address as for scp",
	  .tool = CONFIGURED_GIT,
	  .is_project_trusted = true,
	  .files = { { CONFIG,
		       "[remote \"o\"]\nurl = git@[2001:db8::1]:x\nurl = [2001:db8::2]:x\n" } },
	  .want = "tcp://[2001:db8::1]:22 /home/ana/project/.git/config:2\n"
		  "tcp://[2001:db8::2]:22 /home/ana/project/.git/config:3\n" },
	{ .name = "a link that leads nowhere",
	  .tool = CONFIGURED_GIT,
	  .is_project_trusted = true,
	  .files = { { CASE_CWD "/.git", "gitdir: /nowhere" },
		     { CASE_HOME "/.git/config", "[remote \"o\"]\nurl = https://a.test/\n" } },
	  .want = "",
	  .says = "not in a git repository" },
	{ .name = "an invalid link",
	  .tool = CONFIGURED_GIT,
	  .is_project_trusted = true,
	  .files = { { CASE_CWD "/.git", "elsewhere\n" } },
	  .says = "/home/ana/project/.git:1: the file is not \"gitdir: PATH\"" },
	{ .name = "a helper fetches it",
	  .tool = CONFIGURED_GIT,
	  .is_project_trusted = true,
	  .files = { { CONFIG, "[remote \"o\"]\nurl = ext::sh -c x\n" } },
	  .want = "",
	  .says = ":2: left out, because another program fetches it" },
	{ .name = "no repository",
	  .tool = CONFIGURED_GIT,
	  .is_project_trusted = true,
	  .want = "",
	  .says = "not in a git repository" },
	{ .name = "a continued and quoted value",
	  .tool = CONFIGURED_GIT,
	  .is_project_trusted = true,
	  .files = { { CONFIG, "[remote \"o\"]\nurl = \"https://a\"\\\n.test/ # x\n" } },
	  .want = "https://a.test:443 /home/ana/project/.git/config:3\n" },
	{ .name = "a host that is a wildcard",
	  .tool = CONFIGURED_GIT,
	  .is_project_trusted = true,
	  .files = { { CONFIG, "[remote \"o\"]\nurl = git@*:x\n" } },
	  .says = "/home/ana/project/.git/config:2: the host of the URL" },
	{ .name = "an open section",
	  .tool = CONFIGURED_GIT,
	  .is_project_trusted = true,
	  .files = { { CONFIG, "[remote \"o\nurl = https://a.test\n" } },
	  .says = "/home/ana/project/.git/config:1: the subsection is not closed" },
	{ .name = "an open quote",
	  .tool = CONFIGURED_GIT,
	  .is_project_trusted = true,
	  .files = { { CONFIG, "[remote \"o\"]\nurl = \"https://a.test\n" } },
	  .says = "/home/ana/project/.git/config:2: the quoted text is not closed" },
	{ .name = "an unknown escape",
	  .tool = CONFIGURED_GIT,
	  .is_project_trusted = true,
	  .files = { { CONFIG, "[remote \"o\"]\nurl = https://a\\q.test\n" } },
	  .says = "/home/ana/project/.git/config:2: unknown escape; git expects n, t, b, a quote "
		  "or a backslash after a backslash" },
};

START_TEST(git_tool)
{
	configured_test_case(&cases[_i]);
}
END_TEST

TCase *git_cases(void)
{
	TCase *tcase = tcase_create("git");

	tcase_add_loop_test(tcase, git_tool, 0, ARRAY_SIZE(cases));
	return tcase;
}
