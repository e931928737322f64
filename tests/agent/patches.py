"""patches: a change by a client's own tool is judged by the paths that it would write, in every mode."""
import os
import pathlib
import subprocess

import harness

MODES = ("never", "on-failure", "on-request", "untrusted", "reject:sandbox")
UNASKED = {"inside": ("never", "on-failure", "on-request", "reject:sandbox"), "outside": (), "refused": ()}
ASKED = {"inside": ("untrusted",), "outside": ("on-failure", "on-request", "untrusted"), "refused": ()}


class Sessions:
    """One session for each mode, all with the same sandbox."""

    def __init__(self, client, modes=MODES, **members):
        self.client, self.modes = client, modes
        Sessions.made = getattr(Sessions, "made", 0) + 1
        self.names = {mode: f"{mode.replace(':', '-')}-{Sessions.made}" for mode in modes}
        for mode, name in self.names.items():
            client.configure(mode, name=name, **members)

    def put(self, mode, files):
        """The outcome: approved, rejected, or the question, which is denied."""
        id = self.client.send("request_patch_approval", session=self.names[mode], files=files)
        while True:
            with self.client.news:
                question = next((event for event in self.client.events if event["type"] == "approval_request"), None)
                complete = next((event for event in self.client.events
                                 if event["type"] == "task_complete" and event["id"] == id), None)
                if question:
                    self.client.events.remove(question)
                    break
                if complete:
                    self.client.events.remove(complete)
                    return complete
                error = next((event for event in self.client.events if event["type"] == "error" and event.get("id") == id), None)
                assert not error, f"{files}: {error}"
                assert self.client.news.wait(harness.PATIENCE), f"nothing came of {files}"
        assert question["kind"] == "patch", question
        self.client.answer(question, "denied")
        assert self.client.next("task_complete", id=id)["outcome"] == "rejected"
        return question

    def expect(self, what, *files):
        for mode in self.modes:
            came = self.put(mode, [str(file) for file in files])
            if mode in UNASKED[what]:
                assert came.get("outcome") == "approved", f"{what}, {mode}, {files}: {came}"
            elif mode in ASKED[what]:
                assert came["type"] == "approval_request", f"{what}, {mode}, {files}: {came}"
            else:
                assert came.get("outcome") == "rejected" and came["by"] == "rule" and came["message"], (
                    f"{what}, {mode}, {files}: {came}")


def lay_out(stage):
    """Files of the workspace and beside it, and links between them."""
    work = stage.work
    for folder in ("src", ".git/hooks", "secret", "kept"):
        (work / folder).mkdir(parents=True)
    for file in ("src/a.c", ".git/config", "secret/key", "kept/file"):
        (work / file).write_text("x\n")
    (stage.top / "beside").mkdir()
    (stage.top / "beside" / "file").write_text("x\n")
    os.symlink("src/a.c", work / "link-in")
    os.symlink("src", work / "folder-in")
    os.symlink(stage.top / "beside" / "file", work / "link-out")
    os.symlink(stage.top / "beside", work / "folder-out")
    os.symlink(stage.top / "beside" / "none", work / "link-to-none")
    os.symlink("loop", work / "loop")
    os.symlink("/proc/self/cwd/src", work / "of-process")
    os.symlink(".git/hooks", work / "hooks")
    os.symlink("none/../folder-out/file", work / "by-what-is-not-there")
    os.symlink(work / "src" / "a.c", stage.top / "beside" / "link-back")
    os.mkfifo(work / "fifo")
    return work


def in_the_workspace(stage):
    work = lay_out(stage)
    asks = Sessions(stage.client())
    inside = ["src/a.c"], ["src/new.c"], ["new/folder/new.c"], [work / "src/a.c"], ["src//a.c"], ["./src/./a.c"], ["link-in"], \
             ["folder-in/a.c"], ["folder-in/new"], ["src/a.c", "src/moved.c"], [".gitignore"], [".github/workflows/ci.yml"]
    for files in inside:
        asks.expect("inside", *files)


def beside_it(stage):
    work = lay_out(stage)
    asks = Sessions(stage.client())
    beside = stage.top / "beside"
    outside = ["/etc/passwd"], [beside / "file"], [beside / "new"], ["link-out"], ["folder-out/file"], ["folder-out/new/new"], \
              ["link-to-none"], [beside / "link-back"], ["src/a.c", "/etc/passwd"], ["/etc/passwd", "src/a.c"], [f"{work}-other/a"], \
              [f"//etc//passwd"], ["/usr/bin/new"]
    for files in outside:
        asks.expect("outside", *files)
    # A file of several names: the others are somewhere.
    os.link(beside / "file", work / "one-of-two")
    asks.expect("outside", "one-of-two")


def what_nobody_may_change(stage):
    work = lay_out(stage)
    stage.policy(f"hide \"{work}/secret\"\n")
    asks = Sessions(stage.client(), sandbox={"mode": "workspace-write", "deny": [str(work / "kept")]})
    own = stage.top
    os.symlink(work / "secret", work / "to-secret")
    os.symlink(own / "policy", work / "to-policy")
    refused = ["secret/key"], ["secret/new"], ["to-secret/new"], ["kept/file"], ["kept/new/new"], \
              [own / "policy"], ["to-policy"], [own / "audit.jsonl"], [own / "state" / "sallyport" / "new"], \
              [own / "config" / "sallyport" / "policy"], [own / "runtime" / "sallyport" / "new"], \
              [".git/hooks/pre-commit"], [".git/config"], ["hooks/pre-commit"], ["sub/.git/hooks/post-checkout"], ["sub/.git"], \
              [".git/modules/x/config"], ["src"], ["."], ["src/"], ["fifo"], ["loop"], ["of-process/a.c"], ["/proc/self/cwd/src/a.c"], \
              ["by-what-is-not-there"], ["src/a.c/none"], ["src/a.c", "secret/key"], ["/etc/passwd", ".git/config"]
    for files in refused:
        asks.expect("refused", *files)
    # Other names of the same: links that a command planted.
    os.link(work / "secret/key", work / "one-of-two")
    asks.expect("outside", "one-of-two")
    os.link(own / "policy", work / "another-policy")
    asks.expect("refused", "another-policy")


# Files that run code when a person opens a folder, starts a shell or an agent: in a workspace, at any depth.
RUN_LATER = (".envrc", ".vscode/tasks.json", ".vscode/settings.json", ".idea/workspace.xml", ".devcontainer/devcontainer.json",
             ".claude/settings.json", ".claude/commands/new.md", ".mcp.json", ".cursor/mcp.json", ".codex/config.toml", "opencode.json",
             ".bashrc", ".profile", ".zshenv", ".config/fish/config.fish", ".ssh/authorized_keys", ".gitconfig", ".git", ".GIT/config",
             ".git/info/attributes")


def what_runs_code_later(stage):
    """Patches and commands follow the same table of protected paths, in every sandbox."""
    work = lay_out(stage)
    os.symlink(".", work / "here")
    os.symlink(".envrc", work / "to-envrc")
    client = stage.client("--allow-unconfined")
    for sandbox in ({"mode": "workspace-write"}, {"mode": "read-only"}, {"mode": "danger-full-access"}):
        asks = Sessions(client, ("never", "on-request"), sandbox=sandbox)
        for name in RUN_LATER:
            for file in (name, f"src/deep/er/{name}", f"here/{name}", f"folder-in/{name}"):
                asks.expect("refused", file)
        asks.expect("refused", "to-envrc")
        asks.expect("refused", "src/a.c", "src/.envrc")
    asks = Sessions(client)
    asks.expect("inside", ".envrc.example")
    asks.expect("inside", "vscode/tasks.json")


def what_a_protected_link_leads_to(stage):
    """As for commands: the executed file counts, not its name; and a repository is recognised by its contents."""
    work = lay_out(stage)
    (work / "env.sh").write_text("x\n")
    os.symlink("env.sh", work / ".envrc")
    subprocess.run(["git", "init", "-q", "--bare", str(work / "bare")], check=True)
    (work / "hooked").mkdir()
    (work / "hooked" / "post-checkout").write_text("#!/bin/sh\n")
    (work / ".git" / "config").write_text("[core]\n\thooksPath = hooked\n")
    client = stage.client()
    end = client.run("for f in env.sh bare/config bare/hooks/new hooked/new; do echo >$f && echo $f; done; echo y >src/a.c") \
        if client.configure("never") else None
    asks = Sessions(client)
    for file in ("env.sh", "bare/config", "bare/hooks/post-update", "hooked/post-checkout", "hooked/new"):
        asks.expect("refused", file)
    asks.expect("inside", "src/a.c")
    assert end["stdout"]["text"] == "", end


def what_the_policy_says_of_it(stage):
    work = lay_out(stage)
    (work / "own").mkdir()
    (work / "own" / "file").write_text("x\n")
    stage.policy(f'unprotect ".vscode"\nunprotect "{work}/src/free"\nunprotect ".git/config"\nprotect "{work}/own"\nprotect "secrets.env"\n')
    asks = Sessions(stage.client())
    for file in (".vscode/tasks.json", "src/.vscode/new", "src/free/.envrc", "src/free/.git/hooks/x", ".git/config"):
        asks.expect("inside", file)
    for file in (".envrc", "src/.claude/x", ".git/hooks/x", "own/file", "own/new", "secrets.env", "src/secrets.env"):
        asks.expect("refused", file)


def hidden_where_reading_is_restricted(stage):
    """`hide` is the policy's in every mode, also beside `read`."""
    work = lay_out(stage)
    stage.policy(f"hide \"{work}/secret\"\nread \"{work}\"\n")
    client = stage.client()
    asks = Sessions(client)
    asks.expect("refused", "secret/key")
    asks.expect("inside", "src/a.c")
    end = client.run("cat secret/key; cat src/a.c")
    assert end["stdout"]["text"] == "x\n", end


def in_other_sandboxes(stage):
    work = lay_out(stage)
    client = stage.client("--allow-unconfined")
    asks = Sessions(client, sandbox={"mode": "read-only"})
    asks.expect("outside", "src/a.c")
    asks.expect("outside", "/etc/passwd")
    asks.expect("refused", ".git/config")
    split = {"mode": "split", "read": ["/usr", str(work)], "writable": [str(work / "src")], "deny": [str(work / "src/sub")]}
    asks = Sessions(client, sandbox=split)
    asks.expect("inside", "src/a.c")
    asks.expect("outside", "kept/file")
    asks.expect("outside", "/etc/passwd")
    asks.expect("refused", "src/sub/a")
    asks = Sessions(client, sandbox={"mode": "danger-full-access"})
    asks.expect("inside", "/etc/passwd")
    asks.expect("refused", stage.top / "audit.jsonl")
    asks.expect("refused", stage.top / "config" / "sallyport" / "policy")
    asks.expect("refused", ".git/hooks/pre-commit")


def a_program_that_decides(stage):
    hook = stage.top / "beside" / "hook"
    lay_out(stage)
    hook.write_text("#!/bin/sh\necho '{\"answer\":\"deny\"}'\n")
    hook.chmod(0o755)
    stage.policy(f"hook \"{hook}\" for exec\n")
    asks = Sessions(stage.client())
    asks.expect("refused", hook)
    asks.expect("outside", stage.top / "beside" / "file")


def a_link_turned_after_its_answer(stage):
    """An approval for the session holds for the real path, not for the name that led there."""
    lay_out(stage)
    client = stage.client()
    client.configure("on-request")
    id = client.send("request_patch_approval", files=["link-out"])
    question = client.next("approval_request")
    assert question["items"] == [str(stage.work / "link-out"), str(stage.top / "beside" / "file")], question
    assert "outside the places" in question["because"], question
    client.answer(question, "approved_for_session")
    assert client.next("task_complete", id=id)["outcome"] == "approved"
    id = client.send("request_patch_approval", files=["link-out"])
    assert client.next("task_complete", id=id)["outcome"] == "approved"
    (stage.work / "link-out").unlink()
    os.symlink("/etc/passwd", stage.work / "link-out")
    id = client.send("request_patch_approval", files=["link-out"])
    client.answer(client.next("approval_request"), "denied")
    assert client.next("task_complete", id=id)["outcome"] == "rejected"


def no_patch_at_all(stage):
    client = stage.client()
    client.configure("never")
    for files in ([], [""], ["a/../b"], ["../a"], ["a/.."], ["x" * 5000], [f"f{i}" for i in range(513)], [7]):
        client.wrong("request_patch_approval", "m", files=files)
        client.error("m", "malformed")
    client.raw(harness.line_of("request_patch_approval", "m", files=["a\0b"]))
    client.next("error", code="malformed")
    client.wrong("request_patch_approval", "m")
    client.error("m", "malformed")
    # As many as there may be, each of which is a link to another: twice as many places are too many, and none is approved.
    for i in range(300):
        os.symlink(f"to-{i}", stage.work / f"link-{i}")
    id = client.send("request_patch_approval", files=[f"link-{i}" for i in range(300)])
    client.error(id, "malformed")


DIFF = "@@ -1 +1,2 @@\n x\n+y\n"


def what_it_changes(stage):
    """The question shows what the patch adds, deletes, updates and moves; each path is judged, also the one it moves to."""
    work = lay_out(stage)
    beside = stage.top / "beside"
    client = stage.client()
    client.configure("on-request")
    changes = [{"path": "src/new.c", "kind": "add", "content": "int x;\n\u001b[2J"}, {"path": str(beside / "file"), "kind": "delete"},
               {"path": "src/a.c", "kind": "update", "unified_diff": DIFF, "move_path": str(beside / "b.c")}]
    id = client.send("request_patch_approval", changes=changes, reason="tidy")
    question = client.next("approval_request", kind="patch")
    assert question["changes"] == changes and str(beside / "b.c") in question["items"], question
    # Another patch of the same files is another question; the same one is not.
    same = client.send("request_patch_approval", changes=changes, reason="tidy")
    client.next("approval_updated", approval=question["approval"])
    longer = "@@ -1 +1,3 @@\n x\n+y\n+z\n"
    other = client.send("request_patch_approval", changes=[changes[0], dict(changes[1]), dict(changes[2], unified_diff=longer)])
    second = client.next("approval_request", kind="patch")
    assert second["changes"][2]["unified_diff"] == longer and second["ids"] == [other], second
    client.answer(question, "approved")
    for task in (id, same):
        begin = client.next("patch_apply_begin", id=task)
        assert begin["auto_approved"] is False and begin["changes"] == changes, begin
        assert client.next("task_complete", id=task)["outcome"] == "approved"
    client.answer(second, "denied")
    assert client.next("task_complete", id=other)["outcome"] == "rejected"
    client.never("patch_apply_begin", id=other)
    for path, outcome in (("src/other.c", "approved"), (".git/hooks/pre-commit", "rejected"), ("secret/../x", None)):
        move = client.send("request_patch_approval", changes=[{"path": "src/a.c", "kind": "update", "move_path": path}])
        if outcome:
            assert client.next("task_complete", id=move)["outcome"] == outcome, path
        else:
            client.error(move, "malformed")
    assert work.exists()


def told_of_its_end(stage):
    """The client applies an approved patch, and says once how that went; nobody was asked about one inside."""
    lay_out(stage)
    client = stage.client()
    client.configure("on-request")
    id = client.send("request_patch_approval", files=["src/a.c"])
    begin = client.next("patch_apply_begin", id=id)
    assert begin["auto_approved"] is True and begin["files"] == [str(stage.work / "src/a.c")], begin
    client.next("task_complete", id=id, outcome="approved")
    client.next("accepted", id=client.send("patch_applied", patch=id, success=False, message="the file has changed"))
    end = client.next("patch_apply_end", id=id)
    assert (end["id"], end["success"], end["message"]) == (id, False, "the file has changed"), end
    client.error(client.send("patch_applied", patch=id, success=True), "unknown")
    client.error(client.send("patch_applied", patch="none", success=True), "unknown")
    client.configure("on-request", name="other")
    mine = client.send("request_patch_approval", files=["src/a.c"])
    client.next("task_complete", id=mine)
    client.error(client.send("patch_applied", patch=mine, success=True, session="other"), "unknown")
    rejected = client.send("request_patch_approval", files=[".git/config"])
    client.next("task_complete", id=rejected, outcome="rejected")
    client.error(client.send("patch_applied", patch=rejected, success=True), "unknown")


def a_root_for_the_session(stage):
    """grant_root: with an answer for the session all below it may be written from then on, but not what is protected."""
    lay_out(stage)
    beside = stage.top / "beside"
    client = stage.client()
    quiet = {"mode": "workspace-write", "exclude_slash_tmp": True, "exclude_tmpdir": True}
    client.configure("on-request", sandbox=quiet)

    def ask(decision, root=beside, name="file"):
        id = client.send("request_patch_approval", files=[str(beside / name)], grant_root=str(root))
        question = client.next("approval_request", kind="patch")
        assert question["accesses"] == [{"what": "write", "name": str(root)}] and "approved_for_session" in question["decisions"], question
        client.answer(question, decision)
        return client.next("task_complete", id=id)["outcome"]

    assert ask("approved") == "approved"
    assert client.run(["touch", str(beside / "x")])["status"] == "denied"  # that was for the patch only
    assert ask("denied") == "rejected"
    assert ask("approved_for_session") == "approved"
    assert client.run(["touch", str(beside / "x")])["exit_code"] == 0
    for files, outcome in (([str(beside / "new")], "approved"), ([str(beside / ".envrc")], "rejected")):
        id = client.send("request_patch_approval", files=files)
        assert client.next("task_complete", id=id)["outcome"] == outcome, files
    client.never("approval_request")
    # The gate's own files are not opened, and where nobody may be asked nothing is.
    id = client.send("request_patch_approval", files=["src/a.c"], grant_root=str(stage.top / "config" / "sallyport"))
    client.error(id, "refused")
    client.configure("never", name="silent", sandbox=quiet)
    id = client.send("request_patch_approval", files=["src/a.c"], grant_root=str(beside), session="silent")
    assert client.next("task_complete", id=id)["outcome"] == "rejected"


def a_hook_sees_what_it_changes(stage):
    """A program that decides is shown the changes, or, if they are too long for it, does not decide."""
    lay_out(stage)
    hook = stage.top / "hook"
    hook.write_text("#!/bin/sh\nread -r line\ncase $line in *evil*) echo '{\"answer\":\"deny\"}' ;; *) echo '{\"answer\":\"allow\"}' ;; esac\n")
    hook.chmod(0o755)
    stage.policy(f'hook "{hook}" for patch\n')
    client = stage.client()
    client.configure("on-request")
    path = str(stage.top / "beside" / "new")
    for content, outcome in (("good", "approved"), ("evil", "rejected")):
        id = client.send("request_patch_approval", changes=[{"path": path, "kind": "add", "content": content}])
        assert client.next("task_complete", id=id)["outcome"] == outcome, content
    id = client.send("request_patch_approval", changes=[{"path": path, "kind": "add", "content": "good" * 2000 + "evil"}])
    client.answer(client.next("approval_request", kind="patch"), "denied")
    assert client.next("task_complete", id=id)["outcome"] == "rejected"


def no_change_at_all(stage):
    """What a change means must be clear, and small enough to be shown; a header must not name another file."""
    lay_out(stage)
    client = stage.client()
    client.configure("never")
    add = {"path": "a", "kind": "add", "content": ""}
    cases = [[], [{}], ["a"], [dict(add, kind="rename")], [dict(add, mode="0755")], [{"path": "a", "kind": "add"}],
             [dict(add, unified_diff=DIFF)], [{"path": "a", "kind": "update"}], [{"path": "a", "kind": "update", "content": "x"}],
             [{"path": "a", "kind": "update", "unified_diff": ""}], [{"path": "a", "kind": "update", "unified_diff": "--- a\n+++ b\n" + DIFF}],
             [{"path": "a", "kind": "update", "unified_diff": DIFF + "diff --git a b\n"}], [dict(add, move_path="b")],
             [{"path": "a", "kind": "delete", "move_path": "b"}], [add, dict(add, path="./a")],
             [add, {"path": "b", "kind": "update", "move_path": "a"}], [dict(add, content="x" * (256 << 10))], [dict(add, path="b/../a")],
             [dict(add, path=f"f{i}") for i in range(513)]]
    # A line after the last of a hunk may be a header to the program that applies it, though it looks like one of a hunk.
    behind = ["--- ../b\n+++ ../b\n@@ -1 +1 @@\n-x\n+y\n", "+z\n", "-z\n", " z\n", "\n--- ../b\n+++ ../b\n@@ -1 +1 @@\n-x\n+y\n"]
    diffs = [DIFF + more for more in behind]
    diffs += ["@@ -1 +1,3 @@\n x\n+y\n", "@@ -2 +1,2 @@\n x\n+y\n+z\n", "@@ -1 +1,2 @\n x\n+y\n", "@@ -1,x +1,2 @@\n x\n+y\n",
              "@@ -1,18446744073709551617 +1,2 @@\n x\n+y\n", "@@ -0,0 +0,0 @@\n--- ../b\n", "@@ -1 +1,2 @@\n x\n@@ -9 +9 @@\n+y\n"]
    cases += [[{"path": "a", "kind": "update", "unified_diff": diff}] for diff in diffs]
    for changes in cases:
        client.wrong("request_patch_approval", "m", changes=changes)
        client.error("m", "malformed")
    for diff in DIFF + "@@ -7,2 +8,0 @@ f()\n-a\n-\n", "@@ -1,2 +1 @@\n\n--a\n\\ No newline at end of file\n", "@@ -1 +1 @@\n-a\n+b":
        id = client.send("request_patch_approval", changes=[{"path": "a", "kind": "update", "unified_diff": diff}])
        assert client.next("task_complete", id=id)["outcome"] == "approved"
    client.wrong("request_patch_approval", "m", changes=[add], files=["a"])
    client.error("m", "malformed")
    id = client.send("request_patch_approval", changes=[dict(add, path=f"f{i}", content="x" * 300) for i in range(400)])
    assert client.next("task_complete", id=id)["outcome"] == "approved"


def mounted_twice(stage):
    """A folder that is mounted under another name is the same folder."""
    work = lay_out(stage)
    inner = work / "mounted"
    inner.mkdir()
    stage.policy(f"hide \"{work}/secret\"\n")
    script = f'mount --bind "$1/secret" "$1/mounted" && exec "$0" agent --audit "$2/audit.jsonl" --policy "$2/policy"'
    how = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-Urm"]
    tried = subprocess.run([*how, "true"], capture_output=True)
    assert tried.returncode == 0, tried.stderr
    wrapper = stage.top / "mounts"
    wrapper.write_text(f"#!/bin/sh\nexec {' '.join(how)} sh -c '{script}' {stage.sallyport} {work} {stage.top}\n")
    wrapper.chmod(0o755)
    stage.sallyport, real = str(wrapper), stage.sallyport
    client = stage.client()
    stage.sallyport = real
    Sessions(client).expect("refused", "mounted/key")


CASES = [in_the_workspace, beside_it, what_nobody_may_change, what_runs_code_later, what_a_protected_link_leads_to,
         what_the_policy_says_of_it, hidden_where_reading_is_restricted, in_other_sandboxes, a_program_that_decides,
         a_link_turned_after_its_answer, no_patch_at_all, what_it_changes, told_of_its_end, a_root_for_the_session,
         a_hook_sees_what_it_changes, no_change_at_all, mounted_twice]

if __name__ == "__main__":
    harness.main(CASES)
