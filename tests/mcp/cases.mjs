// The cases of mcp.py that the reference client of the protocol plays: node cases.mjs CASE
// MCP_SDK: the folder that it is installed in. MCP_SERVER: the server's argv, as JSON.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const sdk = createRequire(path.join(process.env.MCP_SDK, 'package.json'));
const { Client } = sdk('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = sdk('@modelcontextprotocol/sdk/client/stdio.js');
const { ElicitRequestSchema, ListRootsRequestSchema } = sdk('@modelcontextprotocol/sdk/types.js');

const GET = "curl -sS -m 60 -o /dev/null -w '%{http_code}' http://a.test/";
const [command, ...args] = JSON.parse(process.env.MCP_SERVER);

// answer(params, extra): the person; without it the client says that there is none.
async function connect(answer) {
    const client = new Client({ name: 'cases', version: '1' }, { capabilities: answer ? { elicitation: {} } : {} });
    const asked = [];
    if (answer)
        client.setRequestHandler(ElicitRequestSchema, (request, extra) => {
            asked.push(request.params);
            return answer(request.params, extra);
        });
    await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: 'inherit' }));
    await client.listTools(); // from here on each result is held to the schema that the tool has
    const run = (given, options) =>
        client.callTool({ name: 'run', arguments: typeof given === 'string' ? { command: given } : given }, undefined, options);
    return { client, asked, run };
}

const say = (decision, more = {}) => () => ({ action: 'accept', content: { decision, ...more } });

async function until(condition, what) {
    for (let i = 0; i < 600; i++) {
        if (condition()) return;
        await new Promise((done) => setTimeout(done, 50));
    }
    assert.fail(`never: ${what}`);
}

// Is there a process with this word among its own?
const runs = (word) =>
    fs.readdirSync('/proc').some((pid) => {
        try {
            return /^\d+$/.test(pid) && fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(word);
        } catch {
            return false;
        }
    });

const cases = {
    async lists() {
        const { client } = await connect();
        const { tools } = await client.listTools();
        assert.deepEqual(tools.map((tool) => tool.name), ['run', 'background', 'poll', 'kill', 'list']);
        assert.deepEqual(tools.map((tool) => Object.keys(tool.inputSchema.properties).length), [7, 7, 2, 1, 0]);
        assert.equal(tools[0].inputSchema.additionalProperties, false);
        assert.deepEqual(Object.keys(tools[0].inputSchema.properties).sort(), ['additional_permissions', 'argv', 'command',
            'cwd', 'reason', 'sandbox_permissions', 'timeout_ms']);
        assert.ok(tools[0].outputSchema.required.includes('status'));
        assert.equal(client.getServerVersion().name, 'sallyport');
        assert.deepEqual(client.getServerCapabilities(), { tools: { listChanged: false } });
        assert.match(client.getInstructions(), /sandbox/);
        await client.ping();
        await assert.rejects(client.listResources(), /support|method/i);
        await client.close();
    },

    async roots() {
        const top = fs.mkdtempSync(path.join(process.cwd(), 'roots-'));
        const [one, two] = ['one', 'gr\u00fcn & two'].map((name) => path.join(top, name));
        [one, two].forEach((folder) => fs.mkdirSync(folder));
        let roots = [one, two];
        const client = new Client({ name: 'cases', version: '1' }, { capabilities: { roots: { listChanged: true } } });
        client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: roots.map((root) => ({ uri: pathToFileURL(root).href, name: 'x' })) }));
        await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: 'inherit' }));
        const run = (line) => client.callTool({ name: 'run', arguments: { command: line } });
        let done = await run(`pwd; touch here '${two}/there'`);
        assert.deepEqual([done.structuredContent.stdout, done.structuredContent.exit_code], [one + '\n', 0]);
        assert.ok(fs.existsSync(path.join(one, 'here')) && fs.existsSync(path.join(two, 'there')));
        roots = [two];
        await client.sendRootsListChanged();
        done = await run(`pwd; touch '${one}/no'`);
        assert.deepEqual([done.structuredContent.stdout, done.structuredContent.exit_code], [two + '\n', 1]);
        assert.ok(!fs.existsSync(path.join(one, 'no')));
        await client.close();
    },

    async results() {
        const { client, run } = await connect();
        let done = await run('echo out; echo err >&2');
        assert.deepEqual([done.structuredContent.status, done.structuredContent.exit_code, done.isError], ['exited', 0, false]);
        assert.deepEqual([done.structuredContent.stdout, done.structuredContent.stderr], ['out\n', 'err\n']);
        assert.deepEqual(done.content.map((part) => part.text), ['out\nerr\n', 'exit status 0']);
        assert.equal(typeof done.structuredContent.duration_ms, 'number');
        done = await run('echo bad; exit 7');
        assert.deepEqual([done.structuredContent.exit_code, done.isError, done.content[1].text], [7, true, 'exit status 7']);
        done = await run({ argv: ['printf', '%s|', 'a b', "it's", '$HOME'] });
        assert.equal(done.structuredContent.stdout, "a b|it's|$HOME|");
        fs.mkdirSync('below');
        done = await run({ command: 'pwd', cwd: 'below' });
        assert.equal(done.structuredContent.stdout, fs.realpathSync('below') + '\n');
        done = await run('kill -9 $$');
        assert.deepEqual([done.structuredContent.status, done.isError], ['signalled', true]);
        done = await run({ command: 'sleep 600', timeout_ms: 300 });
        assert.deepEqual([done.structuredContent.status, done.isError], ['timed_out', true]);
        done = await run({ argv: ['no-such-program-here'] });
        assert.equal(done.isError, true);
        done = await run('echo x > /etc/made-by-mcp');
        assert.equal(done.isError, true);
        assert.equal(fs.existsSync('/etc/made-by-mcp'), false);
        await client.close();
    },

    // Outputs as commands write them: NUL, bytes that are no text, control bytes that are long when they are escaped.
    async outputs() {
        const { client, run } = await connect();
        let done = await run("printf 'a\\000b'");
        assert.equal(done.structuredContent.stdout, 'a\0b');
        assert.equal(done.content[0].text, 'a\0b');
        done = await run("printf 'gr\\374n \\303\\274 \\360\\237\\230\\200\\n'");
        assert.equal(done.structuredContent.stdout, 'gr\ufffdn \u00fc \u{1f600}\n');
        done = await run("printf 'a\\000b'; exit 3");
        assert.ok(done.content[0].text.startsWith('a\0b'));
        // Three times 64 KiB, six times as long in JSON: more than a line of the client's may have.
        done = await run("head -c 300000 /dev/zero | tr '\\000' '\\001' | tee /dev/stderr");
        assert.equal(done.structuredContent.exit_code, 0);
        assert.ok(done.structuredContent.stdout.startsWith('\x01'.repeat(1000)));
        assert.ok(done.structuredContent.stdout.length < 70000, `${done.structuredContent.stdout.length}`);
        done = await run("printf 'x\\n%.0s' $(seq 100000); echo end");
        assert.ok(done.content[0].text.endsWith('end\n'));
        await client.close();
    },

    async wrong() {
        const { client, run } = await connect();
        await assert.rejects(client.callTool({ name: 'walk', arguments: {} }), /tool is unknown/);
        await assert.rejects(client.callTool({ name: 'run' }), /arguments/);
        for (const [given, why] of [
            [{}, /command/], [{ command: 'true', argv: ['true'] }, /command/], [{ command: 'true', shell: 'zsh' }, /argument/],
            [{ command: 7 }, /`command` must be of type string/], [{ argv: [] }, /command/], [{ argv: 'true' }, /`argv` must be of type array/], [{ argv: ['x', 1] }, /command/],
            [{ command: 'true', timeout_ms: -1 }, /timeout_ms/], [{ command: 'true', cwd: 5 }, /cwd/],
            [{ command: 'true', session: 'other' }, /argument/], [{ command: 'true', polled: false }, /argument/],
            [{ command: 'true', sandbox_permissions: 'all' }, /sandbox_permissions/],
            [{ command: 'true', sandbox_permissions: 'with_additional_permissions' }, /additional_permissions/],
            [{ command: 'true', additional_permissions: { network: ['http://a.test'] } }, /additional_permissions/],
            [{ command: 'true', sandbox_permissions: 'with_additional_permissions', additional_permissions: { all: 1 } }, /all/],
            [{ command: 'true', sandbox_permissions: 'require_escalated' }, /--allow-unconfined/],
            [{ command: 'true #' + '\u00e9'.repeat(400000) }, /too long/],
        ]) {
            const done = await run(given);
            assert.deepEqual([done.isError, done.structuredContent.status], [true, 'refused'], JSON.stringify(given));
            assert.match(done.structuredContent.message, why);
            assert.match(done.content[0].text, why);
        }
        assert.equal((await run('echo still here')).structuredContent.stdout, 'still here\n');
        await client.close();
    },

    async asked() {
        const { client, run, asked } = await connect(say('approved', { confirmation: 'a.test' }));
        const done = await run({ command: GET, reason: 'the list of\npackages\u202e' });
        assert.equal(done.structuredContent.stdout, '200');
        assert.equal(asked.length, 1);
        const lines = asked[0].message.split('\n');
        assert.equal(lines[0], 'May the command reach http://a.test:80 ?');
        assert.ok(lines.includes('approved: allow it this time, for all that wait for this answer'), asked[0].message);
        assert.ok(lines.includes('always: allow it, and add it to your policy'), asked[0].message);
        assert.ok(lines.some((line) => line.startsWith('asked by: ') && line.includes('curl')), asked[0].message);
        assert.match(asked[0].message, /^[\x20-\x7e\n]+$/);
        const { properties, required } = asked[0].requestedSchema;
        assert.deepEqual(required, ['decision']);
        assert.deepEqual(properties.decision.enum,
            ['denied', 'abort', 'approved', 'approved_for_session', 'always', 'denied_always']);
        assert.equal(properties.confirmation.title, 'To allow it, type a.test');
        await run(GET);
        assert.equal(asked.length, 2); // once was once
        await client.close();
    },

    async session() {
        const { client, run, asked } = await connect(say('approved_for_session', { confirmation: 'a.test' }));
        for (let i = 0; i < 3; i++) assert.equal((await run(GET)).structuredContent.stdout, '200');
        assert.equal(asked.length, 1);
        await client.close();
    },

    // Whatever is not an offered answer with what had to be confirmation: mcp.py looks that nothing reached the server.
    async denied() {
        const answers = [
            () => ({ action: 'decline' }), () => ({ action: 'cancel' }), say('denied'), say('denied', { message: 'not today' }),
            () => ({ action: 'decline', content: { decision: 'approved', confirmation: 'a.test' } }),
            say('approved'), say('approved', { confirmation: '' }), say('approved', { confirmation: 'b.test' }),
            say('always', { confirmation: 'test' }), say('approved_for_session'),
            say('denied', { message: 'x'.repeat(5000) }), say('approved', { confirmation: 'a.test', message: '\u00e9'.repeat(300000) }),
            () => { throw new Error('the window was closed'); },
        ];
        const { client, run, asked } = await connect((params, extra) => answers[asked.length - 1](params, extra));
        for (let i = 0; i < answers.length; i++) {
            const done = await run(GET);
            assert.equal(done.structuredContent.stdout, '403', `answer ${i}: ${JSON.stringify(done.structuredContent)}`);
            // A form that was put away, or that failed, is no person's word.
            const by = i === 1 || i === answers.length - 1 ? 'no_answer' : 'person';
            assert.equal(done.structuredContent.network.outcome, by, `answer ${i}`);
            assert.equal(asked.length, i + 1);
        }
        await client.close();
    },

    async untrusted() {
        let decision = 'denied';
        const { client, run, asked } = await connect((params) => say(decision)(params));
        let done = await run({ argv: ['touch', 'made here', '\nMay the command reach http://good.test:80 ?\u202e'] });
        assert.deepEqual([done.structuredContent.status, done.isError], ['rejected', true]);
        assert.equal(fs.existsSync('made here'), false);
        const lines = asked[0].message.split('\n');
        assert.equal(lines[0], 'Run this in its sandbox?');
        assert.ok(lines.some((line) => line.trim().startsWith("touch 'made here' ") && line.includes('\\x0aMay the command reach')),
            asked[0].message);
        assert.equal(lines.filter((line) => line.startsWith('May the command')).length, 0);
        assert.ok(lines.includes(`in: ${process.cwd()}`), asked[0].message);
        const sandbox = lines.filter((line) => line.startsWith('sandbox: '));
        assert.ok(sandbox.length > 0 && !sandbox.some((line) => line.includes('\\x')), asked[0].message); // each entry has its own line
        assert.match(asked[0].message, /^[\x20-\x7e\n]+$/);
        decision = 'approved_unconfined'; // not offered: the client holds no answer to its schema
        done = await run({ argv: ['touch', 'made'] });
        assert.equal(done.structuredContent.status, 'rejected');
        decision = 'approved';
        done = await run({ argv: ['touch', 'made'], reason: 'x'.repeat(4000) });
        assert.equal(done.structuredContent.exit_code, 0);
        assert.ok(fs.existsSync('made'));
        assert.equal(asked.length, 3);
        // What cannot be shown whole is nothing that a person could grant.
        done = await run({ argv: ['touch', 'unseen', ...Array(300).fill('a word of many more in one line')] });
        assert.equal(done.structuredContent.status, 'rejected');
        assert.match(done.structuredContent.message, /too long/);
        assert.equal(fs.existsSync('unseen'), false);
        assert.equal(asked.length, 3);
        await client.close();
    },

    async permissions() {
        const { client, run, asked } = await connect(say('approved', { confirmation: 'a.test' }));
        let done = await run({ command: GET, sandbox_permissions: 'with_additional_permissions',
            additional_permissions: { network: ['http://a.test:80'] }, reason: 'to fetch' });
        assert.equal(done.structuredContent.stdout, '200');
        assert.equal(asked.length, 1);
        const lines = asked[0].message.split('\n');
        assert.ok(lines.includes('  and allow it to reach http://a.test:80'), asked[0].message);
        assert.ok(lines.includes('the agent says: to fetch'), asked[0].message);
        assert.equal(asked[0].requestedSchema.properties.confirmation.title, 'To allow it, type a.test');
        assert.ok(lines.some((line) => line.includes("sh -c 'curl")), asked[0].message);
        const aside = path.join(process.env.HOME, 'aside');
        fs.mkdirSync(aside);
        done = await run({ command: `echo kept > ${aside}/file`, sandbox_permissions: 'with_additional_permissions',
            additional_permissions: { write: [aside] } });
        assert.equal(done.structuredContent.exit_code, 0, JSON.stringify(done));
        assert.ok(asked[1].message.split('\n').includes(`  and allow it to use: write ${aside}`), asked[1].message);
        assert.equal(fs.readFileSync(`${aside}/file`, 'utf8'), 'kept\n');
        await client.close();
    },

    async escalated() {
        const { client, run, asked } = await connect(say('approved'));
        const done = await run({ command: 'echo free', sandbox_permissions: 'require_escalated', reason: 'x' });
        assert.equal(done.structuredContent.stdout, 'free\n');
        assert.match(asked[0].message, /^Run this WITHOUT a sandbox\?\n {2}sh -c 'echo free'\n/);
        await client.close();
    },

    async nobody() {
        const { client, run } = await connect();
        const done = await run(GET);
        assert.equal(done.structuredContent.stdout, '403');
        assert.equal(done.structuredContent.network.blocked >= 1, true);
        assert.equal(done.structuredContent.network.outcome, 'no_answer');
        // Also of a command that went well all the same the text says so.
        const piped = await run(`${GET} | tail -n1`);
        assert.equal(piped.structuredContent.exit_code, 0);
        assert.match(piped.content[0].text, /denied on the network: http:\/\/a\.test:80 \(no_answer\)/);
        await client.close();
    },

    async nobody_untrusted() {
        const { client, run } = await connect();
        const done = await run('touch made');
        assert.equal(done.structuredContent.status, 'rejected');
        assert.match(done.structuredContent.message, /cannot show a question/);
        assert.equal(fs.existsSync('made'), false);
        await client.close();
    },

    async cancelled() {
        let gone = false, release;
        const { client, run, asked } = await connect((params, extra) => {
            extra.signal.addEventListener('abort', () => { gone = true; });
            return new Promise((done) => { release = done; });
        });
        let abort = new AbortController();
        let call = run('touch started; sleep 86431', { signal: abort.signal });
        call.catch(() => {});
        await until(() => fs.existsSync('started') && runs('86431'), 'the command runs');
        abort.abort('no more');
        await assert.rejects(call);
        await until(() => !runs('86431'), 'the command has ended');
        abort = new AbortController();
        call = run(GET, { signal: abort.signal });
        call.catch(() => {});
        await until(() => asked.length === 1, 'it is asked');
        abort.abort('no more');
        await assert.rejects(call);
        await until(() => gone, 'the question is taken back');
        release({ action: 'accept', content: { decision: 'approved', confirmation: 'a.test' } });
        assert.equal((await run('echo on')).structuredContent.stdout, 'on\n');
        await client.close();
    },

    // What runs says so, until it has ended; and what it is asked. It ends because it was told, not because time passed.
    async progress() {
        const { client, asked, run } = await connect(say('approved', { confirmation: 'a.test' }));
        const told = [];
        const onprogress = (progress) => {
            told.push(progress);
            if (told.length === 3) fs.writeFileSync('go', '');
        };
        client.onerror = (error) => assert.fail(`${error}`); // as when it is told of what it does not wait for any more
        const result = await run('until [ -e go ]; do sleep 0.05; done; echo went', { onprogress });
        assert.equal(result.structuredContent.stdout, 'went\n');
        assert.ok(told.length >= 3);
        assert.deepEqual(told[0].message, 'begins');
        told.forEach((one, i) => assert.ok(i === 0 || one.progress > told[i - 1].progress, JSON.stringify(told)));
        const ended = told.length;
        const other = [];
        await run(GET, { onprogress: (progress) => other.push(progress) });
        assert.equal(asked.length, 1);
        assert.ok(other.some((one) => one.message === 'the command waits for an answer'), JSON.stringify(other));
        await run('sleep 1.2'); // asks for none
        assert.equal(told.length, ended);
        await client.close();
    },

    async at_once() {
        const { client, run } = await connect(say('approved', { confirmation: 'a.test' }));
        const told = [];
        const calls = Array.from({ length: 12 }, (_, i) =>
            run(`sleep 0.${(12 - i) % 4}; echo ${i}; exit ${i}`, { onprogress: (progress) => told.push(progress) }));
        const done = await Promise.all(calls);
        done.forEach((one, i) =>
            assert.deepEqual([one.structuredContent.stdout, one.structuredContent.exit_code], [`${i}\n`, i]));
        assert.ok(told.length >= 12 && told.every((progress) => progress.message));
        const both = await Promise.all([run(GET), run('echo beside')]);
        assert.deepEqual(both.map((one) => one.structuredContent.stdout), ['200', 'beside\n']);
        await client.close();
    },

    // A command that goes on after its reply: its output is polled, it is listed and ended, and its result is returned once.
    async background() {
        const { client, run } = await connect();
        const call = async (name, given = {}) => (await client.callTool({ name, arguments: given }));
        const begin = async (command) => {
            const { structuredContent } = await call('background', { command, timeout_ms: 0 });
            assert.equal(structuredContent.status, 'running');
            return structuredContent.exec;
        };
        const exec = await begin('echo up; until [ -e go ]; do sleep 0.05; done; echo went; exit 3');
        const other = await begin('echo other; sleep 86433');
        assert.notEqual(exec, other);
        const seen = async (number, text) => {
            for (let got = ''; !got.includes(text);) {
                const { structuredContent } = await call('poll', { exec: number, wait_ms: 500 });
                assert.deepEqual([structuredContent.status, structuredContent.exec], ['running', number]);
                got += structuredContent.stdout;
            }
        };
        await seen(exec, 'up\n');
        await seen(other, 'other\n');
        assert.equal((await call('poll', { exec, wait_ms: 0 })).structuredContent.stdout, '');
        let { commands } = (await call('list')).structuredContent;
        assert.deepEqual(commands.map((one) => [one.exec, one.status]).sort(), [[exec, 'running'], [other, 'running']].sort());
        assert.ok(commands.some((one) => one.command.startsWith('echo other')));
        const waits = call('poll', { exec, wait_ms: 600000 });
        fs.writeFileSync('go', '');
        const done = await waits;
        if (done.structuredContent.status === 'running') { // its last words came before its end
            assert.equal(done.structuredContent.stdout, 'went\n');
            done.structuredContent = (await call('poll', { exec, wait_ms: 600000 })).structuredContent;
        }
        assert.deepEqual([done.structuredContent.exit_code, done.structuredContent.stdout], [3, 'up\nwent\n']);
        assert.equal((await call('kill', { exec: other })).structuredContent.status, 'ending');
        await until(() => !runs('86433'), 'the command has ended');
        let ended;
        do ended = await call('poll', { exec: other, wait_ms: 600000 }); while (ended.structuredContent.status === 'running');
        assert.equal(ended.structuredContent.status, 'cancelled');
        for (const [name, given, why] of [['poll', { exec }, /no background command/], ['kill', { exec: other }, /no background command/],
            ['poll', {}, /`exec`/], ['poll', { exec: 1, more: 1 }, /unknown/], ['list', { exec: 1 }, /unknown/], ['kill', { exec: 999 }, /no background/],
            ['background', { command: 'true', wait_ms: 1 }, /unknown/], ['run', { command: 'true', exec: 1 }, /unknown/]]) {
            const failed = await call(name, given);
            assert.ok(failed.isError && why.test(failed.content[0].text), JSON.stringify(failed));
        }
        assert.deepEqual((await call('list')).structuredContent.commands, []);
        // One that is short has its result at once, and one that nobody waits for is ended with the rest.
        const short = await call('background', { argv: ['sh', '-c', 'exit 4'] });
        assert.equal(short.structuredContent.exit_code, 4);
        // One that ends by itself keeps its result until it is polled.
        const later = await begin('until [ -e more ]; do sleep 0.05; done; echo last');
        fs.writeFileSync('more', '');
        for (let status = ''; status !== 'ended';)
            [{ status }] = (await call('list')).structuredContent.commands;
        assert.match((await call('kill', { exec: later })).content[0].text, /has ended/);
        assert.equal((await call('poll', { exec: later })).structuredContent.stdout, 'last\n');
        assert.equal((await run('echo on')).structuredContent.stdout, 'on\n');
        await client.close();
    },

    async leaves() {
        const { run, asked } = await connect(() => new Promise(() => {}));
        run('trap "" TERM; touch started; sleep 86432').catch(() => {});
        run(GET).catch(() => {});
        await until(() => fs.existsSync('started') && asked.length === 1, 'the command runs, and it is asked');
        process.exit(0); // as a client that dies does
    },
};

const name = process.argv[2];
const late = setTimeout(() => { console.error(`${name} took too long`); process.exit(1); }, 150000);
await cases[name]();
clearTimeout(late);
process.exit(0);
