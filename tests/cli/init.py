#!/usr/bin/env python3
"""`init` in a project, line by line and at once, and for a user. It runs in no namespace of its own: to an ordinary user, the machine's
configuration of tools would belong to nobody there, and the presets would refuse it.

usage: init.py SALLYPORT [NAME...]"""
import json
import shutil
import subprocess
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


def tools_without_a_configuration_are_quiet(stage):
    """A run says nothing about what nobody can change; `policy check` does. Go and cargo name their own defaults."""
    policy = stage.home / ".config/sallyport/policy"
    policy.parent.mkdir(parents=True)
    policy.write_text("".join(f"include preset {name}\n" for name in ("go", "cargo", "maven", "docker")))
    done = stage.call("run", "--no-tty", "--", "true")
    assert done.returncode == 0 and "warning" not in done.stderr, done
    done = stage.call("policy", "check", str(policy))
    assert done.returncode == 0 and 'go: go env GOPROXY GOSUMDB: "direct"' in done.stderr and "docker cannot be asked" in done.stderr, done
    done = stage.call("policy", "list", PATH="/usr/bin:/bin")  # of Debian
    assert done.returncode == 0 and "go env GOPROXY GOSUMDB" in done.stdout and "configured cargo: cargo search" in done.stdout, done
    (stage.here / ".npmrc").write_text("registry=https://a.test/\n")
    policy.write_text("include preset npm\n")
    done = stage.call("run", "--no-tty", "--", "true")
    assert done.returncode == 0 and done.stderr.count("warning") == 1 and ".npmrc: not read" in done.stderr, done


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


def installed(stage, *words, status=0):
    done = stage.call("init", "--agent", *words)
    assert done.returncode == status, done
    return done.stdout + done.stderr


def agent_is_installed_and_undone(stage):
    """What was there stays, also its form; what was not there is removed again."""
    settings, tools = stage.here / ".claude/settings.json", stage.here / ".mcp.json"
    settings.parent.mkdir()
    settings.write_text('{ "model":"x",\n\t"hooks": {"PreToolUse": [ {"matcher": "Edit"} ]} }')
    settings.chmod(0o640)
    was = settings.read_bytes()
    said = installed(stage, "claude", "--install", "--dry-run")
    assert '"sallyport hook claude"' in said and ".mcp.json would be:" in said, said
    assert settings.read_bytes() == was and not tools.exists(), said
    said = installed(stage, "claude", "--install")
    assert said.count("--uninstall") == 2, said
    got = json.loads(settings.read_text())
    assert got["model"] == "x" and len(got["hooks"]["PreToolUse"]) == 2, got
    assert settings.stat().st_mode & 0o777 == 0o640 and json.loads(tools.read_text())["mcpServers"]["sallyport"]["args"] == ["mcp"]
    assert installed(stage, "claude", "--install").count("has it already") == 2
    installed(stage, "claude", "--uninstall")
    assert settings.read_bytes() == was and not tools.exists()
    assert installed(stage, "claude", "--uninstall").count("has none of it") == 2
    assert sorted(path.name for path in stage.here.iterdir()) == [".claude"], list(stage.here.iterdir())


def others_changes_stay(stage):
    tools = stage.here / ".mcp.json"
    installed(stage, "claude", "--install")
    got = json.loads(tools.read_text())
    got["mcpServers"]["other"] = {"command": "other"}
    tools.write_text(json.dumps(got))
    installed(stage, "claude", "--uninstall")
    assert json.loads(tools.read_text()) == {"mcpServers": {"other": {"command": "other"}}}, tools.read_text()
    config = stage.home / ".codex/config.toml"
    installed(stage, "codex", "--install")
    assert config.stat().st_mode & 0o777 == 0o600 and config.read_text().startswith("[mcp_servers.sallyport]"), config.read_text()
    config.write_text('model = "m"\n' + config.read_text() + "[more]\n")
    installed(stage, "codex", "--uninstall")
    assert config.read_text() == 'model = "m"\n[more]\n', config.read_text()


def nothing_is_installed_over_what_is_unclear(stage):
    """One file that cannot be changed: no file is."""
    settings, tools = stage.here / ".claude/settings.json", stage.here / ".mcp.json"
    settings.parent.mkdir()
    for text, why in (('{"hooks": ', ".claude/settings.json:1:"), ('{"a": 1, "a": 2}', "duplicate"), ("[]", "not a JSON object"),
                      ('{"hooks": "mine"}', "other values")):
        settings.write_text(text)
        said = installed(stage, "claude", "--install", status=3)
        assert why in said and "nothing was changed" in said and settings.read_text() == text and not tools.exists(), said
    settings.unlink()
    outside = stage.top / "linked.json"
    outside.write_text("{}")
    settings.symlink_to(outside)
    assert "is not a file" in installed(stage, "claude", "--install", status=3)
    assert outside.read_text() == "{}" and not tools.exists()
    settings.unlink()
    settings.parent.rmdir()
    (stage.top / "elsewhere").mkdir()
    settings.parent.symlink_to(stage.top / "elsewhere")
    assert "the folder of .claude/settings.json" in installed(stage, "claude", "--install", status=3)
    assert not any((stage.top / "elsewhere").iterdir()) and not tools.exists()
    assert "as a whole" in installed(stage, "aider", "--install", status=2)
    for words in (("--install",), ("--uninstall",)):
        assert stage.call("init", *words).returncode == 2
    for words in (("--install", "--uninstall"), ("--uninstall", "--dry-run")):
        installed(stage, "claude", *words, status=2)


def remotes_over_ssh_are_lines(stage):
    """Not over https, not on this machine, and not by a name that ssh's own configuration leads elsewhere; submodules count, fetched or not."""
    (stage.here / ".git").mkdir()
    urls = ["git@a.test:x.git", "ssh://git@b.test:2222/x", "https://c.test/x", "git@d.test:x", "/srv/x.git", "git@work:x", "git@e.test-work:x",
            "git@[2001:db8::1]:x", "git@f.test:y", "git@f.test:z"]
    (stage.here / ".git/config").write_text("".join(f'[remote "r{at}"]\n\turl = {url}\n' for at, url in enumerate(urls))
                                            + '[submodule "s"]\n\turl = git@g.test:x\n')
    (stage.here / ".gitmodules").write_text('[submodule "s"]\n\tpath = s\n\turl = git@g.test:x\n[submodule "t"]\n\turl = ssh://h.test/x\n')
    (stage.home / ".ssh").mkdir()
    (stage.home / ".ssh/config").write_text("# mine\nHost *-work !d.test\n  HostName=e.test\nHost a.test f.*\n  HostName %h\n  User git\nHost d.test\n\tPort 443\n")
    done = stage.call("init", "--yes")
    path = stage.here / ".sallyport/policy"
    assert done.returncode == 0, done
    lines = [line.split("   # ") for line in path.read_text().splitlines() if line.startswith("allow ")]
    assert lines == [["allow tcp://a.test:22", ".git/config:2"], ["allow tcp://b.test:2222", ".git/config:4"],
                     ["allow tcp://[2001:db8::1]:22", ".git/config:16"], ["allow tcp://f.test:22", ".git/config:18"],
                     ["allow tcp://g.test:22", ".git/config:22"], ["allow tcp://h.test:22", ".gitmodules:5"]], lines
    for name in ("work", "e.test-work", "d.test"):
        assert f"no line for {name}, because ssh's configuration may" in done.stderr, done
    assert stage.call("policy", "trust", str(path)).returncode == 0
    for host, status in (("a.test:22", 0), ("b.test:2222", 0), ("h.test:22", 0), ("d.test:22", 2)):
        assert stage.call("policy", "explain", f"tcp://{host}").returncode == status, host
    (stage.here / ".git/config").write_text("[remote")
    done = stage.call("init", "--dry-run")
    assert done.returncode == 0 and "no lines for the remotes of git: " in done.stderr and "allow" not in done.stdout.replace("allows", ""), done


def init_in_a_folder_that_is_gone(stage):
    gone = stage.top / "gone"
    gone.mkdir()
    words = ["sh", "-c", 'cd "$1" && rmdir "$1" && shift && exec "$@"', "sh", str(gone), stage.sallyport, "init", "--yes"]
    done = subprocess.run(words, env=stage.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert done.returncode == 3 and "the working directory was deleted; go to another one" in done.stderr, done


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
    sys.exit(play([init_of_a_project, tools_without_a_configuration_are_quiet, remotes_over_ssh_are_lines, init_line_by_line, init_of_a_user, init_follows_no_link, init_in_a_folder_that_is_gone, agent_is_installed_and_undone,
                   others_changes_stay, nothing_is_installed_over_what_is_unclear]))
