// The cases of acp.py that the reference library of the Agent Client Protocol plays, on both sides: node cases.mjs CASE
// ACP_SDK: the folder that it is installed in. ACP_SERVER: the argv of `sallyport acp`, as JSON.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { Readable, Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';

const found = createRequire(path.join(process.env.ACP_SDK, 'package.json')).resolve('@agentclientprotocol/sdk');
const { ClientSideConnection, PROTOCOL_VERSION, ndJsonStream } = await import(pathToFileURL(found).href);
const [command, ...args] = JSON.parse(process.env.ACP_SERVER);
const URL = 'http://a.test/';

// answer(params): the person. All that an editor would do outside the sandbox fails the case.
async function connect(answer = () => assert.fail('nothing is asked')) {
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    const ended = new Promise((done) => child.on('exit', (code, signal) => done(code ?? signal)));
    const asked = [], updates = [], cancelled = [], outside = [];
    const acts = (what) => (params) => {
        outside.push([what, params]);
        return {};
    };
    const agent = new ClientSideConnection(() => ({
        requestPermission: (params) => {
            asked.push(params);
            return answer(params);
        },
        sessionUpdate: (params) => {
            updates.push(params);
        },
        writeTextFile: acts('writes'),
        readTextFile: acts('reads'),
        createTerminal: acts('runs'),
        extMethod: acts('extends'),
        extNotification: (method, params) => (method === '$/cancel_request' ? cancelled.push(params) : acts('is told')(method)),
    }), ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)));
    const hello = await agent.initialize({ protocolVersion: PROTOCOL_VERSION, clientCapabilities: {
        fs: { readTextFile: true, writeTextFile: true }, terminal: true, auth: { terminal: true },
        elicitation: { form: {}, url: {} }, _meta: { 'terminal-auth': true } } });
    const { sessionId } = await agent.newSession({ cwd: process.cwd(), mcpServers: [] });
    const act = async (name, given = {}) => {
        const from = updates.length;
        await agent.prompt({ sessionId, prompt: [{ type: 'text', text: JSON.stringify([name, given]) }] });
        const said = updates.slice(from).find(({ update }) => update.sessionUpdate === 'agent_message_chunk');
        return JSON.parse(said.update.content.text);
    };
    const close = async () => {
        child.stdin.end();
        assert.equal(await ended, 0);
        assert.deepEqual(outside, []);
    };
    return { act, asked, cancelled, child, close, ended, hello, sessionId, updates };
}

const choose = (optionId) => () => ({ outcome: { outcome: 'selected', optionId } });
const textOf = ({ toolCall }) => toolCall.content[0].content.text;

async function until(condition, what) {
    for (let i = 0; i < 2400; i++) {
        if (condition()) return;
        await new Promise((done) => setTimeout(done, 50));
    }
    assert.fail(`never: ${what}`);
}

const cases = {
    // What the editor can do outside the sandbox is not offered to the agent, and the other way round.
    async capabilities() {
        const { act, close, hello } = await connect();
        const told = await act('told');
        assert.deepEqual(told.clientCapabilities, { fs: { readTextFile: false, writeTextFile: false }, terminal: true, auth: { terminal: false },
            elicitation: { form: {} } });
        assert.deepEqual(hello.authMethods, [{ id: 'own', name: 'its own' }]);
        await close();
    },

    async allowed() {
        const { act, asked, close, sessionId, updates } = await connect(choose('approved'));
        assert.equal(await act('get', { url: URL }), '200');
        assert.equal(asked.length, 1);
        const [{ toolCall, options }] = asked, text = textOf(asked[0]).split('\n');
        assert.equal(asked[0].sessionId, sessionId);
        assert.equal(toolCall.title, 'May the command reach http://a.test:80 ? Warning: a.test has never been allowed on this machine');
        assert.deepEqual([text[0], text.at(-1)], ['```', '```']);
        assert.equal(text[1], 'May the command reach http://a.test:80 ?');
        assert.ok(text.includes('warning: a.test has never been allowed on this machine'), text);
        assert.ok(text.some((line) => line.startsWith('asked by: ') && line.includes('agent.mjs')), text);
        assert.ok(text.some((line) => line.startsWith('program: ') && line.includes('curl')), text);
        assert.ok(!text.some((line) => line.startsWith('abort')), text);
        assert.deepEqual(options, [
            { optionId: 'approved', name: 'Allow a.test this time', kind: 'allow_once' },
            { optionId: 'approved_for_session', name: 'Allow a.test for this session', kind: 'allow_always' },
            { optionId: 'always', name: 'Allow a.test always, by a line in your policy', kind: 'allow_always' },
            { optionId: 'denied', name: 'Deny a.test this time', kind: 'reject_once' },
            { optionId: 'denied_always', name: 'Deny a.test always, by a line in your policy', kind: 'reject_always' }]);
        const ends = () => updates.filter(({ update }) => update.toolCallId === toolCall.toolCallId);
        await until(() => ends().length === 1, 'the tool call of the question ends');
        assert.equal(ends()[0].update.status, 'completed');
        assert.equal(await act('get', { url: URL }), '200');
        assert.equal(asked.length, 2); // once was once
        await close();
    },

    // The terminals share the session of the agent.
    async session() {
        const { act, asked, close } = await connect(choose('approved_for_session'));
        for (let i = 0; i < 2; i++) assert.equal(await act('get', { url: URL }), '200');
        const { result } = await act('terminal', { command: `curl -sS -m 100 -o /dev/null -w '%{http_code}' ${URL}` });
        assert.equal(result.output, '200');
        assert.equal(asked.length, 1);
        await close();
    },

    async denied() {
        const { act, asked, close } = await connect(choose('denied'));
        assert.equal(await act('get', { url: URL }), '403');
        const { result } = await act('terminal', { command: 'curl', args: ['-sS', '-m', '100', '-o', '/dev/null', '-w', '%{http_code}', URL] });
        assert.equal(result.output, '403');
        assert.equal(asked.length, 2);
        await close();
    },

    // acp.py answers in another place; what the editor says is no answer.
    async elsewhere() {
        const says = [() => ({ outcome: { outcome: 'cancelled' } }), choose('approved_unconfined'), choose('abort'), choose(''),
            () => { throw new Error('the window was closed'); }, () => ({ outcome: { outcome: 'other', optionId: 'approved' } }),
            () => ({})];
        const { act, asked, close } = await connect(() => says[asked.length - 1]());
        for (let i = 0; i < says.length; i++) {
            assert.equal(await act('get', { url: URL }), '403');
            assert.equal(asked.length, i + 1);
        }
        await close();
    },

    // The person is still reading when it is answered elsewhere.
    async late() {
        let say;
        const { act, asked, cancelled, close, updates } = await connect(() => new Promise((done) => { say = done; }));
        assert.equal(await act('get', { url: URL }), '403');
        const ended = () => updates.find(({ update }) => update.toolCallId === asked[0].toolCall.toolCallId);
        await until(ended, 'the tool call of the question ends');
        await until(() => cancelled.length === 1, 'the request is cancelled');
        assert.deepEqual(cancelled, [{ requestId: asked[0].toolCall.toolCallId }]);
        say(choose('approved')());
        assert.deepEqual(await act('told').then((told) => told.protocolVersion), PROTOCOL_VERSION);
        await close();
    },

    // Where a person must type a name, the editor offers no allow.
    async careful() {
        const { act, asked, close } = await connect(choose('approved'));
        assert.equal(await act('get', { url: URL.replace('a.test', process.env.ACP_ADDRESS) }), '403');
        assert.equal(asked.length, 1);
        assert.deepEqual(asked[0].options.map(({ optionId }) => optionId), ['denied', 'denied_always']);
        assert.match(textOf(asked[0]), /only where a person types its name/);
        await close();
    },

    async terminals() {
        const { act, close, updates } = await connect();
        const run = async (given) => (await act('terminal', given)).result;
        const outside = path.join(process.env.HOME, 'outside');
        let done = await run({ command: 'sh', args: ['-c', 'echo out; echo err >&2; pwd; echo "$GREETING"; exit 7'],
            env: [{ name: 'GREETING', value: 'good day' }], cwd: process.cwd() });
        assert.deepEqual([done.exitCode, done.signal, done.truncated, done.exitStatus],
            [7, null, false, { exitCode: 7, signal: null }]);
        assert.deepEqual(done.output.split('\n').sort(), ['', process.cwd(), 'err', 'good day', 'out'].sort());
        done = await run({ command: `echo inside > made; echo outside > ${outside} || echo refused` });
        assert.match(done.output, /refused\n$/);
        assert.equal(fs.readFileSync('made', 'utf8'), 'inside\n');
        assert.ok(!fs.existsSync(outside));
        done = await run({ command: `printf '%0999d\\303\\251%s' 0 end; printf '\\377\\0'`, outputByteLimit: 6 });
        assert.deepEqual([done.output, done.truncated], ['end\ufffd\0', true]);
        done = await run({ command: 'head', args: ['-c', '3000000', '/dev/zero'] });
        assert.deepEqual([done.length, done.truncated], [1 << 20, true]);
        done = await run({ command: 'sleep', args: ['86433'], kill: true });
        assert.deepEqual([done.exitCode, done.signal], [null, 'SIGKILL']);
        // The editor sees text, when it begins, when it has ended, and later.
        const shown = () => updates.filter(({ update }) => update.toolCallId === 'of the agent').map(({ update }) => update.content[0]);
        const waits = 'while [ ! -e go ]; do sleep 0.1; done; echo shown';
        const running = run({ command: waits, release: true, shown: true });
        await until(() => shown().length === 1, 'it is shown');
        fs.writeFileSync('go', '');
        done = await running;
        assert.match(done.later.message, /no such terminal/i);
        assert.deepEqual(shown().map(({ content }) => content.text),
            [`\`\`\`\n$ ${waits}\n\n\`\`\``, ...Array(2).fill(`\`\`\`\n$ ${waits}\nshown\n\n\`\`\``)]);
        done = await run({ command: '/nowhere/program' });
        assert.equal(done.exitCode, 127);
        assert.match(done.output, /^sallyport: .*not found/);
        const none = await act('terminal', { command: '' });
        assert.match(none.message, /not run/);
        await close();
    },

    async files() {
        const { act, close } = await connect();
        const file = path.join(process.cwd(), 'file');
        for (const name of ['write', 'read']) {
            const { code, message } = await act(name, { path: file });
            assert.equal(code, -32601);
            assert.match(message, /outside the sandbox/);
        }
        assert.ok(!fs.existsSync(file));
        for (const method of ['_x/run', 'session/open', 'mcp/message'])
            assert.equal((await act('extension', { method })).code, -32601, method);
        await act('notice', { method: '_x/run' });
        await close();
    },

    // The agent's own requests for permission are the editor's.
    async permission() {
        const { act, asked, close } = await connect(choose('yes'));
        const given = { toolCall: { toolCallId: '1', title: 'to edit a file' }, options: [{ optionId: 'yes', name: 'Yes', kind: 'allow_once' }] };
        assert.deepEqual(await act('permission', given), { outcome: { outcome: 'selected', optionId: 'yes' } });
        assert.deepEqual(asked, [{ sessionId: 'the session', ...given }]);
        await close();
    },

    // It ends by itself once its input has ended.
    async ends() {
        const { act, child, ended } = await connect();
        await act('end', { status: 9 });
        child.stdin.end();
        assert.equal(await ended, 9);
    },
};

await cases[process.argv[2]]();
process.exit(0);
