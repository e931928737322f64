#!/usr/bin/env python3
"""What `./dev` does if a tool is missing or a folder cannot be written. The tools that it calls are replaced by scripts that record
their arguments. usage: dev.py DEV"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

STANDIN = """#!/bin/sh
echo "${0##*/} $*" >>"$SAID"
for word; do case $word in --prefix=*) echo "${word#--prefix=}" >prefix ;; esac; done
case "${0##*/} $1" in
'meson setup') touch "$2/build.ninja" ;;
'meson install')
    mkdir -p build-install/meson-logs "$DESTDIR$(cat prefix)/share/sallyport" 2>/dev/null
    [ -e build-install/meson-logs/install-log.txt ] || echo '# none' >build-install/meson-logs/install-log.txt ;;
'sudo tee') cat >/dev/null ;;
'sudo '*) exec "$@" ;;
'id '*) echo 1000 ;;
esac
[ "${0##*/}" != ninja ] || { echo '[1/40] one'; echo '[30/40] thirty'; echo "$NINJA_SAYS"; exit "${NINJA_ENDS:-0}"; }
"""
PLAIN = ("bash", "dirname", "cat", "mkdir", "env", "touch", "sh", "rm", "cp", "tee", "cmp", "find")


class Stage:
    """A folder with a copy of ./dev, and a PATH with only the tools that a case names."""

    def __init__(self, folder, dev):
        self.top = pathlib.Path(folder)
        (self.top / "bin").mkdir()
        (self.top / "project").mkdir()
        shutil.copy(dev, self.top / "project" / "dev")
        self.said = self.top / "said"
        for name in PLAIN:
            (self.top / "bin" / name).symlink_to(shutil.which(name))

    def standin(self, *names):
        for name in names:
            path = self.top / "bin" / name
            path.write_text(STANDIN)
            path.chmod(0o755)

    def dev(self, *words, **variables):
        self.said.write_text("")
        environment = {"PATH": str(self.top / "bin"), "SAID": str(self.said), "HOME": str(self.top), **variables}
        done = subprocess.run([shutil.which("bash"), str(self.top / "project" / "dev"), *words], env=environment, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=60, cwd=self.top)
        return done.returncode, done.stdout + done.stderr, self.said.read_text().splitlines()


def everything_is_there(stage):
    """As if all packages were installed: only the check for packages is removed from the copy."""
    dev = stage.top / "project" / "dev"
    text = dev.read_text()
    begin, end = text.index("needs_build="), text.index("usage() {")
    lists = "".join(f"{name}=''\n" for name in ("needs_build", "needs_run", "needs_test", "needs_lint"))
    dev.write_text(text[:begin] + lists + text[end:])
    stage.standin("meson", "ninja", "id")


def without_apt_get(stage):
    status, said, _ = stage.dev("build")
    assert status == 1 and "gcc" in said and "libevent-dev" in said and "apt-get is not available" in said, (status, said)


def without_sudo_all_is_named_at_once(stage):
    stage.standin("apt-get", "id")
    status, said, calls = stage.dev("run", "--", "true")
    assert status == 1 and "curl" in said and "libevent-dev" in said, (status, said)
    assert not [call for call in calls if call.startswith("apt-get")], calls


def a_prefix_counts_each_time(stage):
    everything_is_there(stage)
    for prefix in ("one", "two"):
        status, said, calls = stage.dev("install", PREFIX=str(stage.top / prefix))
        assert status == 0, said
        given = [call for call in calls if f"--prefix={stage.top / prefix}" in call]
        assert given and given[0].split()[1] == ("setup" if prefix == "one" else "configure"), calls
        assert not [call for call in calls if call.startswith("sudo")], calls


def what_is_not_ours_takes_sudo(stage):
    everything_is_there(stage)
    closed = stage.top / "closed"
    closed.mkdir(mode=0o555)
    if os.access(closed, os.W_OK):  # root may write everywhere but to this
        closed = pathlib.Path("/proc/sys/sallyport")
    status, said, calls = stage.dev("install", PREFIX=str(closed / "usr"))
    assert status == 1 and "PREFIX=$HOME/.local ./dev install" in said, (status, said)
    assert not [call for call in calls if "meson" in call], calls
    stage.standin("sudo")
    status, said, calls = stage.dev("install", PREFIX=str(closed / "usr"), DESTDIR="")
    assert status == 0 and [call for call in calls if call.startswith("sudo env") and "meson install" in call], (said, calls)


def a_profile_where_apparmor_needs_one(stage):
    everything_is_there(stage)
    top = stage.top / "dest"
    for path in (top / "usr/share/sallyport/apparmor.d", top / "etc/apparmor.d/abi"):
        path.mkdir(parents=True)
    (top / "usr/share/sallyport/apparmor.d/sallyport").write_text("profile\n")
    profile = top / "etc/apparmor.d/sallyport"
    status, said, _ = stage.dev("install", PREFIX="/usr", DESTDIR=str(top))
    assert status == 0 and not profile.exists(), said  # an AppArmor without the permission
    (top / "etc/apparmor.d/abi/4.0").touch()
    status, said, calls = stage.dev("install", PREFIX="/usr", DESTDIR=str(top))
    assert status == 0 and profile.read_text() == "profile\n", said
    assert not [call for call in calls if "apparmor_parser" in call or call.startswith("sudo")], calls


def what_is_installed_can_be_removed(stage):
    """What install has listed, and no file beside it; a folder with another file stays."""
    everything_is_there(stage)
    top = stage.top / "dest"
    ours = [top / "usr/bin/sallyport", top / "usr/share/sallyport/schema/x.json", top / "usr/share/sallyport/apparmor.d/sallyport"]
    others = [top / "usr/bin/other", top / "etc/apparmor.d/abi/4.0"]
    for path in ours + others:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x\n")
    status, said, _ = stage.dev("uninstall", PREFIX="/usr", DESTDIR=str(top))
    assert status == 1 and "nothing is installed there" in said and all(path.exists() for path in ours), said
    log = stage.top / "project/build-install/meson-logs/install-log.txt"
    log.parent.mkdir(parents=True)
    log.write_text("# Made by Meson\n" + "".join(f"{path}\n" for path in ours))
    status, said, _ = stage.dev("install", PREFIX="/usr", DESTDIR=str(top))
    assert status == 0 and (top / "etc/apparmor.d/sallyport").exists(), said
    assert (top / "usr/share/sallyport/installed").read_text().splitlines()[0] == "/usr/bin/sallyport"
    status, said, _ = stage.dev("uninstall", PREFIX="/usr", DESTDIR=str(top))
    assert status == 0 and "3 files removed" in said, said
    assert sorted(path for path in top.rglob("*") if path.is_file()) == sorted(others) and not (top / "usr/share/sallyport").exists(), said


def how_far_a_build_is(stage):
    everything_is_there(stage)
    status, said, _ = stage.dev("install", PREFIX=str(stage.top / "one"))
    assert status == 0 and "dev: 30 of 40 built" in said, said


def a_build_that_fails_says_why(stage):
    everything_is_there(stage)
    status, said, _ = stage.dev("install", PREFIX=str(stage.top / "one"), NINJA_ENDS="1", NINJA_SAYS="a.c:1: error: no")
    assert status == 1 and "a.c:1: error: no" in said, (status, said)


CASES = [without_apt_get, without_sudo_all_is_named_at_once, a_prefix_counts_each_time, what_is_not_ours_takes_sudo,
         a_profile_where_apparmor_needs_one, what_is_installed_can_be_removed, how_far_a_build_is, a_build_that_fails_says_why]


def main():
    failed = 0
    for case in CASES:
        with tempfile.TemporaryDirectory(prefix="sallyport-test-") as folder:
            try:
                case(Stage(folder, sys.argv[1]))
            except AssertionError as why:
                print(f"not ok  {case.__name__}: {why}")
                failed += 1
    print(f"{len(CASES) - failed} passed, {failed} failed, 0 skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
