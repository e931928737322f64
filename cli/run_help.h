/* run_help: what --help says of options that are the same for a run and for a session. */
#pragma once

#define RUN_HELP_POLICY                                                                            \
	"  --policy FILE            read rules from FILE (repeatable; the user's own are always "  \
	"read)\n"
#define RUN_HELP_PROMPT_TIMEOUT                                                                    \
	"  --prompt-timeout TIME    how long a question waits, e.g. 30s, 5m (default 5m)\n"
#define RUN_HELP_HELPERS                                                                           \
	"  --web[=PORT]             a page for answers on 127.0.0.1; its address is printed "      \
	"once\n"                                                                                   \
	"  --reviewer COMMAND       a program that is asked, too; see sallyport-reviewer(7)\n"     \
	"  --reviewer-mode shadow|answer  compare it with people only (the default), or let it "   \
	"answer\n"                                                                                 \
	"  --reviewer-timeout TIME  how long it may think about a question (default 10s)\n"        \
	"  --notify                 say on the desktop that a question waits\n"                    \
	"  --webhook URL            tell a server of every question, signed with --webhook-key\n"  \
	"  --webhook-key FILE       the key, a line that only you can read\n"                      \
	"  --webhook-answer URL     put a link into it that answers that question, once, on the "  \
	"page\n"                                                                                   \
	"                           of --web as it is reached from elsewhere\n"
#define RUN_HELP_GRANTS_OF                                                                         \
	"  --grants-of NAME         begin with copies of what that session, or run, remembers\n"
#define RUN_HELP_AUDIT                                                                             \
	"  --audit FILE             append the audit log to FILE (default: in the state folder)\n"
#define RUN_HELP_ANSWERS                                                                           \
	"  --answers FILE           take answers from FILE, signed by an approver (repeatable)\n"
