#include "policies/commands/danger_impl.h"

#include <string.h>

#include "base/mem.h"
#include "policies/commands/option_impl.h"
#include "policies/commands/program_kind_impl.h"
#include "policies/commands/shell/shell_impl.h"

/* To add a danger: one line. It matches when the program is @name, its first operand is one of
 * @subcommands (if given), and one of its words is an option by letter or name, is one of @words,
 * or begins with @beginning. Without these four it always matches. */
static const struct danger {
	const char *name, *subcommands;
	const char *letters, *names, *words, *beginning;
	const char *why;
} dangers[] = {
	{ "rm", "", "f", "force", "", "", "removes without asking" },
	{ "rm", "", "", "", "/ /* ~ ~/ . .. * ./ ../", "", "removes all files" },
	{ "unlink", "", "", "", "/", "", "removes all files" },
	{ "chmod", "", "R", "recursive", "", "", "changes the modes of a whole directory tree" },
	{ "chmod", "", "", "", "u+s g+s +s 4755 4777 6755", "", "lets a program run as its owner" },
	{ "chown", "", "R", "recursive", "", "", "changes the owner of a whole directory tree" },
	{ "chgrp", "", "R", "recursive", "", "", "changes the group of a whole directory tree" },
	{ "dd", "", "", "", "", "of=", "writes over a file or a device" },
	{ "shred", "", "", "", "", "", "destroys the content of a file" },
	{ "truncate", "", "s", "size", "", "", "truncates a file" },
	{ "wipefs", "", "", "", "", "", "destroys a file system" },
	{ "blkdiscard", "", "", "", "", "", "destroys a file system" },
	{ "mkswap", "", "", "", "", "", "destroys a file system" },
	{ "fdisk", "", "", "", "", "", "changes partitions" },
	{ "sfdisk", "", "", "", "", "", "changes partitions" },
	{ "parted", "", "", "", "", "", "changes partitions" },
	{ "shutdown", "", "", "", "", "", "stops the machine" },
	{ "reboot", "", "", "", "", "", "stops the machine" },
	{ "halt", "", "", "", "", "", "stops the machine" },
	{ "poweroff", "", "", "", "", "", "stops the machine" },
	{ "init", "0 1 6", "", "", "", "", "stops the machine" },
	{ "telinit", "0 1 6", "", "", "", "", "stops the machine" },
	{ "systemctl", "poweroff reboot halt kexec suspend hibernate rescue emergency", "", "", "",
	  "", "stops the machine" },
	{ "systemctl", "stop disable mask", "", "", "", "", "stops a service" },
	{ "kill", "", "", "", "-1", "", "kills every process" },
	{ "killall", "", "", "", "", "", "kills processes by name" },
	{ "pkill", "", "", "", "", "", "kills processes by name" },
	{ "crontab", "", "r", "", "", "", "removes all cron jobs" },
	{ "userdel", "", "", "", "", "", "removes a user" },
	{ "iptables", "", "F", "flush", "", "", "opens the firewall" },
	{ "nft", "flush", "", "", "", "", "opens the firewall" },
	{ "find", "", "", "", "-delete", "", "removes the files it finds" },
	{ "git", "reset", "", "hard", "", "", "discards changes" },
	{ "git", "clean", "f", "force", "", "", "removes untracked files" },
	{ "git", "push", "fd", "force force-with-lease force-if-includes mirror delete prune", "",
	  "+", "rewrites a published history" },
	{ "git", "push", "", "", "", ":", "rewrites a published history" },
	{ "git", "checkout", "f", "force", ". --", "", "discards changes" },
	{ "git", "switch", "fC", "force discard-changes force-create", "", "", "discards changes" },
	{ "git", "restore", "", "", "", "", "discards changes" },
	{ "git", "branch", "DMC", "force", "", "", "removes or moves a branch" },
	{ "git", "branch", "d", "delete", "", "", "removes or moves a branch" },
	{ "git", "stash", "", "", "drop clear", "", "discards changes" },
	{ "git", "reflog", "", "", "expire delete", "",
	  "removes data that could still be recovered" },
	{ "git", "filter-branch filter-repo", "", "", "", "", "rewrites the history" },
	{ "git", "update-ref", "d", "stdin", "", "", "removes or moves a branch" },
	{ "git", "gc", "", "prune", "", "", "removes data that could still be recovered" },
	{ "docker", "system", "", "", "prune", "", "removes containers and volumes" },
	{ "kubectl", "delete drain", "", "", "", "", "removes resources in a cluster" },
	{ "terraform", "destroy", "", "", "", "", "removes remote resources" },
	{ "npm", "publish unpublish", "", "", "", "", "publishes" },
	{ "cargo", "publish yank", "", "", "", "", "publishes" },
	{ "twine", "upload", "", "", "", "", "publishes" },
};

/* Options of git itself that take the next word. */
static const char git_taking[] = "-C -c --git-dir --work-tree --namespace --exec-path --config-env "
				 "--super-prefix --attr-source";

/* The first operand, or argc. */
static size_t find_subcommand(const struct command_piece *piece)
{
	bool is_git = strcmp(pieces_base(piece->argv[0]), "git") == 0;
	size_t at = 1;

	while (at < piece->argc && piece->argv[at][0] == '-') {
		if (is_git && option_is_one_of(piece->argv[at], git_taking))
			at++;
		at++;
	}
	return at < piece->argc ? at : piece->argc;
}

static bool has_word(const struct danger *danger, const struct command_piece *piece, size_t first)
{
	for (size_t i = first; i < piece->argc; i++) {
		const char *word = piece->argv[i];
		size_t len = strlen(danger->beginning);

		if (option_is_one_of(word, danger->words) ||
		    (len > 0 && strncmp(word, danger->beginning, len) == 0))
			return true;
		if (strcmp(word, "--") == 0)
			first = piece->argc; /* no options follow -- */
		if (first < piece->argc && (option_has_letter(word, danger->letters) ||
					    option_has_name(word, danger->names)))
			return true;
	}
	return false;
}

static bool is_danger(const struct danger *danger, const struct command_piece *piece)
{
	size_t first = 1;

	if (strcmp(danger->name, pieces_base(piece->argv[0])) != 0)
		return false;
	if (danger->subcommands[0]) {
		first = find_subcommand(piece);
		if (first == piece->argc ||
		    !option_is_one_of(piece->argv[first], danger->subcommands))
			return false;
		first++;
	}
	return (!danger->letters[0] && !danger->names[0] && !danger->words[0] &&
		!danger->beginning[0]) ||
	       has_word(danger, piece, first);
}

static bool is_download(const struct command_piece *piece)
{
	return piece->argc > 0 && program_kind_is_downloader(piece->argv[0]);
}

static bool has_unknown_word(const struct command_piece *piece)
{
	for (size_t i = 0; i < piece->argc; i++) {
		if (piece->words[i] == COMMAND_WORD_UNKNOWN)
			return true;
	}
	return false;
}

/* Does the program execute its input? An interpreter that has a program argument reads data. */
static bool runs_input(const struct command_piece *piece)
{
	return shell_is(piece) || (program_kind_is_language(piece->argv[0]) &&
				   (piece->argc == 1 || strcmp(piece->argv[1], "-") == 0));
}

/* Does a download reach it through a pipe or a substitution? */
static bool runs_download(const struct command_pieces *pieces, size_t index)
{
	const struct command_piece *piece = &pieces->list[index];
	bool is_unnamed = piece->words[0] == COMMAND_WORD_UNKNOWN;

	for (size_t i = index;
	     !is_unnamed && runs_input(piece) && i > 0 && pieces->list[i].flags & COMMAND_PIPED;
	     i--) {
		if (is_download(&pieces->list[i - 1]))
			return true;
	}
	if (!is_unnamed &&
	    !(has_unknown_word(piece) &&
	      (shell_is(piece) || option_is_one_of(piece->argv[0], "eval source ."))))
		return false;
	for (size_t i = index + 1; i < pieces->count && pieces->list[i].depth > piece->depth; i++) {
		if (pieces->list[i].flags & COMMAND_INSERTED && is_download(&pieces->list[i]))
			return true;
	}
	return false;
}

static bool writes_disk(const struct command_pieces *pieces, size_t index)
{
	static const char *const disks[] = { "/dev/sd",     "/dev/nvme", "/dev/vd",
					     "/dev/mmcblk", "/dev/dm-",  "/dev/mapper/" };

	for (size_t i = 0; i < pieces->redirect_count; i++) {
		const struct command_redirect *redirect = &pieces->redirects[i];

		for (size_t d = 0; redirect->piece == index && redirect->kind == COMMAND_WRITES &&
				   d < ARRAY_SIZE(disks);
		     d++) {
			if (strncmp(redirect->target, disks[d], strlen(disks[d])) == 0)
				return true;
		}
	}
	return false;
}

const char *danger_find(const struct command_pieces *pieces, size_t index)
{
	const struct command_piece *piece = &pieces->list[index];

	if (writes_disk(pieces, index))
		return "writes over a device";
	if (piece->argc == 0)
		return NULL;
	if (strncmp(pieces_base(piece->argv[0]), "mkfs", 4) == 0)
		return "destroys a file system";
	for (size_t i = 0; i < ARRAY_SIZE(dangers); i++) {
		if (is_danger(&dangers[i], piece))
			return dangers[i].why;
	}
	return runs_download(pieces, index) ? "runs a downloaded program" : NULL;
}
