#!/usr/bin/env python3
"""protect: files that run code later stay unchanged, and git still works. The files outside are checked afterwards.

usage: protect.py SALLYPORT [CASE...]"""
import os
import pathlib
import shutil
import subprocess
import sys

from harness import NO_SANDBOX, OTHER_UID, Skip, main, must

NAMES = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b.test", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b.test",
         "GIT_CONFIG_NOSYSTEM": "1"}


def host(user, *words, cwd=None):
    """A command of the user's outside of any sandbox."""
    done = subprocess.run([*map(str, words)], cwd=cwd or user.work, env={**user.environment(), **NAMES}, stdin=subprocess.DEVNULL,
                          capture_output=True, **user.ids())
    must(done.returncode == 0, words, done.stderr.decode(errors="replace"))
    return done.stdout.decode()


def inside(world, user, text, want=0, options=(), **how):
    how["env"] = {**NAMES, **how.get("env", {})}
    options = [*options, *(word for name in NAMES for word in ("--env", name))]
    done = world.run(user, ["sh", "-c", text], options, **how)
    must(done.returncode == want, f"exit {done.returncode}, not {want}:", done.stdout.decode(errors="replace"),
         done.stderr.decode(errors="replace"))
    return done.stderr.decode(errors="replace")


def repository(user, path):
    path = pathlib.Path(path)
    path.mkdir(parents=True, exist_ok=True)
    user.own(path)
    host(user, "git", "-c", "init.defaultBranch=main", "init", "-q", cwd=path)
    host(user, "git", "commit", "-q", "--allow-empty", "-m", "first", cwd=path)
    return path


def fresh(user, name):
    """A separate folder for a case."""
    if not shutil.which("git"):
        raise Skip("no git")
    path = user.base / name
    path.mkdir()
    user.own(path)
    return path


def tree(*folders):
    """Bytes and kinds of all that is in @folders."""
    found = {}
    for folder in folders:
        for path in [pathlib.Path(folder), *pathlib.Path(folder).rglob("*")]:
            mode = os.lstat(path).st_mode
            found[str(path)] = (mode, os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None)
    return found


# Each has to fail, or to leave everything as it was.
ATTACKS = """
cd {at} || exit 9
echo x >{path}; echo x >>{path}; echo x >{path}/new; mkdir -p {path}/d; rm -rf {path}; mv {path} {path}.away; mv $(dirname {path}) away
ln -sfn /etc/hosts {path}; ln {path} link; ln -f /etc/hosts {path}; touch fake; mv -f fake {path}; mv -fT fake {path}
python3 - {path} <<'END'
import ctypes, os, sys
path = sys.argv[1].encode()
libc = ctypes.CDLL(None, use_errno=True)
os.makedirs("exchange", exist_ok=True)
for other in (b"exchange", b"fake"):
    for flags in (0, 1, 2, 4):
        libc.renameat2(-100, other, -100, path, flags)
        libc.renameat2(-100, path, -100, other, flags)
part = path
while b"/" in part:
    part = part.rpartition(b"/")[0]
    for flags in (0, 1, 2):
        libc.renameat2(-100, part, -100, b"exchange", flags)
for call in (lambda: os.truncate(path, 0), lambda: os.chmod(path, 0o777), lambda: os.setxattr(path, "user.x", b"x"), lambda: os.utime(path, (1, 1))):
    try:
        call()
    except OSError:
        pass
END
true
"""


# Of coding agents, and of the gate.
AGENTS = ("a/.codex/config.toml", "a/.gemini/settings.json", "a/b/.cursor/mcp.json", "a/b/.agents/x.md", "a/.claude/settings.json", "a/.sallyport/policy")

# What hooks of version control, or shells, run.
HOOKS = ("a/.husky/pre-commit", "a/lefthook.yml", "a/.pre-commit-config.yaml", "a/.hg/hgrc", "a/.jj/repo/config.toml", "a/mise.toml",
         "a/app.code-workspace", "a/.helix/languages.toml")


def what_is_there(world, user):
    """Protected files at any depth cannot be changed by any of these calls, and neither can the folders above them."""
    work = fresh(user, "there")
    repository(user, work)
    repository(user, work / "a" / "b" / "inner")
    user.own(work / "a")
    user.own(work / "a" / "b")
    host(user, "git", "clone", "-q", "--bare", ".", "a/bare", cwd=work)
    for path in (".vscode/tasks.json", ".idea/workspace.xml", ".envrc", ".claude/settings.json", ".mcp.json", "a/b/.vscode/tasks.json",
                 "a/.envrc", "a/.bashrc", "a/.ssh/authorized_keys", "a/.config/systemd/user/x.service", "a/.config/autostart/x.desktop",
                 "a/.local/bin/tool", "a/.config/git/config", *AGENTS, *HOOKS):
        user.file(work / path)
    for link, target in ((".envrc", "real/envrc"), (".vscode", "real"), (".idea", "way"), ("way", "real"), (".config", "dots")):
        user.file(work / "links/real/envrc")
        user.file(work / "links/dots/git/config")
        os.symlink(target, work / "links" / link)
    for path in ("links/.envrc", "links/.vscode", "links/.vscode/envrc", "links/.idea", "links/way", "links/.config/git/config",
                 ".git/hooks", ".git/config", "a/b/inner/.git/hooks", "a/b/inner/.git/config", "a/bare/hooks", "a/bare/config",
                 ".vscode", ".vscode/tasks.json", ".idea", ".envrc", ".claude", ".mcp.json", "a/b/.vscode/tasks.json", "a/.envrc", "a/.bashrc",
                 "a/.ssh", "a/.config/systemd/user/x.service", "a/.config/autostart", "a/.local/bin/tool", "a/.config/git/config", *AGENTS, *HOOKS):
        before = tree(work / path)
        names = [os.lstat(part).st_ino for part in [work / path, *(work / path).parents]]
        inside(world, user, ATTACKS.format(at=work, path=path), cwd=work)
        must(tree(work / path) == before, f"{path} has changed")
        must([os.lstat(part).st_ino for part in [work / path, *(work / path).parents]] == names, f"{path}: something was moved")


# Several processes move the folders above @path, exchange them and write, at the same time.
RACES = """
cd {at} || exit 9
python3 - {path} <<'END'
import ctypes, os, pathlib, sys
path = pathlib.PurePath(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
parts = [os.fsencode(part) for part in (path, *path.parents) if str(part) != "."]
for number in range(4):
    if os.fork() == 0:
        other = b"raced-%d" % number
        os.makedirs(other, exist_ok=True)
        for turn in range(300):
            for part in parts:
                libc.renameat2(-100, part, -100, other, turn % 3)
                libc.renameat2(-100, other, -100, part, turn % 3)
            for name in (os.fsencode(path), os.path.join(other, os.fsencode(path.name))):
                try:
                    with open(name, "ab") as file:
                        file.write(b"evil")
                except OSError:
                    pass
        os._exit(0)
for _ in range(4):
    os.wait()
END
true
"""


def raced(world, user):
    work = fresh(user, "raced")
    repository(user, work / "a" / "b" / "inner")
    for path in ("a/b/.envrc", "a/b/.codex/config.toml", "a/b/inner/.git/hooks/pre-commit"):
        user.file(work / path)
    for path in ("a/b/.envrc", "a/b/.codex/config.toml", "a/b/inner/.git/config", "a/b/inner/.git/hooks/pre-commit"):
        before = tree(work / path)
        inside(world, user, RACES.format(at=work, path=path), cwd=work)
        must(tree(work / path) == before, f"{path} has changed")


def hooks_elsewhere(world, user):
    """Files that the configuration names are protected, too, and so is a work tree's link to its repository."""
    work = fresh(user, "elsewhere")
    repository(user, work)
    user.file(work / "tools" / "hooks" / "pre-commit")
    user.file(work / "tools" / "more.config")
    host(user, "git", "config", "core.hooksPath", "tools/hooks", cwd=work)
    host(user, "git", "config", "include.path", "../tools/more.config", cwd=work)
    host(user, "git", "worktree", "add", "-q", "tree", cwd=work)
    for path in ("tools/hooks", "tools/hooks/pre-commit", "tools/more.config", "tree/.git", ".git/worktrees/tree/commondir",
                 ".git/worktrees/tree/gitdir"):
        before = tree(work / path)
        inside(world, user, ATTACKS.format(at=work, path=path), cwd=work)
        must(tree(work / path) == before, f"{path} has changed")


# In the sections of a configuration; and the files that git executes, reads as a configuration, or passes to a program because of it.
NAMED = """[filter "x"]
	clean = sh tools/clean.sh %f
[diff "x"]
	textconv = "python3 tools/textconv.py" # words
[core]
	sshCommand = ssh -F tools/ssh_config
	pager = env X=1 tools/pager
	hooksPath = "tools/my hooks"
[credential]
	helper = !sh tools/helper.sh
[diff]
	external = tools/external
[pager]
	log = tools/log
[interactive]
	diffFilter = tools/difffilter
[alias]
	st = "!f() { tools/alias \\"$@\\"; }; f"
[gpg "ssh"]
	defaultKeyCommand = ./tools/key
[gc]
	recentObjectsHook = tools/recent
[include]
	path = ../tools/inc/first.config
"""
BY_NAME = ("clean.sh", "textconv.py", "ssh_config", "pager", "helper.sh", "external", "log", "difffilter", "alias", "key", "recent", "fsmonitor")


def more_than_can_be_protected(world, user):
    """The search ends where nothing more could be protected: at the end this is said, and no run starts there."""
    words = "too many files that run code later"
    repositories = fresh(user, "repositories")
    said = inside(world, user, "for i in $(seq 1500); do mkdir -p $i/.git/hooks; done; : >1/.git/hooks/post-commit; chmod +x 1/.git/hooks/post-commit",
                  options=["--report", "text"], cwd=repositories)
    must(words in said, said)
    must(words in inside(world, user, "true", NO_SANDBOX, cwd=repositories))
    includes = fresh(user, "includes")
    for name in (".git/objects", ".git/refs"):
        user.file(includes / name / "file")
    user.file(includes / ".git/HEAD")
    user.file(includes / ".git/config", "[include]\n" + "".join(f"path=../{number % 100}\n" for number in range(2500)))
    for number in range(100):
        user.file(includes / str(number), (includes / ".git/config").read_text())
    must(words in inside(world, user, "true", NO_SANDBOX, cwd=includes))


def named_by_configuration(world, user):
    """Of every line of a configuration all words that are files of the project: in an included file, of the user's own, of a work tree elsewhere."""
    work = repository(user, fresh(user, "named") / "main")
    user.own(work.parent)
    for at in (work, work.parent / "linked"):
        if at != work:
            host(user, "git", "worktree", "add", "-q", at, cwd=work)
        user.file(at / "tools/my hooks/pre-commit")
        for name in BY_NAME:
            user.file(at / "tools" / name)
        user.own(at / "tools")
    user.file(work / "tools/inc/first.config", "[include]\n\tpath = second.config\n")
    user.file(work / "tools/inc/second.config", "[include]\n\tpath = second.config\n[core]\n\tfsmonitor = tools/fsmonitor\n")
    (work / ".git/config").write_text((work / ".git/config").read_text() + NAMED)
    user.file(user.home / ".gitconfig", "[diff]\n\texternal = ./of-the-user\n[maintenance]\n\trepo = ./free\n")
    user.file(work.parent / "symbolic/file")
    host(user, "git", "init", "-q", "--separate-git-dir", work.parent / "stored", cwd=work.parent / "symbolic")
    (work.parent / "symbolic/.git").unlink()
    os.symlink("../stored", work.parent / "symbolic/.git")
    (work.parent / "stored/config").write_text("[core]\n\trepositoryformatversion = 0\n" + NAMED)
    for name in BY_NAME:
        user.file(work.parent / "symbolic/tools" / name)
    user.file(work.parent / "symbolic/tools/my hooks/pre-commit")
    everything = ["tools/my hooks", "tools/my hooks/pre-commit", "of-the-user", *(f"tools/{name}" for name in BY_NAME)]
    try:
        for at, paths in ((work, [*everything, "tools/inc/first.config", "tools/inc/second.config"]), (work.parent / "linked", everything), (work.parent / "symbolic", everything[:-1])):
            user.file(at / "of-the-user")
            user.file(at / "free/file")
            user.own(at / "free")
            before = tree(*(at / path for path in paths))
            inside(world, user, "echo x >free/new || exit 9\n" + "".join(f"echo x >'{path}'; mv '{path}' away; rm -rf '{path}'\n" for path in paths)
                   + "echo x >'tools/my hooks/new'; true", cwd=at)
            must(tree(*(at / path for path in paths)) == before, at, "has changed")
    finally:
        (user.home / ".gitconfig").unlink()


def by_links(world, user):
    """What links in a protected folder, or in a home, lead to; but not what is built for a folder bin."""
    work = fresh(user, "links")
    repository(user, work)
    for path in ("scripts/pre-commit", "conf/tasks.json", "conf/command", "dots/bashrc", "dots/ssh", "dots/nvim/init.lua", "build/tool", "build/other"):
        user.file(work / path)
        user.own((work / path).parent)
    for at, target in ((work / ".git/hooks/pre-commit", "../../scripts/pre-commit"), (work / ".vscode/tasks.json", "../conf/tasks.json"),
                       (work / ".claude/commands/x", "../../conf/command"), (work / ".local/bin/tool", "../../build/tool"),
                       (user.home / ".bashrc", work / "dots/bashrc"), (user.home / ".ssh/config", work / "dots/ssh"),
                       (user.home / ".config/nvim", work / "dots/nvim"), (user.home / ".local/bin/other", work / "build/other")):
        user.file(at.parent / "file")
        at.unlink(missing_ok=True)
        os.symlink(target, at)
    for path in ("scripts/pre-commit", "conf/tasks.json", "conf/command", "dots/bashrc", "dots/ssh", "dots/nvim", "dots/nvim/init.lua"):
        before = tree(work / path)
        inside(world, user, ATTACKS.format(at=work, path=path), cwd=work)
        must(tree(work / path) == before, f"{path} has changed")
    policy = user.file(user.base / "free-policy", "version 1\nunprotect ./scripts/pre-commit\n")
    world.trust(user, policy)
    inside(world, user, "echo new >build/tool && echo new >build/other && echo new >scripts/pre-commit && ! echo new >conf/tasks.json", cwd=work,
           options=["--policy", policy])
    for path in (".bashrc", ".ssh/config", ".config/nvim", ".local/bin/other"):
        (user.home / path).unlink()


def by_links_of_links(world, user):
    """A protected name leads through a link to a folder: the links are kept, and the rest of that folder can be written."""
    work = fresh(user, "links-of-links")
    user.file(work / "conf/env/envrc")
    os.symlink("conf/env", work / "led")
    os.symlink("led/envrc", work / ".envrc")
    before = tree(work / "conf/env/envrc")
    for path in (".envrc", "led", "conf/env/envrc"):
        inside(world, user, ATTACKS.format(at=work, path=path), cwd=work)
        must(tree(work / "conf/env/envrc") == before and (work / ".envrc").resolve() == work / "conf/env/envrc", f"{path} has changed")
    inside(world, user, "echo new >led/other", cwd=work)


def by_policy(world, user):
    work = fresh(user, "policy")
    for path in (".vscode/x", "sub/.vscode/x", ".idea/x", "keys/x", "sub/keys/x", "one/x"):
        user.file(work / path)
    policy = user.file(user.base / "by-policy", "version 1\nunprotect .vscode\nprotect keys ./one\n")
    world.trust(user, policy)
    inside(world, user, "echo new >.vscode/x && echo new >sub/.vscode/x && ! echo new >.idea/x && ! echo new >keys/x &&"
           "! echo new >sub/keys/x && ! echo new >one/x", options=["--policy", policy], cwd=work)
    # A project's own file only adds.
    user.file(work / ".sallyport" / "policy", "version 1\nunprotect .idea\nprotect sub/keys\n")
    inside(world, user, "! echo new >.idea/x && ! echo new >sub/keys/x && echo new >keys/x", cwd=work)
    user.file(work / ".sallyport" / "policy", "version 1\nprotect ./absent\n")
    said = inside(world, user, "true", want=NO_SANDBOX, cwd=work)
    must("does not exist" in said, said)


def home(world, user):
    """A home directory as the working directory: its protected files stay unchanged."""
    places = (".bashrc", ".profile", ".zshrc", ".ssh/authorized_keys", ".ssh/config", ".gitconfig", ".config/systemd/user/x.service",
              ".config/autostart/x.desktop", ".local/bin/x", ".docker/config.json", ".kube/config", ".aws/credentials", ".npmrc", ".netrc",
              ".config/pip/pip.conf", ".cargo/config.toml", ".vim/vimrc", ".config/nvim/init.lua", "bin/x", ".gnupg/gpg.conf",
              ".config/Code/User/settings.json", ".local/lib/python3/site-packages/usercustomize.py", ".tmux.conf", ".pypirc", ".emacs.d/init.el",
              ".config/fish/config.fish")
    for place in places:
        user.file(user.home / place)
    before = tree(*(user.home / place for place in places))
    text = ";".join(f"echo evil >{place}; mv {place} x; rm -rf {place.split('/')[0]}" for place in places) + "; echo works >file"
    inside(world, user, text, cwd=user.home, options=["--write", user.home])
    must(tree(*(user.home / place for place in places)) == before, "something in the home has changed")
    must((user.home / "file").exists(), "the home cannot be written at all")


GIT = """set -e
echo 1 >f; git add f; git commit -qm second
git checkout -qb topic; echo 2 >f; git commit -qam third
git checkout -q main; echo 3 >g; git add g; git commit -qm fourth
git checkout -q topic; git rebase -q main; git checkout -q main; git merge -q --no-edit topic; git branch -d topic
git tag v1; git stash list; echo 4 >f; git stash -q; git stash pop -q; git commit -qam fifth; git gc -q; git fsck
git worktree add -q tree; cd tree; echo 5 >h; git add h; git commit -qm sixth; cd ..; git worktree remove tree
git clone -q . copy; cd copy; git checkout -qb more origin/main; echo 6 >i; git add i; git commit -qm seventh; git config user.x y; cd ..
git -c init.defaultBranch=main init -q new; cd new; git commit -q --allow-empty -m first; cd ..
mkdir sub; cd sub; echo 7 >j; git add j; git commit -qm eighth
"""


def git_works(world, user):
    work = fresh(user, "works")
    repository(user, work)
    inside(world, user, GIT, cwd=work)
    must("eighth" in host(user, "git", "log", "--oneline", cwd=work), "the commits are not there")


REBASE = """set -e
start=$(git rev-parse --abbrev-ref HEAD); name=$(basename $PWD)
git checkout -qb topic-$name; echo 1 >t; git add t; git commit -qm topic
git checkout -q $start; echo 2 >s; git add s; git commit -qm start
git checkout -q topic-$name; git rebase -q $start; git checkout -q $start; git merge -q --no-edit topic-$name; git branch -d topic-$name
git worktree add -q -b at-$name tree-$name; cd tree-$name; echo 3 >w; git add w; git commit -qm tree; cd ..
git worktree remove tree-$name; git stash list; git submodule status
"""


def git_works_elsewhere(world, user):
    """git works in a folder of a repository, in a linked work tree and in a submodule; no other paths become writable."""
    base = fresh(user, "parts")
    work = repository(user, base / "work")
    user.file(work / "sub" / "deep" / "file")
    host(user, "git", "add", ".", cwd=work)
    host(user, "git", "commit", "-qm", "files", cwd=work)
    other = repository(user, base / "other")
    host(user, "git", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other, "module", cwd=work)
    host(user, "git", "commit", "-qm", "module", cwd=work)
    host(user, "git", "worktree", "add", "-q", base / "linked", cwd=work)
    for at, folder in ((work / "sub" / "deep", work / ".git"), (base / "linked", work / ".git"), (work / "module", work / ".git/modules/module")):
        kept = [folder / "hooks", folder / "config"]
        before = tree(*kept)
        inside(world, user, REBASE, cwd=at)
        inside(world, user, "echo 1 >new && git add new && git commit -qm new && git checkout -qb other-$(basename $PWD) && git gc -q", cwd=at)
        must("new" in host(user, "git", "log", "-1", "--format=%s", cwd=at), at, "the commit is not there")
        inside(world, user, f"echo x >{folder}/hooks/pre-commit; echo x >{folder}/config; git config core.fsmonitor x; mv {folder}/hooks {folder}/h;"
               f"touch {folder.parent}/x {work}/x; true", cwd=at)
        must(tree(*kept) == before, at, "hooks or configuration have changed")
        must(not (work / "x").exists() and not (folder.parent / "x").exists(), at, "more than the repository's folder was opened")


def planted(world, user):
    """A .git that an earlier command has made makes no path writable."""
    base = fresh(user, "planted")
    victim = repository(user, base / "victim")
    host(user, "git", "worktree", "add", "-q", base / "linked", cwd=victim)
    at = base / "at"
    evil = at / "evil"
    for name, text in (("HEAD", "ref: refs/heads/main\n"), ("gitdir", f"{at}/.git\n"), ("commondir", f"{victim}/.git\n"),
                       ("config", f"[core]\n\tworktree = {at}\n"), ("objects/x", ""), ("refs/x", "")):
        user.file(evil / name, text)
    shutil.copytree(evil, at / "worktrees" / "evil")
    shutil.copytree(evil, at / "modules" / "evil")
    host(user, "true")
    for path in (at / "worktrees", at / "modules"):
        for part in [path, *path.rglob("*")]:
            user.own(part)
    for to in (f"{victim}/.git", f"{victim}/.git/worktrees/linked", user.home, evil, at / "worktrees" / "evil", at / "modules" / "evil", base):
        user.file(at / ".git", f"gitdir: {to}\n")
        before = tree(victim)
        inside(world, user, f"touch {victim}/.git/x {victim}/.git/worktrees/linked/x {user.home}/x {base}/x; true", cwd=at)
        must(tree(victim) == before and not (base / "x").exists() and not (user.home / "x").exists(), to, "was opened")
    # One of the user's own that holds the home is no project.
    repository(user, user.home)
    inside(world, user, f"touch {user.home}/.git/x; true", cwd=(user.file(user.home / "project" / "file").parent))
    must(not (user.home / ".git" / "x").exists(), "the home's repository was opened")


# What --clean-env passes on, according to the manual.
USUAL = ("USER", "LOGNAME", "SHELL", "TERM", "LANG", "LANGUAGE", "LC_TIME", "TZ", "COLORTERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR")


def credentials(world, user):
    """Credentials in the environment are withheld, reported once by name, and passed on with an option or a policy line."""
    secret = {"GITHUB_TOKEN": "s3cret", "DATABASE_URL": "postgres://u:s3cret@h/d", "PASSWORD_STORE_DIR": "/x", "KEYBOARD": "us"}
    policy = user.file(user.base / "env-policy", "version 1\nenv GITHUB_TOKEN\n")
    world.trust(user, policy)
    for options, seen in (([], ()), (["--env", "GITHUB_TOKEN"], ("GITHUB_TOKEN",)), (["--policy", policy], ("GITHUB_TOKEN",)),
                          (["--env", "DATABASE_URL=x"], ("DATABASE_URL",)), (["--clean-env"], None)):
        done = world.run(user, ["env"], options, env={**secret, **dict.fromkeys(USUAL, "C")})
        names = {line.partition(b"=")[0].decode() for line in done.stdout.splitlines()}
        said = done.stderr.decode()
        if seen is None:
            must(not names & set(secret) and {"PATH", "HOME", *USUAL} <= names, "--clean-env passed", names)
        else:
            must({"GITHUB_TOKEN", "DATABASE_URL"} & names == set(seen), options, names)
            must({"PASSWORD_STORE_DIR", "KEYBOARD"} <= names, options, "false friends were withheld")
            must("DATABASE_URL" in seen or said.count("DATABASE_URL") == 1, options, said)
        must("s3cret" not in said, said)
    user.file(user.work / ".sallyport" / "policy", "version 1\nenv GITHUB_TOKEN\n")
    world.trust(user, policy)
    done = world.run(user, ["env"], env=secret)
    must(b"s3cret" not in done.stdout, "a project's file passed a token on")


SET_IDS = """
import ctypes, os, shutil, struct
libc = ctypes.CDLL(None, use_errno=True)
open("victim", "w").close()
os.chmod("victim", 0o755)
fd = os.open("victim", os.O_RDWR)
def call(number, *words):
    return libc.syscall(ctypes.c_long(number), *[ctypes.c_char_p(w) if isinstance(w, bytes) else ctypes.c_long(w) for w in words])
high = 1 << 32
for mode in (0o4755, 0o2755, 0o6711, 0o4755 | high):
    name = oct(mode).encode()
    call(90, b"victim", mode), call(91, fd, mode), call(268, -100, b"victim", mode), call(452, -100, b"victim", mode, 0)
    call(452, fd, b"", mode, 0x1000)
    call(2, b"open" + name, 0o102, mode), call(257, -100, b"openat" + name, 0o102, mode), call(85, b"creat" + name, mode)
    call(257, -100, b".", 0o20200002, mode), call(133, b"mknod" + name, mode | 0o100000, 0), call(259, -100, b"mknodat" + name, mode | 0o100000, 0)
    call(133, b"fifo" + name, mode | 0o10000, 0), call(83, b"mkdir" + name, mode), call(258, -100, b"mkdirat" + name, mode)
    how = ctypes.create_string_buffer(struct.pack("QQQ", 0o102, mode & 0o7777, 0))
    libc.syscall(437, -100, b"openat2" + name, how, 24)
    temporary = call(257, -100, b".", 0o20200002, mode)
    if temporary >= 0:
        call(265, -100, b"/proc/self/fd/%d" % temporary, -100, b"tmp" + name, 0x400)
capability = struct.pack("<IIIII", 0x02000001, 0xffffffff, 0, 0xffffffff, 0)
try:
    os.setxattr("victim", "security.capability", capability)
except OSError:
    pass
for source in ("/usr/bin/su", "/usr/bin/passwd", "/usr/bin/sudo"):
    if os.access(source, os.R_OK):
        shutil.copyfile(source, os.path.basename(source))
        try:
            shutil.copystat(source, os.path.basename(source))
        except OSError:
            pass
os.chmod("victim", 0o1644)
"""


def set_ids(world, user):
    """No call changes a protected file on x86-64; other machines have fewer calls."""
    if os.uname().machine != "x86_64":
        raise Skip("the numbers are those of x86-64")
    work = fresh(user, "ids")
    script = user.file(user.base / "set-ids.py", SET_IDS)
    for options in ([], ["--sandbox", "external", "--deny-read", "/boot"]):
        inside(world, user, f"umask 0; /usr/bin/python3 {script}; cp /bin/true t; chmod 4755 t; chmod u+s t; install -m 6755 /bin/true i; true",
               cwd=work, options=options)
        found = [path for path in work.rglob("*") if os.lstat(path).st_mode & 0o6000 or "security.capability" in os.listxattr(path, follow_symlinks=False)]
        must((work / "victim").stat().st_mode & 0o7777 == 0o1644, "other modes cannot be set")
        must(not found, options, "these have the bits:", found)


def no_workspace(world, user):
    """A home directory, a folder that contains one, and the system's folders are writable only if they are named."""
    folder = user.file(user.home / "project" / "file").parent
    inside(world, user, "touch new", cwd=folder)
    places = [user.home, user.home.parent, user.home.parent.parent]
    if os.geteuid() == 0:
        places += ["/etc", "/usr/bin", "/usr", "/boot", "/var", "/var/lib/dpkg/info", "/opt", "/home"] + ["/root"] * (user.uid == 0)
    for place in filter(os.path.isdir, places):
        for options in ([], ["--sandbox", "workspace-write"]):
            said = inside(world, user, "touch sallyport-was-here", want=NO_SANDBOX, cwd=place, options=options)
            must("--write" in said, place, said)
            must(not os.path.exists(f"{place}/sallyport-was-here"), place, "was written to")
        inside(world, user, "true", cwd=place, options=["--sandbox", "read-only"])
    inside(world, user, "touch named", cwd=user.home, options=["--write", user.home])
    must((user.home / "named").exists(), "it was named, and is not writable")
    for name in (".ssh", ".local/bin", ".config/systemd/user", ".config/git", "project/.vscode", "project/.claude/deep"):
        folder = user.file(user.home / name / "file").parent
        said = inside(world, user, "touch new", want=NO_SANDBOX, cwd=folder)
        must("its files run code later" in said and "--write" in said and not (folder / "new").exists(), name, said)
        inside(world, user, "touch new", cwd=folder, options=["--write", folder])
    # A work tree that an agent has put there.
    folder = user.file(user.home / "project/.claude/worktrees/x/.git", "gitdir: /none\n").parent
    inside(world, user, "touch new", cwd=folder)


def parts_of_a_home(world, user):
    """As the working directory: what the names of protected files say from further above counts, too."""
    names = [".config/systemd/user/x.service", ".config/autostart/x.desktop", ".config/git/config", ".config/nvim/init.lua", ".local/bin/x",
             ".local/share/systemd/user/x.service", ".local/share/applications/x.desktop"]
    for base in (user.home, fresh(user, "parts-of-a-home")):
        for name in names:
            user.file(base / name)
        before = tree(*(base / name for name in names if base == user.home or "nvim" not in name))
        for at in (".config", ".local", ".local/share"):
            words = [f"../{name}" if at != ".local/share" else f"../../{name}" for name in names]
            inside(world, user, f"for i in {' '.join(words)}; do echo evil >$i; rm -rf $i; mv $(dirname $i) away; done; touch new", cwd=base / at)
            must((base / at / "new").exists(), at, "cannot be written at all")
        must(tree(*(base / name for name in names if base == user.home or "nvim" not in name)) == before, base, "something has changed")


def made(world, user):
    """New files that run code later are listed at the end, and in the log; git's own new files are not."""
    work = fresh(user, "made")
    repository(user, work / "old")
    shutil.rmtree(work / "old/.git/hooks")
    os.symlink("elsewhere", work / ".envrc")
    user.file(work / "elsewhere")
    audit = user.base / "made.jsonl"
    calm = """git init -q new && cd new && git commit -q --allow-empty -m x && git remote add origin ../old && git branch b &&
        git worktree add -q ../tree b && cd .. && git clone -q old clone && git -C clone config user.name me && cd clone &&
        git -c protocol.file.allow=always submodule --quiet add ../new sub && echo works >file"""
    said = inside(world, user, calm, cwd=work, options=["--audit", audit])
    must("the command made" not in said, said)
    in_new = {
        "echo evil >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit": ".git/hooks/pre-commit: git runs it as a hook",
        "touch x; chmod +x x; ln -s ../../x .git/hooks/post-checkout": ".git/hooks/post-checkout: git runs it",
        "ln -s ../../later .git/hooks/pre-commit": ".git/hooks/pre-commit: git runs it",
        "mv .git/hooks h; ln -s ../h .git/hooks": "h: programs run",
        "git config core.fsmonitor /tmp/x": ".git/config: git runs or reads the programs and files that it names: fsmonitor = /tmp/x",
        "git config alias.st '!evil'": ".git/config: ",
        "git config filter.x.clean evil": ".git/config: ",
        "git config include.path ../x": ".git/config: ",
        "git config remote.origin.url 'ext::sh -c evil'": ".git/config: ",
        "git config submodule.x.update '!evil'": ".git/config: ",
        r"printf '[core] bare = false\n[a] b = c\n' >>.git/config": ".git/config: ",
        "echo ../evil >.git/commondir": ".git/commondir: ",
        "mkdir bare; cp -r .git/. bare; git -C bare config core.sshCommand evil": "bare/config: ",
        "mkdir -p .git/modules; cp -r .git/refs .git/objects .git/HEAD .git/config .git/hooks .git/modules; echo '[x]y=z' >>.git/modules/config": ".git/modules/config: ",
        "mkdir -p .git/logs; ln -sf ../../../later .git/logs/HEAD": ".git/logs/HEAD: git writes to the file or folder that it leads to: ../../../later",
        "mkdir -p .git/logs/refs/heads; ln -sf /later .git/logs/refs/heads/master": ".git/logs/refs/heads/master: git writes",
        "ln -s ../../later .git/COMMIT_EDITMSG": ".git/COMMIT_EDITMSG: git writes",
        "mkdir -p a/.vscode; echo '{}' >a/.vscode/tasks.json": "a/.vscode: programs run its contents",
        "mkdir -p deep/er/.ssh; : >deep/er/.bashrc": "deep/er/.bashrc: ",
    }
    for attack, words in in_new.items():
        shutil.rmtree(work / "new2", ignore_errors=True)
        said = inside(world, user, f"git init -q new2 && cd new2 && {attack}", cwd=work, options=["--audit", audit])
        must(f"the command made {work}/new2/{words}" in said and "read or remove it" in said, attack, "->", said)
        path = f"{work}/new2/{words.split(':')[0]}"
        must(any('"event":"made"' in line and path in line for line in audit.read_text().splitlines()), f"{path} is not in the log")
    (work / "elsewhere").unlink()
    said = inside(world, user, "echo evil >elsewhere; echo evil >.bashrc", cwd=work, options=["--audit", audit])
    must(f"the command made {work}/elsewhere: " in said and f"the command made {work}/.bashrc: " in said, said)


def made_too_much(world, user):
    """Many new files: what is said of the log is so."""
    work = fresh(user, "made-much")
    for i, (count, words) in enumerate(((50, "and 40 more, which the audit log lists"), (1001, "and 991 more; the audit log lists only the first 1000"))):
        audit = user.base / f"made-much-{i}.jsonl"
        said = inside(world, user, f"i=0; while [ $i -lt {count} ]; do mkdir {i}-$i; : >{i}-$i/.envrc; i=$((i+1)); done", cwd=work, options=["--audit", audit])
        must(words in said and audit.read_text().count('"event":"made"') == min(count, 1000), said)


def links_of_git(world, user):
    """Git writes through a link in its folder: one that was there is kept, and not said to be new; the others can be written."""
    work = repository(user, fresh(user, "links-of-git"))
    os.symlink("../notes", work / ".git/description.link")
    said = inside(world, user, "! ln -sf ../other .git/description.link && ! mv .git/description.link x && echo new >notes &&"
                  "git commit -q --allow-empty -m x && git branch config && git branch hooks/x && git branch -D -q config", cwd=work)
    must(os.readlink(work / ".git/description.link") == "../notes" and "the command made" not in said, said)


def made_where_nobody_looks(world, user):
    """A new .git file leads to a new repository among the objects of an old one, behind a commondir there, or in a cache."""
    work = repository(user, fresh(user, "made-elsewhere"))
    inside(world, user, "touch $XDG_CACHE_HOME/made-elsewhere", cwd=work)
    cached = next(user.home.glob(".local/state/sallyport/caches/*/xdg/made-elsewhere")).parent
    evil = """mk() { mkdir -p "$1/objects" "$1/refs" && cp .git/HEAD "$1" && printf '[core]\n\tfsmonitor = evil\n' >"$1/config"; }; mkdir sub; """
    ways = {"mk .git/foo/evil; echo 'gitdir: ../.git/foo/evil' >sub/.git": ".git/foo/evil/config: ",
            "mk .git/foo; mkdir -p .git/foo/worktrees/w; cp .git/HEAD .git/foo/worktrees/w; echo ../.. >.git/foo/worktrees/w/commondir;"
            "echo 'gitdir: ../.git/foo/worktrees/w' >sub/.git": ".git/foo/config: ",
            "mkdir .git/foo; mk \"$(printf '.git/foo/a\\nb')\"; printf 'gitdir: ../.git/foo/a\\nb' >sub/.git": "b/config: ",
            f"mk $XDG_CACHE_HOME/evil; echo gitdir: {cached}/evil >sub/.git": "/xdg/evil/config: "}
    for way, words in ways.items():
        said = inside(world, user, evil + way, cwd=work)
        must(words + "git runs or reads the programs" in said, way, "->", said)
        for path in ("sub", ".git/foo"):
            shutil.rmtree(work / path, ignore_errors=True)


def made_where_nothing_can_be(world, user):
    """A working directory of the system is not writable, so nothing can be made there, and nothing is said about it."""
    for cwd in ("/", "/proc", "/proc/sys", "/sys", "/dev", "/run"):
        said = inside(world, user, "touch made 2>/dev/null; echo works >/tmp/file", cwd=cwd)
        must("cannot tell" not in said and "the command made" not in said, cwd, said)
        must(not os.path.exists(f"{cwd}/made"), cwd)


def in_a_folder_that_cannot_be_read(world, user):
    """What a command has made there is found by root, and said not to be searched by others."""
    work = fresh(user, "made-unread")
    said = inside(world, user, "mkdir -p a/b; echo evil >a/b/.envrc; chmod 0300 a/b", cwd=work)
    words = f"the command made {work}/a/b/.envrc: " if user.uid == 0 else f"{work}/a/b cannot be read, so it was not searched"
    must(words in said, said)
    said = inside(world, user, "true", cwd=work)
    must(user.uid == 0 or words in said, said)
    (work / "a/b").chmod(0o700)


def in_a_folder_of_somebody_else(world, user):
    """Root finds protected files where its command cannot go: they need no mount, and the run starts."""
    work = fresh(user, "somebody")
    user.file(work / "theirs/.vscode/tasks.json")
    (work / "theirs").chmod(0o700)
    if os.geteuid() == 0:
        for path in (work / "theirs", *(work / "theirs").rglob("*")):
            os.chown(path, OTHER_UID + 1, OTHER_UID + 1)
    inside(world, user, "! echo evil >theirs/.vscode/tasks.json && echo works >file", cwd=work)
    must((work / "theirs/.vscode/tasks.json").read_text() == "content\n", "it was written")


def killed_while_it_made(world, user):
    """Files of a command that is killed are searched, too."""
    work = fresh(user, "made-killed")
    said = inside(world, user, "echo evil >.envrc; kill -9 $$", cwd=work, want=137)
    must(f"the command made {work}/.envrc: " in said, said)


def hooks_of_a_repository_without(world, user):
    """A missing folder for hooks cannot be created."""
    work = fresh(user, "hookless")
    repository(user, work)
    shutil.rmtree(work / ".git/hooks")
    user.file(work / "bare/HEAD")
    for part in ("objects", "refs"):
        user.file(work / "bare" / part / "x")
    user.file(work / "bare/config")
    for path in (".git", "bare"):
        inside(world, user, f"! mkdir {path}/hooks && ! touch {path}/hooks/pre-commit && ! mv {path}/hooks x && ! rmdir {path}/hooks", cwd=work)
        must(not list((work / path / "hooks").iterdir()), f"a hook was made in {path}")
        must((work / path / "hooks").stat().st_uid == user.uid, "it belongs to somebody else")
    inside(world, user, "git commit -q --allow-empty -m second", cwd=work)


def configuration_is_explained(world, user):
    """git names the file that it cannot write; the gate says what to do, and only then."""
    work = fresh(user, "explained")
    repository(user, work)
    words = f"{work}/.git/config is read-only inside"
    said = inside(world, user, "git remote add origin ../x || exit 7", cwd=work, want=7)
    must(words in said and "unprotect .git/config" in said, said)
    policy = user.file(work / "free.policy", "version 1\nunprotect .git/config\n")
    world.trust(user, policy)
    inside(world, user, "git remote add origin ../x && git config core.fsmonitor false", cwd=work, options=["--policy", policy])
    for text, status in (("git commit -q --allow-empty -m x", 0), ("exit 3", 3), ("cat .gitignore", 1), ("git fetch nowhere || exit 3", 3),
                         ("git fetch http://a.test/x || exit 3", 3), ("git fetch --set-upstream ./ main && exit 0", 0)):
        must(words not in inside(world, user, text, cwd=work, want=status), text)


def withheld_is_recorded(world, user):
    audit = user.base / "withheld.jsonl"
    world.run(user, ["true"], ["--audit", audit], env={"GITHUB_TOKEN": "s3cret"})
    lines = [line for line in audit.read_text().splitlines() if '"event":"withheld"' in line]
    must(len(lines) == 1 and '"cause":"GITHUB_TOKEN"' in lines[0] and "s3cret" not in audit.read_text(), lines)


CASES = [("no-workspace", no_workspace), ("set-ids", set_ids), ("credentials", credentials), ("git-works-elsewhere", git_works_elsewhere), ("planted", planted),
         ("what-is-there", what_is_there), ("raced", raced), ("hooks-elsewhere", hooks_elsewhere), ("named", named_by_configuration), ("too-many", more_than_can_be_protected), ("links", by_links), ("links-of-links", by_links_of_links), ("by-policy", by_policy), ("made", made), ("made-killed", killed_while_it_made), ("made-elsewhere", made_where_nobody_looks), ("made-much", made_too_much), ("links-of-git", links_of_git), ("made-system", made_where_nothing_can_be), ("made-unread", in_a_folder_that_cannot_be_read), ("somebody", in_a_folder_of_somebody_else), ("hookless", hooks_of_a_repository_without),
         ("explained", configuration_is_explained), ("withheld", withheld_is_recorded), ("parts-of-a-home", parts_of_a_home), ("home", home), ("git-works", git_works)]

if __name__ == "__main__":
    sys.exit(main(CASES, 1))
