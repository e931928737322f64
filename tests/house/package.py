#!/usr/bin/env python3
"""Debian's package: it builds from the tracked files, twice to the same bytes, and lintian has nothing against it. Where the system is one
that is thrown away (.ci/run says so with SALLYPORT_MAY_INSTALL=1) it is installed, used and removed.

usage: package.py PROJECT VERSION"""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

project, version = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
failed = passed = 0


def call(*words, cwd=None, **more):
    return subprocess.run(words, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=1500, **more)


def must(what, done, holds=True):
    """Counts one check: a process that ended with 0, and what has to hold besides."""
    global passed, failed
    is_good = done.returncode == 0 and holds
    passed, failed = passed + is_good, failed + (not is_good)
    print(f"{'ok  ' if is_good else 'FAIL'} {what}" + ("" if is_good else f" (exit {done.returncode})\n{done.stdout[-4000:]}"), flush=True)
    return is_good


def build(top):
    """The package's bytes as a digest, or None."""
    source = top / "sallyport"
    listed = call("git", "ls-files", "-z", cwd=project)
    for name in filter(None, listed.stdout.split("\0")):
        if (project / name).exists():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(project / name, source / name, follow_symlinks=False)
    # -d: meson need not come from Debian.
    done = call("dpkg-buildpackage", "-us", "-uc", "-b", "-d", cwd=source, env=os.environ | {"PATH": f"/usr/bin:/bin:{os.environ['PATH']}"})
    if not must(f"it builds in {top.name}", done):
        return None
    found = list(top.glob("sallyport_*.deb"))
    return found[0], hashlib.sha256(found[0].read_bytes()).hexdigest()


def install(package):
    root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    must("it is installed", call(*root, "dpkg", "-i", str(package)))
    files = call("dpkg", "-L", "sallyport").stdout.splitlines()
    must("its program is in /usr/bin", call("/usr/bin/sallyport", "--version"), "/usr/bin/sallyport-sh" in files)
    must("it runs a command", call("/usr/bin/sallyport", "run", "--report", "none", "--", "echo", "inside", cwd=tempfile.mkdtemp(dir=package.parent)))
    must("it is removed", call(*root, "dpkg", "--purge", "sallyport"))
    left = [path for path in files if os.path.lexists(path) and not os.path.isdir(path)]
    must(f"none of its files is left: {left}", call("true"), len(files) > 50 and not left)


def main():
    with tempfile.TemporaryDirectory(prefix="sallyport-package-", dir="/var/tmp") as folder:
        changes = (project / "debian" / "changelog").read_text()
        must("debian/changelog has the program's version", call("true"), re.match(r"sallyport \(([^)]+)\)", changes)[1] == version)
        tops = [pathlib.Path(folder) / name for name in ("one", "another")]
        made = [build(top) for top in tops]
        if all(made):
            must("both have the same bytes", call("true"), made[0][1] == made[1][1])
            must("lintian has nothing against it", call("lintian", "--fail-on", "error,warning", "--allow-root", *map(str, tops[0].glob("*.changes"))))
            if os.environ.get("SALLYPORT_MAY_INSTALL") == "1":
                install(made[0][0])
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
