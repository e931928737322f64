'use strict';
/*
 * Runs before every Node.js program of the command (NODE_OPTIONS=--require=…) and sends what Node's own HTTP clients ask
 * for through the gate: fetch(), WebSocket, and http and https with their default agents. Node reads HTTP_PROXY and
 * HTTPS_PROXY itself from 22.21 and 24.5 on; there this does nothing.
 *
 * A convenience only: nothing leaves the sandbox but through the gate, whatever a program makes of this. So an error in
 * here leaves Node as it was, and never stops a program. A request that brings its own agent, createConnection or
 * socketPath is left alone.
 *
 * Loading http, https and undici takes longer than starting Node. So nothing is loaded before the program itself makes a
 * request; EventEmitter.init, which every emitter passes when it is made, tells when that is.
 */
const EventEmitter = require('events');
const DISPATCHER = Symbol.for('undici.globalDispatcher.1');
const ANSWER_MAX = 65536;
const HANDSHAKE_MS = 10000; // as undici's own

/* The command's own servers are dialled without the gate: it would dial the same address, and a program that speaks to
 * its proxy by itself must reach it. */
const LOOPBACK = /^(localhost|127(\.\d+){3}|::1|\[::1\])$/i;

function isExempt(host, port) {
	const list = process.env.no_proxy || process.env.NO_PROXY || '';

	return list.toLowerCase().split(/[\s,]+/).some((entry) => {
		const [, name, only] = /^\*?\.?(.*?)(?::(\d+))?$/.exec(entry);

		if (entry === '' || (only && Number(only) !== Number(port)))
			return false;
		return entry === '*' || host === name || host.endsWith(`.${name}`);
	});
}

/* The proxy's URL, or null: go direct. */
function proxyFor(protocol, host, port) {
	const { env } = process;
	const text = protocol === 'https:' ? env.https_proxy || env.HTTPS_PROXY : env.http_proxy || env.HTTP_PROXY;

	if (!text || LOOPBACK.test(host) || isExempt(String(host).toLowerCase(), port))
		return null;
	try {
		const proxy = new URL(text);

		return proxy.protocol === 'http:' ? proxy : null;
	} catch {
		return null;
	}
}

/* What the proxy said instead of 2xx, in full: the reason, the rule and the next step are in its words. */
function refusal(target, status, head, body) {
	const reason = /^x-sallyport-reason:[ \t]*(.*?)[ \t]*$/im.exec(head);
	const words = Buffer.from(body, 'latin1').toString().trim();
	const error = new Error(`${target} refused by the proxy: ${status[1]} ${status[2]}` +
		(reason ? ` (${reason[1]})` : '') + (words ? `\n${words}` : ''));

	error.code = status[1] === '403' ? 'ERR_PROXY_DENIED' : 'ERR_PROXY_TUNNEL';
	error.statusCode = Number(status[1]);
	error.reason = reason ? reason[1] : undefined;
	return error;
}

/* A connection through @proxy by CONNECT (RFC 9110 §9.3.6): done(error) or done(null, socket), once and later. No
 * deadline of its own: a question may be open, and the gate always answers. */
function tunnel(proxy, host, port, done) {
	const target = `${/^[^[].*:/.test(host) ? `[${host}]` : host}:${port}`;
	const socket = require('net').connect({ host: proxy.hostname.replace(/[[\]]/g, ''), port: proxy.port || 80 });
	let text = '';

	function finish(error) {
		socket.removeListener('readable', read).removeListener('error', finish).removeListener('close', closed);
		if (error)
			socket.destroy();
		done(error, error ? undefined : socket);
	}
	function read(isClosed) {
		for (let chunk = socket.read(); chunk !== null; chunk = socket.read())
			text += chunk.toString('latin1');
		const end = text.indexOf('\r\n\r\n');
		const status = /^HTTP\/1\.[01] (\d{3}) ?(.*)/.exec(text);

		if (text.length > ANSWER_MAX || (end >= 0 && !status))
			return finish(new Error(`${target}: the proxy's answer makes no sense`));
		if (end < 0)
			return undefined;
		const head = text.slice(0, end), rest = text.slice(end + 4);

		if (status[1].startsWith('2')) {
			if (rest)
				socket.unshift(Buffer.from(rest, 'latin1'));
			return finish(null);
		}
		const length = /^content-length:[ \t]*(\d+)/im.exec(head);

		if (isClosed === true || (length && rest.length >= Number(length[1])))
			finish(refusal(target, status, head, rest));
		return undefined;
	}
	function closed() {
		read(true);
		if (socket.listeners('close').includes(closed))
			finish(Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }));
	}
	socket.on('readable', read).on('error', finish).on('close', closed);
	socket.setNoDelay(true);
	socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\nAccept: text/plain\r\n\r\n`);
	return socket;
}

/* @Base, http.Agent or https.Agent, with new connections through the gate; pooling and keep-alive are @Base's. */
function gated(Base) {
	let asking; // the request that addRequest() is about

	return class Agent extends Base {
		addRequest(request, ...rest) {
			asking = request;
			try {
				super.addRequest(request, ...rest);
			} finally {
				asking = undefined;
			}
		}
		createConnection(options, done) {
			const { host, port, socketPath } = options || {};
			const proxy = !socketPath && typeof done === 'function' && proxyFor(this.protocol, host, port);

			if (!proxy)
				return super.createConnection(options, done);
			const request = asking;
			const socket = tunnel(proxy, host, port, (error, connected) => {
				if (request && request.destroy === leave)
					delete request.destroy;
				if (error || this.protocol !== 'https:')
					return done(error, connected);
				let secure;

				try {
					secure = super.createConnection({ ...options, socket: connected });
				} catch (failed) {
					connected.destroy();
					return done(failed);
				}
				return done(null, secure);
			});
			/* Who gives up while the gate still asks takes the question along. */
			function leave(...args) {
				delete request.destroy;
				socket.destroy();
				return request.destroy(...args);
			}
			if (request)
				request.destroy = leave;
			return undefined;
		}
	};
}

const classes = { http: null, https: null };

/* In place, so that whoever holds the default agent already, or set options on it, has the same one. */
function takeAgents() {
	for (const name of Object.keys(classes)) {
		const { Agent, globalAgent } = require(name);

		classes[name] = classes[name] || gated(Agent);
		if (Object.getPrototypeOf(globalAgent) === Agent.prototype)
			Object.setPrototypeOf(globalAgent, classes[name].prototype);
	}
}

/* undici's way to a connection: for https it wants the handshake done. */
function connect({ hostname, protocol, port, servername }, done) {
	const number = port || (protocol === 'https:' ? 443 : 80);
	const proxy = proxyFor(protocol, hostname, number);

	if (!proxy) // the variables went since the request began
		return process.nextTick(done, new Error('no proxy'));
	return tunnel(proxy, hostname, number, (error, socket) => {
		if (error || protocol !== 'https:')
			return done(error, socket);
		const name = servername || (require('net').isIP(hostname) ? '' : hostname);
		const secure = require('tls').connect({ socket, servername: name, ALPNProtocols: ['http/1.1'] });
		const timer = setTimeout(() => secure.destroy(new Error(`${hostname}: TLS handshake timed out`)), HANDSHAKE_MS);
		const finish = (failed) => {
			clearTimeout(timer);
			secure.removeListener('secureConnect', finish).removeListener('error', finish);
			done(failed || null, failed ? undefined : secure);
		};

		return secure.on('secureConnect', finish).on('error', finish);
	});
}

/* undici makes its default dispatcher when it is loaded, Node's own and one from npm alike: the first Agent made while
 * there is no global one. Only if it does become that, it hands over to a second one of the same class. */
function takeDispatcher(agent) {
	const { dispatch } = agent;
	let gate;

	function toGate(options) {
		const { protocol, hostname, port } = new URL(options.origin);

		if (globalThis[DISPATCHER] !== agent || !proxyFor(protocol, hostname, port || (protocol === 'https:' ? 443 : 80)))
			return null;
		gate = gate || new agent.constructor({ connect });
		return gate;
	}
	Object.defineProperty(agent, 'dispatch', {
		configurable: true,
		writable: true,
		value(options, handler) {
			let to = null;

			try {
				to = toGate(options);
			} catch { /* as undici would have done it */ }
			return to ? to.dispatch(options, handler) : dispatch.call(this, options, handler);
		},
	});
}

function notice(emitter) {
	if (typeof emitter.onSocket === 'function') // an http.ClientRequest
		takeAgents();
	else if (typeof emitter.dispatch === 'function' && typeof emitter.destroy === 'function' &&
		 emitter.constructor.name === 'Agent' && globalThis[DISPATCHER] === undefined)
		takeDispatcher(emitter);
}

function start() {
	const [major, minor] = process.versions.node.split('.').map(Number);
	const { env } = process;
	const { init } = EventEmitter;

	if (major > 24 || (major === 24 && minor >= 5) || (major === 22 && minor >= 21))
		return;
	if (!(env.https_proxy || env.HTTPS_PROXY || env.http_proxy || env.HTTP_PROXY))
		return;
	EventEmitter.init = function (options) {
		try {
			notice(this);
		} catch { /* Node as it was */ }
		return init.call(this, options);
	};
}

try {
	start();
} catch { /* Node as it was */ }
