"""client: one `sallyport agent`, its requests, and what it says."""
import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, NamedTuple, Self, Unpack, cast

from . import types as t

LINE_MAX = 64 << 20  # of a message of the server: the kept output of a command is in one
CLOSE_S = 30  # for the server to end its commands and itself

Answer = str | Mapping[str, Any]  # a decision, or the members of `approve` but for the question's own
Ask = Callable[[t.ApprovalRequestEvent], Awaitable[Answer]]


class Refused(Exception):
    """The server's error in a reply: nothing was done. @reason is a word of sallyport-agent(7), @code that of JSON-RPC."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(error["message"])
        self.reason, self.code = error["data"]["reason"], error["code"]


class Gone(Exception):
    """The server has ended, and with it every command and question."""


class Event(NamedTuple):
    method: str  # exec_begin, exec_output, …
    params: dict[str, Any]


class Exec:
    """A command. Iterate over it for its events until its end; result() waits for the end."""

    def __init__(self, client: "Client", id: int, reply: asyncio.Future[Any]) -> None:
        self.client, self.id, self._reply = client, id, reply
        self.events: asyncio.Queue[Event | None] = asyncio.Queue()  # the server limits what it sends of one command
        self._number: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        reply.add_done_callback(lambda _: self._end())

    def _end(self) -> None:
        self.events.put_nowait(None)
        if not self._number.done():
            self._number.cancel()

    def tell(self, event: Event) -> None:
        if event.method == "task_started":
            self._number.set_result(event.params["exec"])
        self.events.put_nowait(event)

    async def __aiter__(self) -> AsyncIterator[Event]:
        while event := await self.events.get():
            yield event
        self.events.put_nowait(None)  # for the next who asks

    async def result(self) -> t.ExecResult:
        return cast(t.ExecResult, await asyncio.shield(self._reply))

    async def number(self) -> int:
        """Its number in other requests."""
        await asyncio.wait([self._number, self._reply], return_when=asyncio.FIRST_COMPLETED)
        if self._number.cancelled():
            await self.result()  # it was refused
        return await asyncio.shield(self._number)

    async def interrupt(self) -> None:
        await self.client.call("interrupt", exec=await self.number())

    async def cancel(self) -> None:
        await self.client.call("cancel", exec=await self.number())

    async def write(self, text: str = "", eof: bool = False) -> int:
        """For a command with @input or @tty; returns how many bytes were taken."""
        return cast(int, (await self.client.call("write_input", exec=await self.number(), text=text, eof=eof))["taken"])


class Client:
    """One server, in `async with`. @ask answers its questions; without it, and if it fails, the answer is a denial."""

    def __init__(self, program: str = "sallyport", *options: str, ask: Ask | None = None, cwd: str | None = None,
                 env: Mapping[str, str] | None = None) -> None:
        self.command, self.ask, self.cwd, self.env = [program, "agent", *options], ask, cwd, env
        self._ids = itertools.count(1)
        self._replies: dict[int, asyncio.Future[Any]] = {}
        self._execs: dict[int, Exec] = {}
        self._asked: dict[str, asyncio.Task[None]] = {}
        self._gone: Gone | None = None
        self._why = ""

    async def __aenter__(self) -> Self:
        pipe = asyncio.subprocess.PIPE
        self.process = await asyncio.create_subprocess_exec(*self.command, stdin=pipe, stdout=pipe, cwd=self.cwd, env=self.env,
                                                            limit=LINE_MAX)
        self._listening = asyncio.create_task(self._listen())
        await self.call("initialize", protocol_version=2)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Ends its commands, and waits for it."""
        assert self.process.stdin
        self.process.stdin.close()
        try:
            await asyncio.wait_for(self._listening, CLOSE_S)
        except TimeoutError:
            self.process.kill()
        await self.process.wait()

    def _send(self, method: str, params: Mapping[str, Any]) -> tuple[int, asyncio.Future[Any]]:
        if self._gone:
            raise self._gone
        assert self.process.stdin
        id, reply = next(self._ids), asyncio.get_running_loop().create_future()
        reply.add_done_callback(lambda done: done.cancelled() or done.exception())  # what waits for it raises it
        self._replies[id] = reply
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode() + b"\n")
        return id, reply

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Any request; returns its result."""
        _, reply = self._send(method, params)
        return cast(dict[str, Any], await reply)

    async def configure_session(self, **params: Unpack[t.ConfigureSessionParams]) -> t.ConfigureSessionResult:
        return cast(t.ConfigureSessionResult, await self.call("configure_session", **params))

    async def exec(self, **params: Unpack[t.ExecParams]) -> Exec:
        """Starts a command."""
        id, reply = self._send("exec", params)
        self._execs[id] = command = Exec(self, id, reply)
        return command

    async def run(self, **params: Unpack[t.ExecParams]) -> t.ExecResult:
        """Runs a command to its end."""
        return await (await self.exec(**params)).result()

    async def _listen(self) -> None:
        assert self.process.stdout
        try:
            async for line in self.process.stdout:
                self._hear(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError) as wrong:  # not the protocol
            self._why = f"it said what is not the protocol: {wrong!r}"
            self.process.kill()
        status = await self.process.wait()
        self._gone = Gone(self._why or f"sallyport agent has ended with status {status}")
        for task in self._asked.values():
            task.cancel()
        for reply in self._replies.values():
            reply.set_exception(self._gone)
        self._replies.clear()

    def _hear(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            reply = self._replies.pop(message["id"])
            self._execs.pop(message["id"], None)
            if reply.cancelled():
                return
            if "error" in message:
                reply.set_exception(Refused(message["error"]))
            else:
                reply.set_result(message["result"])
            return
        event = Event(message["method"], message["params"])
        if event.method == "approval_request":
            question = cast(t.ApprovalRequestEvent, event.params)
            self._asked[question["approval"]] = asyncio.create_task(self._answer(question))
        elif event.method == "approval_resolved" and event.params["approval"] in self._asked:
            self._asked[event.params["approval"]].cancel()  # somebody else has answered
        elif event.method == "error":
            self._why = event.params["message"]
        elif event.params.get("id") in self._execs:
            self._execs[event.params["id"]].tell(event)

    async def _answer(self, question: t.ApprovalRequestEvent) -> None:
        about = {"approval": question["approval"], "kind": question["kind"]}
        denial = {"decision": "denied", "unasked": True}
        try:
            answer = await self.ask(question) if self.ask else denial
            await self.call("approve", **({"decision": answer} if isinstance(answer, str) else answer), **about)
        except Gone:
            return
        except Exception as wrong:  # whatever it is, the command must not wait for it
            try:
                await self.call("approve", **denial, **about, message=f"the question could not be answered: {wrong}"[:1000])
            except (Gone, Refused):
                return  # nobody waits for it any more
        finally:
            self._asked.pop(question["approval"], None)
