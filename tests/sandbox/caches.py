#!/usr/bin/env python3
"""caches: the caches of tools are writable inside, kept for one working directory, and never those of the user's own tools.

usage: caches.py SALLYPORT [CASE...]"""
import os
import re
import shutil
import sys

from harness import main, must

# Where each tool writes, in the form of its own rules: its variable, or a folder of the home.
WHERE = {
    "xdg": '${XDG_CACHE_HOME:-$HOME/.cache}',
    "npm": '${npm_config_cache:-$HOME/.npm}',
    "go": '${GOMODCACHE:-$HOME/go/pkg/mod}',
    "cargo": '${CARGO_HOME:-$HOME/.cargo}/registry',
    "gradle": '${GRADLE_USER_HOME:-$HOME/.gradle}/caches',
}
FOLDERS = (".cache", ".npm", "go/pkg/mod", ".cargo/registry", ".cargo/git", ".gradle/caches", ".m2/repository")


def fresh(user, *folders):
    """An empty home with these folders, and two projects."""
    for path in (user.home, user.base / "one", user.base / "two"):
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        user.own(path)
    for name in folders:
        path = user.file(user.home / name / "of-the-user", "user\n")
        user.own(path.parent)
    return user.base / "one", user.base / "two"


def sh(world, user, cwd, script, *options, env=None, status=0):
    done = world.run(user, ["sh", "-c", script], list(options), cwd=cwd, env=env)
    must(done.returncode == status, f"exit {done.returncode}: {script}", done.stdout, done.stderr)
    return done.stdout.decode()


def write_all(mark):
    return "\n".join(f'mkdir -p "{path}/made" && echo {mark} >"{path}/made/file" || exit 9' for path in WHERE.values())


def read_all():
    return "\n".join(f'cat "{path}/made/file" 2>/dev/null || echo nothing' for path in WHERE.values())


def a_fresh_home_gets_nothing(world, user):
    """Without any folder in the home, and none is made there."""
    one, two = fresh(user)
    sh(world, user, one, write_all("one"))
    must(sh(world, user, one, read_all()) == "one\n" * len(WHERE), "the cache was not kept")
    must(sh(world, user, two, read_all()) == "nothing\n" * len(WHERE), "another project sees it")
    must({path.name for path in user.home.iterdir()} <= {".local", ".config"}, sorted(user.home.iterdir()))


def the_users_own_are_untouched(world, user):
    one, two = fresh(user, *FOLDERS)
    must("of-the-user" not in sh(world, user, one, "cat ~/.npm/* ~/.cache/* 2>/dev/null; ls ~/.npm ~/.cache"), "the user's cache is seen")
    sh(world, user, one, write_all("one"))
    must(sh(world, user, one, read_all()) == "one\n" * len(WHERE), "the cache was not kept")
    must(sh(world, user, two, read_all()) == "nothing\n" * len(WHERE), "another project sees it")
    for name in FOLDERS:
        must([path.name for path in (user.home / name).iterdir()] == ["of-the-user"], name, "was changed")


def configuration_stays(world, user):
    """Only the caches are replaced: what is beside them is the user's, and read-only."""
    one, _ = fresh(user, ".cargo", ".gradle", ".m2", ".npm")
    user.file(user.home / ".npmrc", "//registry.test/:_authToken=x\n")
    user.file(user.home / ".cargo/config.toml", "[net]\n")
    said = sh(world, user, one, 'cat ~/.npmrc ~/.cargo/config.toml ~/.cargo/of-the-user; for f in ~/.npmrc ~/.cargo/config.toml ~/.cargo/x ~/.m2/x; do '
                                '(echo bad >>$f) 2>/dev/null && echo $f was written; done; echo x >~/.cargo/git/x && echo ok')
    must(said == "//registry.test/:_authToken=x\n[net]\nuser\nok\n", said)
    must(list((user.home / ".cargo/git").iterdir()) == [], "the file is on the host")


def another_folder_at_the_same_path(world, user):
    """A project that is made where another one was does not get its cache."""
    one, _ = fresh(user)
    sh(world, user, one, write_all("one"))
    moved = user.base / "moved"
    shutil.rmtree(moved, ignore_errors=True)
    one.rename(moved)
    one.mkdir()
    user.own(one)
    must(sh(world, user, one, read_all()) == "nothing\n" * len(WHERE), "it sees the old one's cache")


def as_written(world, user):
    """cache none, shared and private, by option and in a policy; the narrowest holds."""
    one, two = fresh(user, ".npm")
    policy = user.file(user.base / "shared.policy", "version 1\ncache shared\n")
    never = user.file(user.base / "none.policy", "version 1\ncache none\n")
    sh(world, user, one, "touch ~/.npm/x", "--cache", "none", status=1)
    sh(world, user, one, "touch ~/.npm/x", "--sandbox", "read-only", status=1)
    sh(world, user, one, "touch ~/.npm/x", "--sandbox", "workspace-write:own-tmp")
    sh(world, user, one, "touch ~/.npm/x", "--policy", never, status=1)
    sh(world, user, one, "touch ~/.npm/x", "--policy", never, "--cache", "shared", status=1)
    sh(world, user, one, "touch ~/.npm/from-one", "--cache", "shared")
    sh(world, user, two, "test -e ~/.npm/from-one", "--policy", policy)
    sh(world, user, two, "test -e ~/.npm/from-one", "--policy", policy, "--cache", "private", status=1)
    project = user.file(two / ".sallyport/policy", "version 1\ncache shared\n")
    sh(world, user, two, "test -e ~/.npm/from-one", status=1)
    project.write_text("version 1\ncache none\n")
    sh(world, user, two, "touch ~/.npm/x", status=1)
    must([path.name for path in (user.home / ".npm").iterdir()] == ["of-the-user"], "the user's own was changed")


def what_is_writable_or_hidden_stays(world, user):
    """A folder that --write names is the user's own; one that is hidden stays hidden."""
    one, _ = fresh(user, ".npm", ".cache")
    sh(world, user, one, "cat ~/.npm/of-the-user && touch ~/.npm/x", "--write", user.home / ".npm")
    must((user.home / ".npm/x").exists(), "it was not the user's")
    sh(world, user, one, "cat ~/.npm/of-the-user || touch ~/.npm/y", "--deny-read", user.home / ".npm", status=1)
    sh(world, user, one, "cat ~/.cache/secret/of-the-user", "--deny-read", user.home / ".cache/of-the-user", status=1)


def variables_of_the_user(world, user):
    """A tool's own variable says where its folder is; a link leads to where it leads."""
    one, _ = fresh(user, "elsewhere", "target")
    (user.home / ".npm").symlink_to(user.home / "target")
    sh(world, user, one, 'test "$XDG_CACHE_HOME" = ~/elsewhere && test ! -e ~/elsewhere/of-the-user && touch ~/elsewhere/x && touch ~/.npm/x',
       env={"XDG_CACHE_HOME": str(user.home / "elsewhere")})
    must([path.name for path in (user.home / "target").iterdir()] == ["of-the-user"], "the link's target was changed")
    said = sh(world, user, one, "echo $MAVEN_OPTS", env={"MAVEN_OPTS": "-Xmx1g"})
    must(said.startswith("-Xmx1g ") and "-Dmaven.repo.local=/run/" in said, said)


def no_cache_is_left_to_run(world, user):
    """Programs in a cache run inside, and with neither bit nor device outside."""
    one, _ = fresh(user)
    said = sh(world, user, one, f'cd "{WHERE["xdg"]}" && cp /bin/true t && ./t && chmod u+s t 2>/dev/null; test -u t || echo plain')
    must(said == "plain\n", said)
    state = user.home / ".local/state/sallyport/caches"
    must(oct(state.stat().st_mode & 0o777) == "0o700", oct(state.stat().st_mode))
    sh(world, user, one, f"ls {state}", status=2)


def many_files_hide_no_other_names(world, user):
    """The search for other names of hidden files does not end in the caches of other projects, however much is in them."""
    one, _ = fresh(user)
    sh(world, user, one, "true")
    state = user.home / ".local/state/sallyport"
    for at in range(2500):
        user.own(user.file(state / f"caches/other/xdg/{at}", ""))
    user.own(state / "caches/other")
    user.own(state / "caches/other/xdg")
    for at in range(20):
        user.own(user.file(state / f"secret{at}", "secret\n"))
        os.link(state / f"secret{at}", one / f"name{at}")
    must("secret" not in sh(world, user, one, "cat name* 2>/dev/null; true"), "a hidden file was read by another name")


def what_was_refused_is_said(world, user):
    """Which folder is read-only, for which program, and what would allow it; not what is dangerous to allow, and only so many."""
    one, _ = fresh(user, ".tool", ".ssh")
    done = world.run(user, ["sh", "-c", "mkdir -p ~/.tool/a/b ~/.other/a; touch ~/.rc ~/.ssh/x ~/notes; mkdir ~/.ssh/y; exit 0"],
                     ["--report", "text"], cwd=one)
    said = done.stderr.decode()
    for line in ("read-only in this sandbox: ~/.tool (mkdir; allow with --write ~/.tool)\n",
                 "read-only in this sandbox: ~/.other (mkdir; create it and allow with --write ~/.other)\n",
                 "read-only in this sandbox: ~/.rc (touch; --env HOME=FOLDER gives the command another home)\n",
                 "read-only in this sandbox: ~/notes (touch; create it and allow with --write ~/notes)\n",
                 "read-only in this sandbox: ~/.ssh (touch)\n"):
        must(f"sallyport: {line}" in said, f"{line!r} is missing:", said)
    must(said.count("read-only in this sandbox") == 5, said)
    sh(world, user, one, "mkdir home; export HOME=$PWD/home; touch ~/.rc")
    user.own(user.file(user.home / "notes", ""))
    done = world.run(user, ["sh", "-c", "echo a note >~/notes"], ["--write", user.home / "notes"], cwd=one)
    must(done.returncode == 0 and (user.home / "notes").read_text() == "a note\n", done)
    user.own(user.file(one / ".git/hooks/x", ""))
    for part in ("HEAD", "config", "objects/x", "refs/x"):
        user.own(user.file(one / ".git" / part, ""))
    done = world.run(user, ["sh", "-c", "echo x >.git/hooks/x"], ["--report", "text"], cwd=one)
    said = done.stderr.decode()
    must(re.search(f"read-only in this sandbox: {one}/.git/hooks \\([a-z]*\\)\n", said), said)
    done = world.run(user, ["sh", "-c", "for i in $(seq 100); do mkdir ~/.t$i; done"], ["--report", "text"], cwd=one)
    said = done.stderr.decode()
    must(said.count("read-only in this sandbox") == 6 and "94 more refusals by the sandbox" in said, said)
    done = world.run(user, ["sh", "-c", "mkdir ~/.t"], ["--report", "none"], cwd=one)
    must("sallyport: " not in done.stderr.decode(), done.stderr)


def apt_as_root(world, user):
    """apt-get update changes to another user and writes lists: inside it stays what it is, and has lists of its own."""
    if user.uid != 0:
        return
    one, _ = fresh(user)
    said = sh(world, user, one, "apt-config dump APT::Sandbox::User; mkdir -p /var/lib/apt/lists/partial && touch /var/lib/apt/lists/x && ls /var/lib/apt/lists; "
                                "apt-get update 2>&1 | grep -i 'setgroups\\|permission denied'; true")
    must(said == 'APT::Sandbox::User "root";\npartial\nx\n', said)


cases = [(case.__name__.replace("_", "-"), case) for case in (
    a_fresh_home_gets_nothing, the_users_own_are_untouched, configuration_stays, another_folder_at_the_same_path, as_written,
    what_is_writable_or_hidden_stays, variables_of_the_user, no_cache_is_left_to_run,
    many_files_hide_no_other_names, what_was_refused_is_said, apt_as_root)]

if __name__ == "__main__":
    sys.exit(main(cases, 1))
