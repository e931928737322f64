#!/usr/bin/env python3
"""Two hundred commands at once over one connection, each with its own answer: no answer is lost or mixed up.
usage: crowd.py SALLYPORT [CASE...]"""
import harness

MANY = 200
ANSWERS = ("approved", "denied", "approved", "abort", "approved_for_session")


def two_hundred(stage):
    """Each prints its own number, and is asked about by its own question; a third reads its number from its input."""
    stage.policy("command ask sh\n")
    client = stage.client()
    client.configure("on-request", limits={"execs": 512})
    want = {}
    for n in range(MANY):
        answer = ANSWERS[n % len(ANSWERS)]
        reads = n % 3 == 0
        script = "read x; echo got $x" if reads else f"echo is {n}"
        id = client.send("exec", command=["sh", "-c", f"{script} # {n}"], input=reads, id=f"n{n}")
        want[id] = (n, answer, reads)
    for _ in range(MANY):
        question = client.next("approval_request", seconds=120)
        (id,), n = question["ids"], int(question["command"][2].rpartition("# ")[2])
        assert want[id][0] == n, question
        client.answer(question, want[id][1], id=f"a{n}")
    numbers, ends = {}, {}
    for id, (n, answer, reads) in want.items():
        client.next("approval_resolved", id=f"a{n}", seconds=120)
        if reads and answer.startswith("approved"):
            numbers[id] = client.next("exec_begin", id=id, seconds=120)["exec"]
            client.send("write_input", exec=numbers[id], text=f"{n}\n", eof=True, id=f"w{n}")
    for id, (n, answer, reads) in want.items():
        end = ends[id] = client.next("exec_end", id=id, seconds=120)
        if answer.startswith("approved"):
            assert end["status"] == "exited" and end["exit_code"] == 0, end
            assert end["stdout"]["text"] == (f"got {n}\n" if reads else f"is {n}\n"), end
            assert id not in numbers or end["exec"] == numbers[id], end
        else:
            assert (end["status"], end["by"]) == ("rejected", "person"), end
            assert end.get("abort", False) is (answer == "abort") and end["attempts"] == [], end
        complete = client.next("task_complete", id=id)
        assert complete["outcome"] == end["status"], complete
    assert len({end["exec"] for end in ends.values()}) == MANY
    attempts = [attempt["record_exec"] for end in ends.values() for attempt in end["attempts"]]
    assert len(set(attempts)) == len(attempts)
    # Nothing of one came under the name of another.
    for event in client.events:
        if event["type"] == "exec_output":
            n = want[event["id"]][0]
            assert event["text"] in (f"got {n}\n", f"is {n}\n"), event
    assert client.next("listed", id=client.send("list", what="execs"))["items"] == []


def a_crowd_that_is_cancelled(stage):
    client = stage.client()
    client.configure("never", limits={"execs": 512})
    ids = [client.send("exec", script="sleep 300") for _ in range(40)]
    numbers = [client.next("exec_begin", id=id, seconds=120)["exec"] for id in ids]
    for number in numbers:
        client.send("cancel", exec=number)
    for id in ids:
        assert client.next("exec_end", id=id, seconds=120)["status"] == "cancelled"


CASES = [two_hundred, a_crowd_that_is_cancelled]

if __name__ == "__main__":
    harness.main(CASES)
