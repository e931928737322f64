// An agent on the reference library of the Agent Client Protocol, for cases.mjs: the text of a prompt says, as JSON, what it does, and
// it answers with the result as JSON. ACP_SDK: the folder that the library is installed in.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import { Readable, Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';

const found = createRequire(path.join(process.env.ACP_SDK, 'package.json')).resolve('@agentclientprotocol/sdk');
const { AgentSideConnection, PROTOCOL_VERSION, ndJsonStream } = await import(pathToFileURL(found).href);

let told;
let editor;
const failed = async (call) => {
    try {
        return { result: await call };
    } catch (error) {
        return { code: error.code, message: error.message };
    }
};

async function terminal(sessionId, { shown, kill, release, ...given }) {
    const made = await editor.createTerminal({ sessionId, ...given });
    const show = async () => shown && editor.sessionUpdate({ sessionId, update: { sessionUpdate: 'tool_call', toolCallId: 'of the agent',
        title: 'a command', content: [{ type: 'terminal', terminalId: made.id }] } });
    await show();
    if (kill) await made.kill();
    const end = await made.waitForExit();
    const { output, truncated, exitStatus } = await made.currentOutput();
    await made.release();
    await show();
    return { ...end, output: output.slice(0, 1000), length: output.length, truncated, exitStatus, later: release && await failed(made.currentOutput()) };
}

const actions = {
    told: () => told,
    get: (sessionId, { url }) => {
        const run = spawnSync('curl', ['-sS', '-m', '100', '-o', '/dev/null', '-w', '%{http_code}', url], { encoding: 'utf8' });
        return run.stdout;
    },
    write: (sessionId, given) => failed(editor.writeTextFile({ sessionId, content: 'x', ...given })),
    read: (sessionId, given) => failed(editor.readTextFile({ sessionId, ...given })),
    extension: (sessionId, { method }) => failed(editor.extMethod(method, { sessionId })),
    notice: (sessionId, { method }) => editor.extNotification(method, { sessionId }),
    terminal: (sessionId, given) => failed(terminal(sessionId, given)),
    permission: (sessionId, given) => editor.requestPermission({ sessionId, ...given }),
    end: (sessionId, { status }) => {
        process.stdin.on('end', () => process.exit(status));
    },
};

class Agent {
    initialize(params) {
        told = params;
        return { protocolVersion: PROTOCOL_VERSION, agentCapabilities: {}, authMethods: [
            { id: 'own', name: 'its own', _meta: { 'terminal-auth': { command: 'touch', args: ['outside'] } } },
            { id: 'terminal', type: 'terminal', name: 'in a terminal', env: { LD_PRELOAD: '/tmp/x' } }] };
    }

    newSession() {
        return { sessionId: 'the session' };
    }

    authenticate() {
        return {};
    }

    cancel() {}

    async prompt({ sessionId, prompt }) {
        const [name, given] = JSON.parse(prompt[0].text);
        const text = JSON.stringify((await actions[name](sessionId, given)) ?? null);

        await editor.sessionUpdate({ sessionId, update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } } });
        return { stopReason: 'end_turn' };
    }
}

new AgentSideConnection((connection) => {
    editor = connection;
    return new Agent();
}, ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
