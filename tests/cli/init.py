#!/usr/bin/env python3
"""`init` in a project, line by line and at once, and for a user. It runs in no namespace of its own: to an ordinary user, the machine's
configuration of tools would belong to nobody there, and the presets would refuse it.

usage: init.py SALLYPORT [NAME...]"""
import shutil
import sys

from profiles import play


def init_of_a_project(stage):
    for name in ("package.json", "requirements.txt", "go.mod", "Cargo.toml", "Dockerfile", "CLAUDE.md"):
        (stage.here / name).write_text("")
    (stage.here / ".github").mkdir()
    done = stage.call("init")
    assert done.returncode == 2 and "--yes" in done.stderr, done
    done = stage.call("init", "--dry-run")
    assert done.returncode == 0 and not (stage.here / ".sallyport").exists(), done
    shown = done.stdout
    done = stage.call("init", "--yes")
    path = stage.here / ".sallyport/policy"
    assert done.returncode == 0 and path.read_text() == shown and path.stat().st_mode & 0o777 == 0o644, done
    for preset in ("npm", "pip", "go", "cargo", "docker", "apt", "github", "baseline"):
        assert f"include preset {preset} " in shown, shown
    assert "sallyport policy trust .sallyport/policy" in done.stdout and "--profile claude -- claude" in done.stdout, done
    done = stage.call("policy", "check", ".sallyport/policy")
    assert done.returncode == 0, done
    ask, allow = 2, 0
    assert stage.call("policy", "explain", "https://github.com").returncode == ask
    assert stage.call("policy", "trust", ".sallyport/policy").returncode == 0
    assert stage.call("policy", "explain", "https://github.com").returncode == allow
    done = stage.call("init", "--yes")
    assert done.returncode == 1 and "exists and is not changed" in done.stderr and path.read_text() == shown, done


def init_line_by_line(stage):
    (stage.here / "package.json").write_text("{}")
    (stage.here / "go.mod").write_text("")
    out, status = stage.typed("\nmaybe\nn\ny\n", "init")
    assert status == 0 and "please answer y or n" in out, out
    text = (stage.here / ".sallyport/policy").read_text()
    assert "preset npm" in text and "preset go" not in text and "preset baseline" in text, text
    shutil.rmtree(stage.here / ".sallyport")
    out, status = stage.typed("y\n\x04", "init")
    assert status == 1 and "nothing was written" in out and not (stage.here / ".sallyport").exists(), out


def init_of_a_user(stage):
    (stage.here / "go.mod").write_text("")
    done = stage.call("init", "--user", "--yes")
    path = stage.home / ".config/sallyport/policy"
    assert done.returncode == 0 and "preset go" in path.read_text() and path.stat().st_mode & 0o777 == 0o600, done
    assert "policy trust" not in done.stdout, done
    path.write_text("default deny\n")
    assert stage.call("init", "--user", "--yes").returncode == 1 and path.read_text() == "default deny\n"


def init_follows_no_link(stage):
    outside = stage.top / "outside"
    outside.mkdir()
    (stage.here / ".sallyport").symlink_to(outside)
    done = stage.call("init", "--yes")
    assert done.returncode == 3 and list(outside.iterdir()) == [], done
    (stage.here / ".sallyport").unlink()
    (stage.here / ".sallyport").mkdir()
    (stage.here / ".sallyport/policy").symlink_to(outside / "policy")
    assert stage.call("init", "--yes").returncode == 1 and list(outside.iterdir()) == []


if __name__ == "__main__":
    sys.exit(play([init_of_a_project, init_line_by_line, init_of_a_user, init_follows_no_link]))
