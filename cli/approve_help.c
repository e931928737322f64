#include "cli/approve.h"

#include <string.h>

#include "base/mem.h"

static const char help[] =
	"usage: sallyport approve list [--json]\n"
	"       sallyport approve watch [--json | --plain]\n"
	"       sallyport approve allow ID [--scope once|exec|session|always] [WIDTH] [--confirm "
	"DOMAIN]\n"
	"       sallyport approve deny ID [--scope once|exec|session|always] [WIDTH]\n"
	"       sallyport approve abort ID\n"
	"       sallyport approve grants [--json]\n"
	"       sallyport approve revoke GRANT\n"
	"       sallyport approve undo [RUN]\n"
	"       sallyport approve live [--json]\n"
	"       sallyport approve cut CONNECTION\n"
	"       sallyport approve bundle FILE [--key KEYFILE]\n"
	"       sallyport approve reviewer [--json]\n"
	"\n"
	"Lists and answers the questions that wait in this user's runs; with --session NAME, in\n"
	"front of the step or behind it, in that session (sallyport-session(1)) only.\n"
	"\n"
	"list    the questions that wait now\n"
	"watch   every question as it comes, until Ctrl-C; while it runs, somebody is there to "
	"ask\n"
	"allow   let through: once (those now waiting; the default), for the command that asks\n"
	"        (exec), for the session, or always (one line in the user's policy file)\n"
	"deny    refuse, with the same scopes\n"
	"abort   refuse, and end the commands that wait for it\n"
	"grants  the answers that are remembered\n"
	"revoke  take one back; connections that live by it are cut\n"
	"undo    take the last one back\n"
	"live    the connections that are open\n"
	"cut     end one of them; what allowed it stays\n"
	"bundle  show and answer, from a file, what was asked where nobody was\n"
	"reviewer  how the reviewer programs judged, compared with people\n"
	"\n"
	"`sallyport approve list --help` and so on say more; the manual is sallyport-approve(1).\n";

static const char help_list[] =
	"usage: sallyport approve list [--session NAME] [--json]\n"
	"\n"
	"Prints the questions that wait now in all runs of this user, oldest run first to answer.\n"
	"\n"
	"  --session NAME  of that session only\n"
	"  --json  one array of {id, protocol, host, port, waiting, commands, command_count, "
	"age_s,\n"
	"          left_s, rule, because, private, session, run, touched, risk, warning, typed, "
	"times,\n"
	"          program, chain}\n"
	"\n"
	"Exit status: 0 done (also when none waits), 1 no such session, 3 error.\n"
	"\n"
	"  sallyport approve list --json | jq -r '.[].host'\n";

static const char help_watch[] =
	"usage: sallyport approve watch [--session NAME] [--json | --plain]\n"
	"\n"
	"Prints every question as it comes, in all runs of this user, also those that begin "
	"later,\n"
	"until Ctrl-C. On a terminal it is a screen, and each answer is a key of it; `?` says "
	"which.\n"
	"With --plain, and elsewhere, answers are typed, or piped in, one a line: a letter and an "
	"id\n"
	"(y 7f3a-1), or allow, deny or abort, an id and a scope (allow 7f3a-1 session). To allow "
	"what\n"
	"a question warns of, its domain is typed behind that (y 7f3a-1 example.org). Widths and\n"
	"words are those of `sallyport approve allow` (s 7f3a-1 --domain --for 1h); what a width\n"
	"would store is shown to whoever types it, and given when the next line is yes.\n"
	"\n"
	"  --session NAME  of that session only; ends with it\n"
	"  --plain line by line, on a terminal too\n"
	"  --json  one event a line; answers may be "
	"{\"op\":\"allow\",\"question\":ID,\"scope\":\"exec\"}\n"
	"          and with the members of sallyport-approver(7)\n"
	"\n"
	"Exit status: 0 ended by a signal, or with its session, 1 no such session, 3 error.\n"
	"\n"
	"  sallyport approve watch\n";

static const char help_answer[] =
	"\n"
	"Answers the question ID, as `sallyport approve list` shows it, and prints what is\n"
	"remembered, in the policy's language.\n"
	"\n"
	"  --scope once     those now waiting (the default)\n"
	"  --scope exec     the command that asks, until it ends\n"
	"  --scope session  the session\n"
	"  --scope always   for good: one line in the user's policy file\n"
	"\n"
	"With any scope but once:\n"
	"  --domain         the registrable domain and every name below it\n"
	"  --all-ports      every port of the protocol\n"
	"  --program        only for the program that asks\n"
	"  --for 30m        until then\n";

static const char help_allow[] =
	"  --upload 64k, --download 1m, --connections 4\n"
	"                   over all its connections\n"
	"\n"
	"  --session NAME   it has to be a question of that session\n"
	"  --confirm DOMAIN the domain of a question that warns: without it, it is not allowed\n"
	"  --words TEXT     to whoever asked\n";

static const char help_deny[] = "\n"
				"  --session NAME   it has to be a question of that session\n"
				"  --words TEXT     to whoever asked\n";

static const char help_end[] =
	"\n"
	"Exit status: 0 done, 1 no such question or finished already, 3 error.\n"
	"\n"
	"  sallyport approve %s 7f3a-1%s\n";

static const char help_grants[] =
	"usage: sallyport approve grants [--session NAME] [--json]\n"
	"\n"
	"Prints the answers that are remembered in all runs of this user.\n"
	"\n"
	"  --session NAME  in that session only\n"
	"  --json  one array of {id, run, action, scope, exec, text, by, since, until, bytes_up,\n"
	"          bytes_down, connections, live, from}\n"
	"\n"
	"Exit status: 0 done (also when there is none), 1 no such session, 3 error.\n"
	"\n"
	"  sallyport approve grants\n";

static const char help_revoke[] =
	"usage: sallyport approve revoke [--session NAME] GRANT\n"
	"\n"
	"Takes a remembered answer back, as `sallyport approve grants` names it: it holds no "
	"more,\n"
	"connections that live by it are cut, and the line of one for always leaves the policy "
	"file.\n"
	"\n"
	"Exit status: 0 done, 1 there is no such answer, 3 error.\n"
	"\n"
	"  sallyport approve revoke 7f3a-g2\n";

static const char help_undo[] =
	"usage: sallyport approve undo [--session NAME | RUN]\n"
	"\n"
	"Takes the last remembered answer of a run back, as revoke does. With more than one run,\n"
	"say which: its name is in front of the dash of its ids.\n"
	"\n"
	"Exit status: 0 done, 1 nothing is remembered, 3 error.\n"
	"\n"
	"  sallyport approve undo\n";

static const char help_live[] =
	"usage: sallyport approve live [--session NAME] [--json]\n"
	"\n"
	"Prints the connections that are open in all runs of this user, and what allowed them.\n"
	"\n"
	"  --json  one array of {id, run, grant, exec, protocol, host, port, way, rule, age_s}\n"
	"\n"
	"Exit status: 0 done (also when there is none), 3 error.\n"
	"\n"
	"  sallyport approve live\n";

static const char help_cut[] =
	"usage: sallyport approve cut [--session NAME] CONNECTION\n"
	"\n"
	"Ends a connection, as `sallyport approve live` names it. What allowed it stays: to take\n"
	"that back, see `sallyport approve revoke --help`.\n"
	"\n"
	"Exit status: 0 done, 1 there is no such connection, 3 error.\n"
	"\n"
	"  sallyport approve cut 7f3a-c17\n";

static void help_print_answer(const char *name)
{
	bool is_abort = strcmp(name, "abort") == 0, is_allow = strcmp(name, "allow") == 0;

	(void)printf("usage: sallyport approve %s [--session NAME] ID%s\n", name,
		     is_abort ? " [--words TEXT]" : " [--scope SCOPE] [WIDTH] [--words TEXT]");
	if (is_abort)
		(void)fputs("\nAnswers the question ID: the connections are refused and their "
			    "commands ended.\n",
			    stdout);
	else
		(void)printf("%s%s", help_answer, is_allow ? help_allow : help_deny);
	(void)printf(help_end, name, is_abort ? "" : " --scope session --domain --for 1h");
}

int approve_help(const char *name)
{
	static const struct {
		const char *name, *text;
	} texts[] = {
		{ "", help },
		{ "list", help_list },
		{ "watch", help_watch },
		{ "grants", help_grants },
		{ "revoke", help_revoke },
		{ "undo", help_undo },
		{ "live", help_live },
		{ "cut", help_cut },
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (strcmp(texts[i].name, name) == 0)
			return fputs(texts[i].text, stdout) < 0 ? -1 : 0;
	}
	help_print_answer(name);
	return 0;
}
