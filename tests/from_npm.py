"""from_npm: what a test takes from npm: exactly the packages of a lock file, installed once below the build directory."""
import hashlib
import pathlib
import shutil
import subprocess
import sys


def install(lock, below):
    """Installs what the folder @lock names. To be called while the test still has the machine's network; ends the test if it fails."""
    lock, to = pathlib.Path(lock), pathlib.Path(below).resolve() / "node"
    stamp, wanted = to / "installed", hashlib.sha256((lock / "package-lock.json").read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    to.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(lock / name, to / name)
    run = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], cwd=to,
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=480)
    if run.returncode:
        print(f"the packages could not be installed:\n{run.stdout}{run.stderr}\n0 passed, 1 failed, 0 skipped")
        sys.exit(1)
    stamp.write_text(wanted)
