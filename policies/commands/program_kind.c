#include "policies/commands/program_kind_impl.h"

#include <string.h>
#include <strings.h>

#include "policies/commands/option_impl.h"
#include "policies/commands/shell/pieces_impl.h"

/* Versions behind the name (python3.12, lua5.4) are removed first. */
/* These read a program from standard input. */
static const char languages[] =
	"python pypy py pyw pythonw ipython node nodejs deno bun perl ruby php lua luajit tclsh "
	"guile osascript pwsh powershell R julia";
static const char interpreters[] = "wish expect awk gawk mawk nawk racket scheme sbcl clisp ghci "
				   "runghc Rscript octave java jshell "
				   "groovy scala kotlin erl escript elixir iex gdb lldb ed ex vi "
				   "vim nvim emacs nano sed jq m4 bc dc make gmake ninja "
				   "just task sqlite psql mysql";
static const char downloaders[] =
	"curl wget wget2 aria2c fetch lynx links w3m http https xh axel lftp ftp tftp";
/* These run or change something outside this command: their words are programs again. */
static const char runners[] = "ssh scp sftp rsync npx pnpx bunx uvx pipx uv poetry pdm hatch rye "
			      "watch script parallel flock su runuser nsenter "
			      "systemd-run strace ltrace setpriv capsh firejail bwrap entr tmux "
			      "screen at batch crontab unbuffer xvfb-run fakeroot "
			      "proot chrt taskset numactl prlimit start-stop-daemon "
			      "dbus-run-session docker podman kubectl nerdctl lxc vagrant "
			      "ansible direnv mise asdf nix nix-shell eval exec source . builtin "
			      "trap tee cp mv ln install rm rmdir dd chmod chown "
			      "chgrp mkfs shred truncate kill nc ncat netcat socat telnet openssl "
			      "gpg git-shell tar zip unzip patch cpio";

static bool is_in(const char *program, const char *list)
{
	const char *base = pieces_base(program);
	char name[32];
	size_t len = strnlen(base, sizeof(name));

	if (len == sizeof(name))
		return false;
	memcpy(name, base, len + 1);
	/* Windows programs, on a machine that runs both systems. */
	if (len > 4 && strcasecmp(name + len - 4, ".exe") == 0)
		name[len -= 4] = '\0';
	if (option_is_one_of(name, list))
		return true;
	while (len > 1 && strchr("0123456789.-", name[len - 1]))
		name[--len] = '\0';
	return option_is_one_of(name, list);
}

bool program_kind_is_downloader(const char *program)
{
	return is_in(program, downloaders);
}

bool program_kind_is_language(const char *program)
{
	return is_in(program, languages);
}

bool program_kind_is_interpreter(const char *program)
{
	return is_in(program, interpreters);
}

bool program_kind_is_runner(const char *program)
{
	return is_in(program, runners);
}
