#!/usr/bin/env python3
"""A command that is blocked does not block others: by a file system that does not answer, by memory that cannot be read, by a process of the
gate that is stopped or dead. Nothing is timed: the other command has to be answered while the first is still held.
usage: stalls.py SALLYPORT [CASE...]"""
import fcntl
import os
import pathlib
import signal
import sys

import fuse
import harness
from world import descendants, enter_namespace

# Both with the name in memory that a file system has to read first.
OPEN_SLOW = """
import ctypes, mmap, os
file = os.open("fuse/slow", os.O_RDONLY)
bytes = mmap.mmap(file, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)
at = ctypes.addressof(ctypes.c_char.from_buffer(bytes))
libc = ctypes.CDLL(None, use_errno=True)
libc.{call}
print("errno", ctypes.get_errno())
"""
WAYS = {
    "a path": (False, "at=fuse; echo x >$at/held"),
    "a path it leads through": (False, "ln -s fuse link; at=link; echo x >$at/held/x"),
    "memory": (False, OPEN_SLOW.format(call="syscall(257, -100, ctypes.c_void_p(at), 1)")),
    "a program": (True, "at=fuse; $at/held"),
    "a program's name": (True, OPEN_SLOW.format(call="execv(ctypes.c_void_p(at), (ctypes.c_char_p * 2)(b'x', None))")),
}


def start(client, script, session):
    if script.startswith("\n"):
        return client.send("exec", command=["/usr/bin/python3", "-c", script], session=session)
    return client.send("exec", script=script, session=session)


def sessions(stage, intercepts=False, approval="never", stderr=None, **held):
    """One session for the held command, in its folder, and another for the command that must continue."""
    client = stage.client(stderr=stderr)
    for name, more in ("held", held), ("other", {}):
        folder = stage.top / name
        folder.mkdir(exist_ok=True)
        sandbox = {"mode": "workspace-write", "exclude_slash_tmp": True, "exclude_tmpdir": True} | more
        client.configure(approval, name=name, intercept_exec=intercepts, cwd=str(folder if held else stage.work), sandbox=sandbox)
    return client


def other_is_answered(client):
    end = client.run("echo fine; /bin/echo too; : >made", session="other")
    assert end["stdout"]["text"] == "fine\ntoo\n", end


def helpers(client):
    """The processes that examine the calls of the running commands."""
    return [pid for pid, name in descendants(client.process.pid).items() if name == "sallyport-calls"]


class Missed(Exception):
    """The process had ended before it was found."""


def catch(client, id, name="sallyport-look"):
    """Stops the process that examines the calls of this command."""
    server = client.process.pid
    while True:
        for pid in pathlib.Path(f"/proc/{server}/task/{server}/children").read_text().split():
            try:
                of = pathlib.Path(f"/proc/{pid}/stat").read_text()
                if f" ({name}) " in of and f" ({name}) Z" not in of:  # the last one may not be buried yet
                    os.kill(int(pid), signal.SIGSTOP)
                    return int(pid)
            except OSError:
                pass
        if any(event["type"] == "exec_end" and event["id"] == id for event in list(client.events)):
            raise Missed


def until_caught(case):
    """A search that takes an unknown time."""
    def again(stage):
        for _ in range(400):
            try:
                return case(stage)
            except Missed:
                continue
        raise AssertionError("no process was seen that searches")
    again.__name__ = case.__name__
    return again


def wait_for_word(client, script):
    """Its id, its exec, and the process that looks at its calls, which wait for input."""
    id = client.send("exec", script=script, input=True, session="held")
    number = client.next("exec_begin", id=id)["exec"]
    client.next("exec_output", id=id)
    (helper,) = helpers(client)
    return id, number, helper


def held_by(stage, intercepts, script):
    place = stage.work / "fuse"
    slow = fuse.Fuse(place)
    try:
        client = sessions(stage, intercepts)
        id = start(client, script, "held")
        slow.wait()
        other_is_answered(client)
        client.never("exec_end", id=id)
        slow.release()
        client.next("exec_end", id=id)
        client.hang_up()
        client.wait()
    finally:
        slow.close()
    place.rmdir()
    for name in ("link", "made"):
        (stage.work / name).unlink(missing_ok=True)


def held_by_a_file_system(stage):
    for intercepts, script in WAYS.values():
        held_by(stage, intercepts, script)


def held_by_a_program_s_words(stage):
    """The rules look at the file that the second shell names."""
    stage.policy("command deny nothing\ncommand allow sh\ncommand allow echo\n")
    (stage.work / "script").write_text("sh -c fuse/held\n")
    held_by(stage, True, "sh ./script")


def held_by_its_words(stage):
    """Before the start: finding the program, the writable places, and the files of a patch."""
    stage.policy("command allow echo\n")
    place = stage.work / "fuse"
    wish = {"write": [f"{place}/held/x"]}
    with_wish = {"sandbox_permissions": "with_additional_permissions", "additional_permissions": wish}
    for type, members in (("exec", {"command": [f"{place}/held"]}), ("exec", {"script": f"echo x >{place}/held/x"}),
                          ("exec", {"command": ["true"]} | with_wish), ("request_permissions", {"additional_permissions": wish}),
                          ("request_patch_approval", {"files": [f"{place}/held"]})):
        slow = fuse.Fuse(place)
        try:
            client = sessions(stage)
            id = client.send(type, session="held", **members)
            slow.wait()
            other_is_answered(client)
            client.never("task_started", id=id)
            listed = client.next("listed", id=client.send("list", what="execs", session="held"))["items"]
            assert [(item["id"], "exec" in item) for item in listed] == ([(id, False)] if type == "exec" else []), listed
            client.send("exec", id=id, command=["true"], session="held")
            client.next("error", code="malformed")  # one of this id is open
            slow.release()
            client.next("task_started", id=id)
            client.next("task_complete", id=id)
            client.hang_up()
            client.wait()
        finally:
            slow.close()
        place.rmdir()
        (stage.work / "made").unlink()


def held_by_a_session_s_paths(stage):
    """What is sent to it meanwhile waits for it, and so does the end of the input."""
    slow = fuse.Fuse(stage.work / "fuse")
    try:
        client = sessions(stage)
        sandbox = {"mode": "workspace-write", "writable": [f"{slow.place}/held"]}
        id = client.send("configure_session", name="new", approval="never", sandbox=sandbox)
        slow.wait()
        client.error(client.send("configure_session", name="new", approval="never"), "busy")
        client.send("exec", id=id, command=["true"], session="other")
        client.next("error", code="malformed")  # one of this id is open
        first = client.send("exec", command=["echo", "first"], session="new")
        other_is_answered(client)
        for name in "held", "other", "new":
            client.send("end_session", session=name, wait=True)
        client.hang_up()
        client.next("session_ended", session="other")
        client.never("session_configured", id=id)
        client.never("task_started", id=first)
        slow.release()
        client.next("session_configured", id=id)
        client.next("task_complete", id=first)
        client.next("session_ended", session="new")
        client.wait()
    finally:
        slow.close()


def late_paths_are_refused(stage):
    """There is no such session, and what waited for it is told so."""
    slow = fuse.Fuse(stage.work / "fuse")
    try:
        client = sessions(stage)
        sandbox = {"mode": "workspace-write", "writable": [f"{slow.place}/held"]}
        id = client.send("configure_session", name="new", approval="never", sandbox=sandbox)
        first = client.send("exec", command=["true"], session="new")
        assert "did not answer in time" in client.error(id, "failed")
        client.error(first, "unknown")
        other_is_answered(client)
    finally:
        slow.close()


def the_client_goes_before_it_begins(stage):
    slow = fuse.Fuse(stage.work / "fuse")
    try:
        client = sessions(stage)
        id = client.send("exec", command=[f"{slow.place}/held"], session="held")
        slow.wait()
        client.hang_up()
        client.error(id, "busy")
        client.wait()
    finally:
        slow.close()


def late_words_are_refused(stage):
    """The program is not known, and nothing runs."""
    slow = fuse.Fuse(stage.work / "fuse")
    try:
        client = sessions(stage)
        id = client.send("exec", command=[f"{slow.place}/held"], session="held")
        assert "did not answer in time" in client.error(id, "failed")
        client.never("exec_begin", id=id)
        other_is_answered(client)
    finally:
        slow.close()


def a_late_program_is_refused(stage):
    """A program whose name is never read never runs."""
    slow = fuse.Fuse(stage.work / "fuse")
    try:
        client = sessions(stage, True)
        id = start(client, WAYS["a program's name"][1], "held")
        slow.wait()
        end = client.next("exec_end", id=id)
        assert end["stdout"]["text"] == "errno 13\n", end
        other_is_answered(client)
        client.hang_up()
        client.wait()
    finally:
        slow.close()


def the_client_goes_meanwhile(stage):
    slow = fuse.Fuse(stage.work / "fuse")
    try:
        client = sessions(stage)
        start(client, WAYS["memory"][1], "held")
        slow.wait()
        client.hang_up()
        client.wait()
    finally:
        slow.close()


def held_by_a_stopped_process(stage):
    """The same without a file system, for machines where none can be mounted."""
    client = sessions(stage, True)
    id, number, helper = wait_for_word(client, "echo ready; read x; /bin/echo got $x; : >made")
    os.kill(helper, signal.SIGSTOP)
    client.send("write_input", exec=number, text="word\n", eof=True)
    other_is_answered(client)
    client.never("exec_end", id=id)
    os.kill(helper, signal.SIGCONT)
    end = client.next("exec_end", id=id)
    assert end["stdout"]["text"] == "ready\ngot word\n", end


def held_by_a_dead_process(stage):
    """Programs are refused from then on, and only the kernel checks which files are opened."""
    client = sessions(stage, True)
    script = "echo ready; read x; /bin/echo got $x; echo $?; : >made && echo made"
    id, number, helper = wait_for_word(client, script)
    os.kill(helper, signal.SIGKILL)
    client.send("write_input", exec=number, text="word\n", eof=True)
    end = client.next("exec_end", id=id)
    assert end["stdout"]["text"] == "ready\n126\nmade\n", end
    other_is_answered(client)


def asked_of_a_dead_process(stage):
    """A program that waits for a person is refused, too, and the answer is too late."""
    stage.policy("command ask echo\n")
    client = stage.client()
    client.configure("on-request", intercept_exec=True, sandbox={"mode": "workspace-write"})
    (stage.work / "script").write_text("/bin/echo got it; echo $?\n")
    id = client.send("exec", command=["sh", "./script"])
    question = client.next("approval_request")
    (helper,) = helpers(client)
    os.kill(helper, signal.SIGKILL)
    end = client.next("exec_end", id=id)
    assert end["stdout"]["text"] == "126\n", end
    client.error(client.answer(question, "approved"), "unknown")


def search(stage):
    """A client, whose session "held" has a folder that takes a while to be searched."""
    for folder in range(20 if not (stage.top / "held").exists() else 0):
        (stage.top / "held" / str(folder)).mkdir(parents=True)
        for file in range(1000):
            os.mknod(stage.top / "held" / str(folder) / str(file))
    return sessions(stage, writable=[])


@until_caught
def held_by_a_large_tree(stage):
    """While a separate process searches it: before the command, and after it."""
    client = search(stage)
    id = client.send("exec", script="echo began", session="held")
    pid = catch(client, id)
    other_is_answered(client)
    client.never("exec_output", id=id)
    os.kill(pid, signal.SIGCONT)
    client.next("exec_output", id=id)
    pid = catch(client, id)
    other_is_answered(client)
    client.never("exec_end", id=id)
    os.kill(pid, signal.SIGCONT)
    end = client.next("exec_end", id=id)
    assert end["status"] == "exited" and "made_unknown" not in end, end


@until_caught
def nothing_runs_without_the_search(stage):
    """The searching process has died: the files to protect are not known."""
    client = search(stage)
    id = client.send("exec", script="echo began", session="held")
    os.kill(catch(client, id), signal.SIGKILL)
    end = client.next("exec_end", id=id)
    assert end["status"] == "not_started" and end["exit_code"] == 125, end
    assert "cannot find the paths" in end["message"], end
    client.never("exec_output", id=id)
    other_is_answered(client)


@until_caught
def what_it_made_is_unknown_without_the_search(stage):
    client = search(stage)
    id = client.send("exec", script="echo began", session="held")
    client.next("exec_output", id=id)
    os.kill(catch(client, id), signal.SIGKILL)
    end = client.next("exec_end", id=id)
    assert end["status"] == "exited" and end["made_unknown"], end
    other_is_answered(client)


@until_caught
def an_interrupt_during_the_search(stage):
    """A command that is interrupted before it has a process never begins."""
    client = search(stage)
    id = client.send("exec", script="echo began", session="held")
    catch(client, id)
    client.send("interrupt", exec=client.next("exec_begin", id=id)["exec"], session="held")
    end = client.next("exec_end", id=id)
    assert end["status"] == "interrupted" and end["exit_code"] == 130, end
    client.never("exec_output", id=id)
    other_is_answered(client)


def judged(stage):
    """A client, and a command that starts many programs, which are judged."""
    if not stage.options:
        stage.policy("command deny nothing\ncommand allow sh\ncommand allow true\ncommand allow echo\n")
    (stage.work / "script").write_text("/bin/true || echo refused $?\n" * 20)
    client = sessions(stage, True)
    return client, client.send("exec", command=["sh", "./script"], session="held")


@until_caught
def held_by_a_process_that_judges(stage):
    client, id = judged(stage)
    pid = catch(client, id, "sallyport-judge")
    other_is_answered(client)
    try:
        os.kill(pid, 0)
    except ProcessLookupError as over:
        raise Missed from over  # it had answered before it was stopped
    client.never("exec_end", id=id)
    os.kill(pid, signal.SIGCONT)
    end = client.next("exec_end", id=id)
    assert end["exit_code"] == 0 and end["stdout"]["text"] == "", end


@until_caught
def refused_without_the_process_that_judges(stage):
    client, id = judged(stage)
    os.kill(catch(client, id, "sallyport-judge"), signal.SIGKILL)
    end = client.next("exec_end", id=id)
    if end["stdout"]["text"] == "":
        raise Missed  # it had answered before
    assert end["stdout"]["text"] == "refused 126\n", end
    other_is_answered(client)
    client.hang_up()
    client.wait()
    assert '"reason":"program_unknown"' in stage.audit.read_text()


def held_by_an_answer_for_good(stage):
    """Another process holds the lock of the policy's folder: the answer counts when it is written, and others do not wait for it."""
    folder = stage.top / "config/sallyport"
    folder.mkdir(parents=True, exist_ok=True)
    client = stage.client()
    for name, approval in ("held", "untrusted"), ("other", "never"):
        client.configure(approval, name=name)
    id = client.send("exec", command=["touch", "always"], session="held")
    question = client.next("approval_request")
    lock = os.open(folder, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    client.answer(question, "always", proposal=0)
    pid = catch(client, id, "sallyport-keep")
    other_is_answered(client)
    client.never("exec_begin", id=id)
    os.close(lock)
    os.kill(pid, signal.SIGCONT)
    assert client.next("exec_end", id=id)["exit_code"] == 0
    kept = (folder / "policy").read_text()
    assert "command allow touch always\n" in kept, kept


def an_answer_that_cannot_be_written(stage):
    """The writing process has died: the answer counts for once, and a warning says so."""
    folder = stage.top / "config/sallyport"
    folder.mkdir(parents=True, exist_ok=True)
    client = stage.client()
    client.configure("untrusted")
    id = client.send("exec", command=["touch", "always"])
    question = client.next("approval_request")
    lock = os.open(folder, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    client.answer(question, "always", proposal=0)
    os.kill(catch(client, id, "sallyport-keep"), signal.SIGKILL)
    os.close(lock)
    client.next("warning")
    end = client.next("exec_end", id=id)
    assert end["exit_code"] == 0 and "policy could not be written" in end["note"], end
    id = client.send("exec", command=["touch", "always"])
    client.next("approval_request")


def held_by_a_folder_that_is_not_listed(stage):
    """A writable folder is searched before and after the command."""
    (stage.top / "held").mkdir()
    slow = fuse.Fuse(stage.top / "held" / "fuse", fuse.READDIR)
    try:
        client = sessions(stage, writable=[str(slow.place)])
        id = client.send("exec", script="echo began; read x; echo $x", input=True, session="held")
        number = client.next("exec_begin", id=id)["exec"]
        slow.wait()
        other_is_answered(client)
        client.never("exec_output", id=id)
        slow.release()
        client.next("exec_output", id=id)
        slow.hold()
        client.send("write_input", exec=number, text="word\n")
        slow.wait()
        other_is_answered(client)
        client.never("exec_end", id=id)
        slow.release()
        end = client.next("exec_end", id=id)
        assert end["stdout"]["text"] == "began\nword\n" and "made_unknown" not in end, end
        client.hang_up()
        client.wait()
    finally:
        slow.close()


CASES = [held_by_a_stopped_process, held_by_a_dead_process, asked_of_a_dead_process, held_by_a_large_tree,
         held_by_a_process_that_judges, refused_without_the_process_that_judges, held_by_an_answer_for_good, an_answer_that_cannot_be_written,
         nothing_runs_without_the_search, what_it_made_is_unknown_without_the_search, an_interrupt_during_the_search]
WITH_FUSE = [held_by_a_file_system, held_by_a_folder_that_is_not_listed, held_by_a_program_s_words, held_by_its_words,
             held_by_a_session_s_paths, late_paths_are_refused, the_client_goes_before_it_begins,
             late_words_are_refused, a_late_program_is_refused, the_client_goes_meanwhile]

if __name__ == "__main__":
    enter_namespace()
    if fuse.is_there():
        fuse.own_mounts()
        CASES += WITH_FUSE
    else:
        print("/dev/fuse is not to be had: a stopped process stands in for a file system that does not answer")
    sys.exit(harness.play(CASES, sys.argv[1], sys.argv[2:]))
