#!/usr/bin/env python3
"""ssh_server: an ssh server that lets everybody in, and runs the commands in FOLDER. A process of its own, which alone waits for its children.

usage: ssh_server.py ADDRESS FOLDER"""
import asyncio
import subprocess
import sys
import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of a library about its old ciphers
    import asyncssh


class Open(asyncssh.SSHServer):
    def begin_auth(self, _):
        return False


async def copy(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:  # the other end reads no more
        pass


async def copy_input(process, command):
    await copy(process.stdin, command.stdin)
    command.stdin.close()


async def run(process):
    command = await asyncio.create_subprocess_shell(process.command, cwd=sys.argv[2], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    reading = asyncio.create_task(copy_input(process, command))
    await asyncio.gather(copy(command.stdout, process.stdout), copy(command.stderr, process.stderr))
    process.exit(await command.wait())
    reading.cancel()


async def main():
    server = await asyncssh.create_server(Open, sys.argv[1], 22, server_host_keys=[asyncssh.generate_private_key("ssh-ed25519")], process_factory=run,
                                          encoding=None)
    print("ready", flush=True)
    await server.wait_closed()


asyncio.run(main())
