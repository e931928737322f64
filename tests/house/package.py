#!/usr/bin/env python3
"""Debian's package: it builds from the tracked files, twice to the same bytes, and lintian has nothing against it. Where the system is one
that is thrown away (.ci/run says so with SALLYPORT_MAY_INSTALL=1) it is installed, used and removed.

usage: package.py PROJECT VERSION"""
import concurrent.futures
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

project, version = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
CPUS = len(os.sched_getaffinity(0))
failed = passed = 0


def call(*words, cwd=None, **more):
    return subprocess.run(words, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=1500, **more)


def must(what, holds, said=""):
    """Counts one check."""
    global passed, failed
    passed, failed = passed + bool(holds), failed + (not holds)
    print(f"{'ok  ' if holds else 'FAIL'} {what}" + ("" if holds else f"\n{said}"), flush=True)
    return holds


def ends_well(what, done):
    return must(what, done.returncode == 0, f"exit {done.returncode}\n{done.stdout[-4000:]}")


def build(top, zone):
    """Builds the package. In another place, at another hour: its bytes may show neither."""
    source = top / "sallyport"
    listed = call("git", "ls-files", "-z", cwd=project)
    for name in filter(None, listed.stdout.split("\0")):
        if (project / name).exists():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(project / name, source / name, follow_symlinks=False)
    # -d: meson need not come from Debian.
    return call("dpkg-buildpackage", "-us", "-uc", "-b", "-d", cwd=source,
                env=os.environ | {"PATH": f"/usr/bin:/bin:{os.environ['PATH']}", "TZ": zone, "DEB_BUILD_OPTIONS": f"parallel={CPUS // 2 or 1}"})


def look(top, done):
    """The package that was built, and its bytes as a digest; or None."""
    if not ends_well(f"it builds in {top.name}", done):
        return None
    found = list(top.glob("sallyport_*.deb"))
    return found[0], hashlib.sha256(found[0].read_bytes()).hexdigest()


def install(package):
    root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    ends_well("it is installed", call(*root, "dpkg", "-i", str(package)))
    files = call("dpkg", "-L", "sallyport").stdout.splitlines()
    ends_well("its program is in /usr/bin", call("/usr/bin/sallyport", "--version"))
    must("its second name is there", "/usr/bin/sallyport-sh" in files)
    ends_well("it runs a command", call("/usr/bin/sallyport", "run", "--report", "none", "--", "echo", "inside", cwd=tempfile.mkdtemp(dir=package.parent)))
    ends_well("it is removed", call(*root, "dpkg", "--purge", "sallyport"))
    left = [path for path in files if os.path.lexists(path) and not os.path.isdir(path)]
    must("none of its files is left", len(files) > 50 and not left, left)


def main():
    with tempfile.TemporaryDirectory(prefix="sallyport-package-", dir="/var/tmp") as folder:
        changes = (project / "debian" / "changelog").read_text()
        must("debian/changelog has the program's version", re.match(r"sallyport \(([^)]+)\)", changes)[1] == version)
        tops = [pathlib.Path(folder) / name for name in ("one", "another")]
        with concurrent.futures.ThreadPoolExecutor() as pool:  # both at once: much of a build is one process
            made = list(map(look, tops, pool.map(build, tops, ("UTC-12", "UTC+12"))))
        if all(made):
            must("both have the same bytes", made[0][1] == made[1][1])
            ends_well("lintian has nothing against it", call("lintian", "--fail-on", "error,warning", "--allow-root", *map(str, tops[0].glob("*.changes"))))
            if os.environ.get("SALLYPORT_MAY_INSTALL") == "1":
                install(made[0][0])
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
