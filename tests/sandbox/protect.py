#!/usr/bin/env python3
"""protect: what runs code later stays as it is, and git goes on working. What is outside afterwards is looked at.

usage: protect.py SALLYPORT [CASE...]"""
import os
import pathlib
import shutil
import subprocess
import sys

from harness import NO_SANDBOX, Skip, main, must

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
    """A folder of its own for a case."""
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


def what_is_there(world, user):
    """At any depth, by any of these ways, and with the folders around it."""
    work = fresh(user, "there")
    repository(user, work)
    repository(user, work / "a" / "b" / "inner")
    user.own(work / "a")
    user.own(work / "a" / "b")
    host(user, "git", "clone", "-q", "--bare", ".", "a/bare", cwd=work)
    for path in (".vscode/tasks.json", ".idea/workspace.xml", ".envrc", ".claude/settings.json", ".mcp.json", "a/b/.vscode/tasks.json",
                 "a/.envrc", "a/.bashrc", "a/.ssh/authorized_keys", "a/.config/systemd/user/x.service", "a/.config/autostart/x.desktop",
                 "a/.local/bin/tool", "a/.config/git/config"):
        user.file(work / path)
    for path in (".git/hooks", ".git/config", "a/b/inner/.git/hooks", "a/b/inner/.git/config", "a/bare/hooks", "a/bare/config",
                 ".vscode", ".vscode/tasks.json", ".idea", ".envrc", ".claude", ".mcp.json", "a/b/.vscode/tasks.json", "a/.envrc", "a/.bashrc",
                 "a/.ssh", "a/.config/systemd/user/x.service", "a/.config/autostart", "a/.local/bin/tool", "a/.config/git/config"):
        before = tree(work / path)
        names = [os.lstat(part).st_ino for part in [work / path, *(work / path).parents]]
        inside(world, user, ATTACKS.format(at=work, path=path), cwd=work)
        must(tree(work / path) == before, f"{path} has changed")
        must([os.lstat(part).st_ino for part in [work / path, *(work / path).parents]] == names, f"{path}: something was moved")


def hooks_elsewhere(world, user):
    """Where the configuration leads to is kept, too, and so is a work tree's link to its repository."""
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


def by_policy(world, user):
    work = fresh(user, "policy")
    for path in (".vscode/x", "sub/.vscode/x", ".idea/x", "keys/x", "sub/keys/x", "one/x"):
        user.file(work / path)
    policy = user.file(user.base / "by-policy", "version 1\nunprotect .vscode\nprotect keys ./one\n")
    inside(world, user, "echo new >.vscode/x && echo new >sub/.vscode/x && ! echo new >.idea/x && ! echo new >keys/x &&"
           "! echo new >sub/keys/x && ! echo new >one/x", options=["--policy", policy], cwd=work)
    # A project's own file only adds.
    user.file(work / ".sallyport" / "policy", "version 1\nunprotect .idea\nprotect sub/keys\n")
    inside(world, user, "! echo new >.idea/x && ! echo new >sub/keys/x && echo new >keys/x", cwd=work)
    user.file(work / ".sallyport" / "policy", "version 1\nprotect ./absent\n")
    said = inside(world, user, "true", want=NO_SANDBOX, cwd=work)
    must("does not exist" in said, said)


def home(world, user):
    """As the working directory; what nobody has named stays as it is."""
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


CASES = [("what-is-there", what_is_there), ("hooks-elsewhere", hooks_elsewhere), ("by-policy", by_policy), ("home", home), ("git-works", git_works)]

if __name__ == "__main__":
    sys.exit(main(CASES, 1))
