#include "policies/policies_protected.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"

/* To protect another path by default, add a line. It must be right in every project that has such a
 * path, so files that programs write during a build do not belong here: we cannot distinguish a
 * change to a project's own build files or dependencies from the work that was requested. */
static const struct policy_protected_line table[] = {
	/* Names without a dot come first: policy_protected_begins(). A star stands for the
	 * beginning of a file's name. */
	{ "*.code-workspace", POLICY_PROTECTED_ANYWHERE },
	{ "opencode.json", POLICY_PROTECTED_ANYWHERE },
	{ "crush.json", POLICY_PROTECTED_ANYWHERE },
	{ "opencode.jsonc", POLICY_PROTECTED_ANYWHERE },
	{ "mise.toml", POLICY_PROTECTED_ANYWHERE },
	{ "mise.local.toml", POLICY_PROTECTED_ANYWHERE },
	{ "lefthook.yml", POLICY_PROTECTED_ANYWHERE },
	{ "lefthook.yaml", POLICY_PROTECTED_ANYWHERE },
	{ "lefthook.json", POLICY_PROTECTED_ANYWHERE },
	{ "lefthook.toml", POLICY_PROTECTED_ANYWHERE },
	{ "lefthook-local.yml", POLICY_PROTECTED_ANYWHERE },
	{ "lefthook-local.yaml", POLICY_PROTECTED_ANYWHERE },
	{ "lefthook-local.json", POLICY_PROTECTED_ANYWHERE },
	{ "lefthook-local.toml", POLICY_PROTECTED_ANYWHERE },
	/* git; protected_in_git() has the content of its folder */
	{ ".gitconfig", POLICY_PROTECTED_ANYWHERE },
	{ ".config/git", POLICY_PROTECTED_ANYWHERE },
	{ ".git-credentials", POLICY_PROTECTED_ANYWHERE },
	/* the hooks that these install run what is in them */
	{ ".husky", POLICY_PROTECTED_ANYWHERE },
	{ ".lefthook.yml", POLICY_PROTECTED_ANYWHERE },
	{ ".lefthook.yaml", POLICY_PROTECTED_ANYWHERE },
	{ ".lefthook.json", POLICY_PROTECTED_ANYWHERE },
	{ ".lefthook.toml", POLICY_PROTECTED_ANYWHERE },
	{ ".pre-commit-config.yaml", POLICY_PROTECTED_ANYWHERE },
	/* hooks and aliases of other version control */
	{ ".hg/hgrc", POLICY_PROTECTED_ANYWHERE },
	{ ".hg/hgrc-not-shared", POLICY_PROTECTED_ANYWHERE },
	{ ".sl/config", POLICY_PROTECTED_ANYWHERE },
	{ ".jj/repo/config.toml", POLICY_PROTECTED_ANYWHERE },
	/* editors read these when they open a folder */
	{ ".vscode", POLICY_PROTECTED_ANYWHERE },
	{ ".idea", POLICY_PROTECTED_ANYWHERE },
	{ ".devcontainer", POLICY_PROTECTED_ANYWHERE },
	{ ".devcontainer.json", POLICY_PROTECTED_ANYWHERE },
	{ ".fleet", POLICY_PROTECTED_ANYWHERE },
	{ ".zed", POLICY_PROTECTED_ANYWHERE },
	{ ".helix", POLICY_PROTECTED_ANYWHERE },
	{ ".vs", POLICY_PROTECTED_ANYWHERE },
	{ ".exrc", POLICY_PROTECTED_ANYWHERE },
	{ ".nvimrc", POLICY_PROTECTED_ANYWHERE },
	{ ".nvim.lua", POLICY_PROTECTED_ANYWHERE },
	{ ".vimrc", POLICY_PROTECTED_ANYWHERE },
	{ ".lvimrc", POLICY_PROTECTED_ANYWHERE },
	{ ".dir-locals.el", POLICY_PROTECTED_ANYWHERE },
	{ ".gdbinit", POLICY_PROTECTED_ANYWHERE },
	{ ".lldbinit", POLICY_PROTECTED_ANYWHERE },
	/* shells read these when they enter a folder */
	{ ".envrc", POLICY_PROTECTED_ANYWHERE },
	{ ".mise.toml", POLICY_PROTECTED_ANYWHERE },
	{ ".mise.local.toml", POLICY_PROTECTED_ANYWHERE },
	{ ".mise/config.toml", POLICY_PROTECTED_ANYWHERE },
	{ ".autoenv", POLICY_PROTECTED_ANYWHERE },
	/* agents */
	{ ".claude", POLICY_PROTECTED_ANYWHERE },
	{ ".claude.json", POLICY_PROTECTED_ANYWHERE },
	{ ".codex", POLICY_PROTECTED_ANYWHERE },
	{ ".agents", POLICY_PROTECTED_ANYWHERE },
	{ ".cursor", POLICY_PROTECTED_ANYWHERE },
	{ ".gemini", POLICY_PROTECTED_ANYWHERE },
	{ ".windsurf", POLICY_PROTECTED_ANYWHERE },
	{ ".continue", POLICY_PROTECTED_ANYWHERE },
	{ ".opencode", POLICY_PROTECTED_ANYWHERE },
	{ ".config/opencode", POLICY_PROTECTED_ANYWHERE },
	{ ".kiro", POLICY_PROTECTED_ANYWHERE },
	{ ".roo", POLICY_PROTECTED_ANYWHERE },
	{ ".amazonq", POLICY_PROTECTED_ANYWHERE },
	{ ".qwen", POLICY_PROTECTED_ANYWHERE },
	{ ".factory", POLICY_PROTECTED_ANYWHERE },
	{ ".kilocode", POLICY_PROTECTED_ANYWHERE },
	{ ".junie", POLICY_PROTECTED_ANYWHERE },
	{ ".trae", POLICY_PROTECTED_ANYWHERE },
	{ ".augment", POLICY_PROTECTED_ANYWHERE },
	{ ".crush.json", POLICY_PROTECTED_ANYWHERE },
	{ ".aider.conf.yml", POLICY_PROTECTED_ANYWHERE },
	{ ".goosehints", POLICY_PROTECTED_ANYWHERE },
	{ ".mcp.json", POLICY_PROTECTED_ANYWHERE },
	/* policies of other folders than the working directory */
	{ ".sallyport", POLICY_PROTECTED_ANYWHERE },
	/* shells read these when they start */
	{ ".bashrc", POLICY_PROTECTED_ANYWHERE },
	{ ".bash_profile", POLICY_PROTECTED_ANYWHERE },
	{ ".bash_login", POLICY_PROTECTED_ANYWHERE },
	{ ".bash_logout", POLICY_PROTECTED_ANYWHERE },
	{ ".bash_aliases", POLICY_PROTECTED_ANYWHERE },
	{ ".bash_completion", POLICY_PROTECTED_ANYWHERE },
	{ ".profile", POLICY_PROTECTED_ANYWHERE },
	{ ".zshrc", POLICY_PROTECTED_ANYWHERE },
	{ ".zshenv", POLICY_PROTECTED_ANYWHERE },
	{ ".zprofile", POLICY_PROTECTED_ANYWHERE },
	{ ".zlogin", POLICY_PROTECTED_ANYWHERE },
	{ ".zlogout", POLICY_PROTECTED_ANYWHERE },
	{ ".kshrc", POLICY_PROTECTED_ANYWHERE },
	{ ".mkshrc", POLICY_PROTECTED_ANYWHERE },
	{ ".cshrc", POLICY_PROTECTED_ANYWHERE },
	{ ".tcshrc", POLICY_PROTECTED_ANYWHERE },
	{ ".login", POLICY_PROTECTED_ANYWHERE },
	{ ".logout", POLICY_PROTECTED_ANYWHERE },
	{ ".inputrc", POLICY_PROTECTED_ANYWHERE },
	{ ".xinitrc", POLICY_PROTECTED_ANYWHERE },
	{ ".xsession", POLICY_PROTECTED_ANYWHERE },
	{ ".xsessionrc", POLICY_PROTECTED_ANYWHERE },
	{ ".xprofile", POLICY_PROTECTED_ANYWHERE },
	{ ".pam_environment", POLICY_PROTECTED_ANYWHERE },
	{ ".tmux.conf", POLICY_PROTECTED_ANYWHERE },
	{ ".screenrc", POLICY_PROTECTED_ANYWHERE },
	{ ".config/fish", POLICY_PROTECTED_ANYWHERE },
	{ ".config/zsh", POLICY_PROTECTED_ANYWHERE },
	{ ".config/nushell", POLICY_PROTECTED_ANYWHERE },
	{ ".config/environment.d", POLICY_PROTECTED_ANYWHERE },
	/* logins from and to other machines */
	{ ".ssh", POLICY_PROTECTED_ANYWHERE },
	{ ".rhosts", POLICY_PROTECTED_ANYWHERE },
	{ ".forward", POLICY_PROTECTED_ANYWHERE },
	{ ".procmailrc", POLICY_PROTECTED_ANYWHERE },
	{ ".gnupg", POLICY_PROTECTED_ANYWHERE },
	/* programs that the session starts */
	{ ".config/systemd", POLICY_PROTECTED_ANYWHERE },
	{ ".local/share/systemd", POLICY_PROTECTED_ANYWHERE },
	{ ".config/autostart", POLICY_PROTECTED_ANYWHERE },
	{ ".config/autostart-scripts", POLICY_PROTECTED_ANYWHERE },
	{ ".config/plasma-workspace", POLICY_PROTECTED_ANYWHERE },
	{ ".local/share/applications", POLICY_PROTECTED_ANYWHERE },
	{ ".local/share/dbus-1", POLICY_PROTECTED_ANYWHERE },
	{ ".local/share/bash-completion", POLICY_PROTECTED_ANYWHERE },
	{ ".local/bin", POLICY_PROTECTED_ANYWHERE },

	/* These may be project files elsewhere. */
	{ ".local/lib", POLICY_PROTECTED_HOME }, /* usercustomize and *.pth of python */
	{ "bin", POLICY_PROTECTED_HOME },
	{ "go/bin", POLICY_PROTECTED_HOME },
	{ ".cargo/bin", POLICY_PROTECTED_HOME },
	{ ".cargo/config", POLICY_PROTECTED_HOME },
	{ ".cargo/config.toml", POLICY_PROTECTED_HOME },
	{ ".cargo/credentials", POLICY_PROTECTED_HOME },
	{ ".cargo/credentials.toml", POLICY_PROTECTED_HOME },
	{ ".cargo/env", POLICY_PROTECTED_HOME },
	{ ".rustup/toolchains", POLICY_PROTECTED_HOME },
	{ ".deno/bin", POLICY_PROTECTED_HOME },
	{ ".bun/bin", POLICY_PROTECTED_HOME },
	{ ".npm-global", POLICY_PROTECTED_HOME },
	{ ".nvm", POLICY_PROTECTED_HOME },
	{ ".pyenv", POLICY_PROTECTED_HOME },
	{ ".rbenv", POLICY_PROTECTED_HOME },
	{ ".asdf", POLICY_PROTECTED_HOME },
	{ ".asdfrc", POLICY_PROTECTED_HOME },
	{ ".tool-versions", POLICY_PROTECTED_HOME },
	{ ".sdkman", POLICY_PROTECTED_HOME },
	{ ".ghcup/bin", POLICY_PROTECTED_HOME },
	{ ".cabal/bin", POLICY_PROTECTED_HOME },
	{ ".dotnet/tools", POLICY_PROTECTED_HOME },
	{ ".krew/bin", POLICY_PROTECTED_HOME },
	{ ".opam", POLICY_PROTECTED_HOME },
	{ ".julia/config", POLICY_PROTECTED_HOME },
	{ ".local/share/pnpm", POLICY_PROTECTED_HOME },
	{ ".local/share/mise", POLICY_PROTECTED_HOME },
	{ ".yarn/bin", POLICY_PROTECTED_HOME },
	{ ".volta", POLICY_PROTECTED_HOME },
	{ ".oh-my-zsh", POLICY_PROTECTED_HOME },
	{ ".zsh", POLICY_PROTECTED_HOME },
	{ ".nix-profile", POLICY_PROTECTED_HOME },
	{ ".config/nix", POLICY_PROTECTED_HOME },
	{ ".config/nixpkgs", POLICY_PROTECTED_HOME },
	{ ".config/home-manager", POLICY_PROTECTED_HOME },
	{ ".config/mise", POLICY_PROTECTED_HOME },
	{ ".config/direnv", POLICY_PROTECTED_HOME },
	{ ".config/starship.toml", POLICY_PROTECTED_HOME },
	{ ".local/share/direnv", POLICY_PROTECTED_HOME },
	{ ".npmrc", POLICY_PROTECTED_HOME },
	{ ".yarnrc", POLICY_PROTECTED_HOME },
	{ ".yarnrc.yml", POLICY_PROTECTED_HOME },
	{ ".netrc", POLICY_PROTECTED_HOME },
	{ ".pypirc", POLICY_PROTECTED_HOME },
	{ ".pip", POLICY_PROTECTED_HOME },
	{ ".config/pip", POLICY_PROTECTED_HOME },
	{ ".pydistutils.cfg", POLICY_PROTECTED_HOME },
	{ ".pdbrc", POLICY_PROTECTED_HOME },
	{ ".ipython", POLICY_PROTECTED_HOME },
	{ ".jupyter", POLICY_PROTECTED_HOME },
	{ ".gemrc", POLICY_PROTECTED_HOME },
	{ ".irbrc", POLICY_PROTECTED_HOME },
	{ ".pryrc", POLICY_PROTECTED_HOME },
	{ ".bundle/config", POLICY_PROTECTED_HOME },
	{ ".m2/settings.xml", POLICY_PROTECTED_HOME },
	{ ".mavenrc", POLICY_PROTECTED_HOME },
	{ ".gradle/gradle.properties", POLICY_PROTECTED_HOME },
	{ ".gradle/init.gradle", POLICY_PROTECTED_HOME },
	{ ".gradle/init.gradle.kts", POLICY_PROTECTED_HOME },
	{ ".gradle/init.d", POLICY_PROTECTED_HOME },
	{ ".Rprofile", POLICY_PROTECTED_HOME },
	{ ".Renviron", POLICY_PROTECTED_HOME },
	{ ".bazelrc", POLICY_PROTECTED_HOME },
	{ ".terraformrc", POLICY_PROTECTED_HOME },
	{ ".ansible.cfg", POLICY_PROTECTED_HOME },
	{ ".psqlrc", POLICY_PROTECTED_HOME },
	{ ".sqliterc", POLICY_PROTECTED_HOME },
	{ ".curlrc", POLICY_PROTECTED_HOME },
	{ ".wgetrc", POLICY_PROTECTED_HOME },
	{ ".hgrc", POLICY_PROTECTED_HOME },
	{ ".config/hg", POLICY_PROTECTED_HOME },
	{ ".subversion", POLICY_PROTECTED_HOME },
	{ ".mailcap", POLICY_PROTECTED_HOME },
	{ ".msmtprc", POLICY_PROTECTED_HOME },
	{ ".mbsyncrc", POLICY_PROTECTED_HOME },
	{ ".muttrc", POLICY_PROTECTED_HOME },
	{ ".config/mutt", POLICY_PROTECTED_HOME },
	{ ".lessfilter", POLICY_PROTECTED_HOME },
	{ ".config/mimeapps.list", POLICY_PROTECTED_HOME },
	{ ".docker", POLICY_PROTECTED_HOME },
	{ ".config/containers", POLICY_PROTECTED_HOME },
	{ ".kube", POLICY_PROTECTED_HOME },
	{ ".aws", POLICY_PROTECTED_HOME },
	{ ".azure", POLICY_PROTECTED_HOME },
	{ ".config/gcloud", POLICY_PROTECTED_HOME },
	{ ".config/gh", POLICY_PROTECTED_HOME },
	{ ".config/glab-cli", POLICY_PROTECTED_HOME },
	{ ".config/op", POLICY_PROTECTED_HOME },
	{ ".vault-token", POLICY_PROTECTED_HOME },
	{ ".vim", POLICY_PROTECTED_HOME },
	{ ".config/nvim", POLICY_PROTECTED_HOME },
	{ ".config/helix", POLICY_PROTECTED_HOME },
	{ ".config/zed", POLICY_PROTECTED_HOME },
	{ ".config/Code", POLICY_PROTECTED_HOME },
	{ ".config/Code - Insiders", POLICY_PROTECTED_HOME },
	{ ".config/VSCodium", POLICY_PROTECTED_HOME },
	{ ".config/Cursor", POLICY_PROTECTED_HOME },
	{ ".config/JetBrains", POLICY_PROTECTED_HOME },
	{ ".config/sublime-text", POLICY_PROTECTED_HOME },
	{ ".vscode-server", POLICY_PROTECTED_HOME },
	{ ".cursor-server", POLICY_PROTECTED_HOME },
	{ ".emacs", POLICY_PROTECTED_HOME },
	{ ".emacs.d", POLICY_PROTECTED_HOME },
	{ ".config/emacs", POLICY_PROTECTED_HOME },
	{ ".config/gdb", POLICY_PROTECTED_HOME },
	{ ".config/tmux", POLICY_PROTECTED_HOME },
	{ ".config/zellij", POLICY_PROTECTED_HOME },
	{ ".config/ghostty", POLICY_PROTECTED_HOME },
	{ ".config/foot", POLICY_PROTECTED_HOME },
	{ ".config/kitty", POLICY_PROTECTED_HOME },
	{ ".config/alacritty", POLICY_PROTECTED_HOME },
	{ ".config/wezterm", POLICY_PROTECTED_HOME },
	{ ".wezterm.lua", POLICY_PROTECTED_HOME },
	{ ".config/i3", POLICY_PROTECTED_HOME },
	{ ".config/sway", POLICY_PROTECTED_HOME },
	{ ".config/hypr", POLICY_PROTECTED_HOME },
	{ ".config/awesome", POLICY_PROTECTED_HOME },
	{ ".config/openbox", POLICY_PROTECTED_HOME },
	{ ".config/bspwm", POLICY_PROTECTED_HOME },
	{ ".config/sxhkd", POLICY_PROTECTED_HOME },
	{ ".config/qtile", POLICY_PROTECTED_HOME },
	{ ".config/niri", POLICY_PROTECTED_HOME },
	{ ".config/labwc", POLICY_PROTECTED_HOME },
	{ ".config/river", POLICY_PROTECTED_HOME },
	{ ".config/waybar", POLICY_PROTECTED_HOME },
	{ ".config/dconf", POLICY_PROTECTED_HOME },
	{ ".xmonad", POLICY_PROTECTED_HOME },
	/* a browser's extensions and the programs that these start */
	{ ".mozilla", POLICY_PROTECTED_HOME },
	{ ".thunderbird", POLICY_PROTECTED_HOME },
	{ ".config/chromium", POLICY_PROTECTED_HOME },
	{ ".config/google-chrome", POLICY_PROTECTED_HOME },
	{ ".config/BraveSoftware", POLICY_PROTECTED_HOME },
	{ ".local/share/thumbnailers", POLICY_PROTECTED_HOME },
	{ ".config/upstart", POLICY_PROTECTED_HOME },
	{ ".local/share/gnome-shell", POLICY_PROTECTED_HOME },
	{ ".local/share/nautilus", POLICY_PROTECTED_HOME },
	{ ".local/share/plasma", POLICY_PROTECTED_HOME },
};

/* commondir and gitdir point git to another repository, whose configuration is then used. */
const char *const policy_protected_git[] = { "hooks",     "config", "config.worktree",
					     "commondir", "gitdir", NULL };
const char *const policy_protected_git_inner[] = { "modules", "worktrees", NULL };

static const char git_folder[] = ".git";

const struct policy_protected_line *policy_protected_lines(size_t *ret_count)
{
	*ret_count = ARRAY_SIZE(table);
	return table;
}

static bool ends_with(const char *path, size_t len, const char *line)
{
	size_t n = strlen(line);

	return len > n && path[len - n - 1] == '/' && strncmp(path + len - n, line, n) == 0;
}

/* Does @path end with what follows the star of @line? */
static bool is_like(const char *path, size_t len, const char *line)
{
	size_t n = strlen(line + 1);

	return len > n && strncasecmp(path + len - n, line + 1, n) == 0;
}

static bool is_in_home(const struct policy_protection *protection, const char *path, size_t len,
		       const char *line)
{
	for (const char *const *home = protection->homes; home && *home; home++) {
		size_t n = strlen(*home);

		if (strcmp(*home, "/") == 0)
			n = 0;
		if (len == n + 1 + strlen(line) && strncmp(path, *home, n) == 0 && path[n] == '/' &&
		    strncmp(path + n + 1, line, strlen(line)) == 0)
			return true;
	}
	return false;
}

/* Is it a path from the policy? */
static bool is_named(const char *given, const char *path, size_t len)
{
	return given[0] == '/' ? strlen(given) == len && strncmp(given, path, len) == 0
			       : ends_with(path, len, given);
}

static const char *in_list(const char *const *list, const char *path, size_t len)
{
	for (; list && *list; list++)
		if (is_named(*list, path, len))
			return *list;
	return NULL;
}

/* Does @path contain "/.git/modules/" or a similar folder before @end? */
static bool is_in_inner(const char *path, size_t end)
{
	static const char folder[] = "/.git/";

	for (const char *at = path; (at = strstr(at, folder)) && (size_t)(at - path) < end; at++) {
		const char *rest = at + sizeof(folder) - 1;

		for (const char *const *inner = policy_protected_git_inner; *inner; inner++) {
			size_t len = strlen(*inner);

			if (strncmp(rest, *inner, len) == 0 && rest[len] == '/' &&
			    (size_t)(rest - path) + len + 1 < end)
				return true;
		}
	}
	return false;
}

/* Finds protected names in a folder .git, and in those of its submodules and worktrees, which may
 * have any names. */
static const char *protected_in_git(const char *path, size_t len)
{
	size_t start = len;

	if (ends_with(path, len, git_folder))
		return NULL; /* the folder itself; policy_protected_find() handles a file */
	while (start > 0 && path[start - 1] != '/')
		start--;
	for (const char *const *part = policy_protected_git; *part; part++) {
		if (strlen(*part) != len - start || strncmp(path + start, *part, len - start) != 0)
			continue;
		if (start > 0 && ends_with(path, start - 1, git_folder))
			return *part;
		if (is_in_inner(path, start))
			return *part;
	}
	return NULL;
}

static const char *in_table(const struct policy_protection *protection, const char *path,
			    size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		bool is = table[i].path[0] == '*' ? is_like(path, len, table[i].path)
			  : table[i].where == POLICY_PROTECTED_ANYWHERE
				  ? ends_with(path, len, table[i].path)
				  : is_in_home(protection, path, len, table[i].path);

		if (is)
			return table[i].path;
	}
	return protected_in_git(path, len);
}

static bool is_freed(const struct policy_protection *protection, const char *path, size_t len)
{
	for (size_t n = 1; n <= len; n++)
		if ((n == len || path[n] == '/') && in_list(protection->unprotect, path, n))
			return true;
	return false;
}

static bool is_protected(const struct policy_protection *protection, const char *path, size_t len,
			 const char **ret_line)
{
	const char *line = in_list(protection->protect, path, len);

	if (!line) {
		line = in_table(protection, path, len);
		if (line && is_freed(protection, path, len))
			line = NULL;
	}
	if (line && ret_line)
		*ret_line = line;
	return line != NULL;
}

bool policy_protected_is(const struct policy_protection *protection, const char *path,
			 const char **ret_line)
{
	return is_protected(protection, path, strlen(path), ret_line);
}

bool policy_protected_is_freed(const struct policy_protection *protection, const char *path)
{
	return is_freed(protection, path, strlen(path));
}

bool policy_protected_find(const struct policy_protection *protection, const char *path,
			   const char **ret_line)
{
	size_t len = strlen(path);

	for (size_t n = 1; n <= len; n++)
		if ((n == len || path[n] == '/') && is_protected(protection, path, n, ret_line))
			return true;
	if (!ends_with(path, len, git_folder) || is_freed(protection, path, len))
		return false;
	if (ret_line)
		*ret_line = git_folder; /* a program that writes it makes it a file */
	return true;
}

static bool is_below(const char *path, const char *directory)
{
	size_t len = strlen(directory);

	return strncmp(path, directory, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

/* Of the system, with everything in them, except for the folders where people build. */
static const char *const system_folders[] = {
	"/etc",
	"/boot",
	"/bin",
	"/sbin",
	"/lib",
	"/lib32",
	"/lib64",
	"/libx32",
	"/usr",
	"/efi",
	"/var/spool/cron",
	"/var/spool/at",
	"/var/lib/dpkg",
	"/var/lib/apt",
	"/var/lib/rpm",
	"/var/lib/pacman",
	"/var/lib/systemd",
	"/var/lib/cloud",
};

const char *policy_protected_place(const struct policy_protection *protection, const char *path)
{
	static const char *const sources[] = { "/usr/src/", "/usr/local/src/" };
	static const char *const shared[] = { "/var",       "/var/lib", "/var/log", "/var/cache",
					      "/var/spool", "/opt",     "/srv",     "/home",
					      "/mnt",       "/media",   "/nix",     "/snap" };

	for (const char *const *given = protection->named; given && *given; given++)
		if (is_below(path, *given))
			return NULL;
	for (const char *const *home = protection->homes; home && *home; home++)
		if (is_below(*home, path))
			return strcmp(*home, path) == 0 ? "it is a home directory"
							: "it contains a home directory";
	for (size_t i = 0; i < ARRAY_SIZE(shared); i++)
		if (strcmp(path, shared[i]) == 0)
			return "it contains files of the system and of other users";
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
		if (strncmp(path, sources[i], strlen(sources[i])) == 0)
			return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(system_folders); i++)
		if (is_below(path, system_folders[i]))
			return "it is part of the system";
	return NULL;
}

bool policy_protected_line_begins(const char *line, const char *name)
{
	size_t len = strlen(name);

	if (line[0] == '*')
		return is_like(name, len, line);
	return strncasecmp(line, name, len) == 0 && (line[len] == '/' || line[len] == '\0');
}

bool policy_protected_begins(const struct policy_protection *protection, const char *name)
{
	for (const char *const *given = protection->protect; given && *given; given++)
		if ((*given)[0] != '/' && policy_protected_line_begins(*given, name))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (name[0] != '.' && table[i].path[0] == '.')
			return false;
		if (table[i].where == POLICY_PROTECTED_ANYWHERE &&
		    policy_protected_line_begins(table[i].path, name))
			return true;
	}
	return false;
}
