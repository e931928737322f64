"""cases: one entry for each way in which a real program connects. The script runs in the sandbox, in an empty folder that holds the
test's CA as ca.pem; HOST stands for a host that the policy allows and, a second time, for denied.test."""
import subprocess
from dataclasses import dataclass

PYTHON = "/usr/bin/python3"  # Debian's own, which has Debian's modules
NODE_TUNNEL = """
const http = require('http'), tls = require('tls'), fs = require('fs');
const proxy = new URL(process.env.HTTPS_PROXY);
const request = http.request({ host: proxy.hostname, port: proxy.port, method: 'CONNECT', path: 'HOST:443' });
request.on('connect', (answer, socket) => {
    if (answer.statusCode !== 200) { console.error('CONNECT said', answer.statusCode); process.exit(1); }
    const agent = new (require('https').Agent)({ keepAlive: false });
    agent.createConnection = () => tls.connect({ socket, servername: 'HOST', ca: fs.readFileSync('ca.pem') });
    require('https').get('https://HOST/page', { agent }, (page) => page.pipe(process.stdout));
});
request.end();
"""
APT = """
mkdir -p lists/partial cache/archives/partial etc state/lists/partial
echo 'deb [trusted=yes] SCHEME://HOST/ test main' > etc/sources.list; : > state/status
cat > apt.conf <<END
Dir::State "$PWD/state"; Dir::State::status "$PWD/state/status"; Dir::Cache "$PWD/cache"; Dir::Etc "$PWD/etc";
Dir::Etc::sourcelist "$PWD/etc/sources.list"; Dir::Etc::sourceparts "/dev/null"; Dir::Log "$PWD";
APT::Sandbox::User "root"; Acquire::https::CAInfo "$PWD/ca.pem"; Acquire::Retries "0"; Acquire::Languages "none";
END
export APT_CONFIG=$PWD/apt.conf
apt-get -q -o APT::Update::Error-Mode=any update && apt-get -q download sallyport-hello && dpkg-deb --fsys-tarfile sallyport-hello*.deb | tar xO ./usr/share/hello
"""
GIT = """
export HOME=$PWD GIT_SSL_CAINFO=$PWD/ca.pem GIT_TERMINAL_PROMPT=0
git clone -q https://HOST/repo.git got && cat got/file &&
cd got && git -c user.name=t -c user.email=t@example.org commit -q --allow-empty -m 'second light' && git push -q origin main &&
git ls-remote origin main | grep -q "$(git rev-parse HEAD)" && echo pushed
"""
SSH = "-o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
GIT_SSH = GIT.replace("https://HOST/", "git@HOST:").replace("got && cat got", "ssh-got && cat ssh-got").replace("cd got", "cd ssh-got").replace(
    "second light", "third light").replace("export", f"export GIT_SSH_COMMAND='ssh {SSH}'")
NPM = """
export npm_config_update_notifier=false npm_config_cafile=$PWD/ca.pem npm_config_fetch_retries=0
npm install --no-audit --no-fund --loglevel=error --registry https://HOST/ hello >&2 && node -p "require('hello')"
"""
PIP = f"""
export PIP_CONFIG_FILE=/dev/null
{PYTHON} -m pip install -q --disable-pip-version-check --retries 0 --index-url https://HOST/simple --cert ca.pem --target out hello &&
PYTHONPATH=out {PYTHON} -c 'import hello; print(hello.words)'
"""

GO = """
export SSL_CERT_FILE=$PWD/ca.pem GOPROXY=https://HOST GOSUMDB=off GOFLAGS=-mod=mod
printf 'module t\n\ngo 1.19\n\nrequire hello.test/hello v1.0.0\n' > go.mod
cat > t.go <<'END'
package main

import (
	"os"

	"hello.test/hello"
)

func main() { os.Stdout.WriteString(hello.Words) }
END
go build -o t . && ./t
"""
CARGO = """
mkdir -p .cargo src && : > src/lib.rs
cat > .cargo/config.toml <<'END'
[source.crates-io]
replace-with = "here"
[source.here]
registry = "https://HOST/index.git"
[http]
cainfo = "ca.pem"
[net]
retry = 0
END
printf '[package]\nname = "t"\nversion = "1.0.0"\nedition = "2021"\n[dependencies]\nhello = "1"\n' > Cargo.toml
RUSTC=/usr/bin/rustc /usr/bin/cargo vendor -q --respect-source-config >&2 && cat vendor/hello/src/lib.rs
"""
MAVEN = """
keytool -importcert -noprompt -alias t -file ca.pem -keystore trust -storepass changeit 2>/dev/null
export MAVEN_OPTS="$MAVEN_OPTS -Djavax.net.ssl.trustStore=$PWD/trust -Djavax.net.ssl.trustStorePassword=changeit"
cat > settings.xml <<'END'
<settings><mirrors><mirror><id>here</id><url>https://HOST/maven</url><mirrorOf>*</mirrorOf></mirror></mirrors></settings>
END
cat > pom.xml <<'END'
<project><modelVersion>4.0.0</modelVersion><artifactId>t</artifactId><packaging>pom</packaging>
<parent><groupId>test</groupId><artifactId>hello</artifactId><version>1.0</version><relativePath/></parent></project>
END
mvn -B -s settings.xml validate
"""
JAVA = """
cat > T.java <<'END'
import java.net.*;
import java.net.http.*;
import java.security.*;
import java.security.cert.*;
import javax.net.ssl.*;

class T {
    public static void main(String[] args) throws Exception {
        KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
        trusted.load(null, null);
        try (var file = new java.io.FileInputStream("ca.pem")) {
            trusted.setCertificateEntry("ca", CertificateFactory.getInstance("X.509").generateCertificate(file));
        }
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(trusted);
        SSLContext tls = SSLContext.getInstance("TLS");
        tls.init(null, trust.getTrustManagers(), null);
        HttpsURLConnection.setDefaultSSLSocketFactory(tls.getSocketFactory());
        System.out.write(new URL("https://HOST/page").openStream().readAllBytes());
        System.out.println(HttpClient.newBuilder().sslContext(tls).build().send(
            HttpRequest.newBuilder(URI.create("https://HOST/page?client")).build(), HttpResponse.BodyHandlers.ofString()).body());
    }
}
END
java T.java
"""
GH = "export SSL_CERT_FILE=$PWD/ca.pem GH_ENTERPRISE_TOKEN=t GH_CONFIG_DIR=$PWD; gh api --hostname HOST page"
AWS = """export AWS_DEFAULT_REGION=eu-west-1 AWS_MAX_ATTEMPTS=1 AWS_EC2_METADATA_DISABLED=true
aws s3api get-object --no-sign-request --endpoint-url https://HOST --ca-bundle ca.pem --bucket b --key page out >&2 && cat out"""
KUBECTL = "kubectl --kubeconfig /dev/null --server https://HOST --token t --certificate-authority ca.pem get --raw /page"


def python(text):
    return f'{PYTHON} - <<"END"\n{text}\nEND\n'


def urllib(url):
    return python("import ssl, urllib.request\n"
                  "context = ssl.create_default_context(cafile='ca.pem')\n"
                  f"print(urllib.request.urlopen('{url}', context=context).read().decode())")


def requests(url, more=""):
    return python(f"import requests\nanswer = requests.get('{url}', verify='ca.pem'{more})\n"
                  "answer.raise_for_status()\nprint(answer.text)")


def httpx(url):
    return python(f"import httpx\nanswer = httpx.get('{url}', verify='ca.pem')\nanswer.raise_for_status()\nprint(answer.text)")


def aiohttp(url):
    return python("import aiohttp, asyncio, ssl\nasync def main():\n"
                  "    async with aiohttp.ClientSession(trust_env=True, raise_for_status=True) as session:\n"
                  f"        async with session.get('{url}', ssl=ssl.create_default_context(cafile='ca.pem')) as answer:\n"
                  "            print(await answer.text())\nasyncio.run(main())")


PYSOCKS = python("import socks\ns = socks.socksocket()\ns.set_proxy(socks.SOCKS5, '127.0.0.1', 61080, rdns=True)\n"
                 "s.settimeout(10)\ns.connect(('HOST', 7000))\ns.sendall(b'said and heard')\nprint(s.recv(100).decode())")
# It can make no sandbox of its own inside ours. Its zygote learns the pids of its children from the sender of a message, which is
# always process 1 here.
CHROMIUM = """chromium --headless --disable-gpu --disable-dev-shm-usage --no-first-run --disable-background-networking --disable-component-update \\
    --disable-sync --ignore-certificate-errors --dump-dom SCHEME://HOST/page 2>chromium.log | tee page.html
grep -q 'GET /page' page.html || { tail -3 chromium.log >&2; exit 1; }"""
# Both start the browser themselves, with most of the options above.
NODE_PLAYWRIGHT = """process.env.HOME = process.cwd();
require('playwright-core').chromium.launch({ executablePath: '/usr/bin/chromium' }).then(async (browser) => {
    const page = await (await browser.newContext({ ignoreHTTPSErrors: true })).newPage();
    await page.goto('https://HOST/page');
    console.log(await page.textContent('body'));
    await browser.close();
}).catch((error) => { console.error(error.message); process.exit(1); });"""
NODE_PUPPETEER = """process.env.HOME = process.cwd();
require('puppeteer-core').launch({ executablePath: '/usr/bin/chromium', acceptInsecureCerts: true }).then(async (browser) => {
    const page = await browser.newPage();
    await page.goto('https://HOST/page');
    console.log(await page.$eval('body', (body) => body.textContent));
    await browser.close();
}).catch((error) => { console.error(error.message); process.exit(1); });"""
S_CLIENT = """printf 'GET /page HTTP/1.0\\r\\nHost: HOST\\r\\n\\r\\n' | openssl s_client -quiet -verify_return_error -CAfile ca.pem -proxy 127.0.0.1:61128 -connect HOST:443 -servername HOST"""


def node(text, run="node t.js", file="t.js"):
    return f"export NODE_EXTRA_CA_CERTS=$PWD/ca.pem\ncat > {file} <<'END'\n{text}\nEND\n{run}"


GRPC = python("""import grpc
trusted = grpc.ssl_channel_credentials(open('ca.pem', 'rb').read())
with grpc.secure_channel('HOST:443', trusted) as channel:
    print(channel.unary_unary('/test/Say')(b'said over http/2', timeout=60).decode())""")
NODE_FAILS = "(e) => { console.error(e); process.exit(1); }"
NODE_FETCH = f"""fetch('URL').then((a) => a.ok ? a.text() : a.text().then((t) => Promise.reject(a.status + t)))
    .then(console.log, {NODE_FAILS});"""
NODE_GET = f"""get('URL', OPTIONS, (a) => {{
    if (a.statusCode !== 200) process.exitCode = console.error(a.statusCode) || 1;
    a.pipe(a.statusCode === 200 ? process.stdout : process.stderr);
}}).on('error', {NODE_FAILS});"""
NODE_POST = f"""const request = require('https').request('https://HOST/put', {{ method: 'POST' }}, (a) => a.pipe(process.stdout));
request.on('error', {NODE_FAILS});
request.write('up '); request.end('and back');"""
# The default agent keeps connections from node 19 on; a program may tell it to before. The second request must get the
# first one's, and an idle connection must not keep the program alive.
NODE_KEPT = f"""const https = require('https');
https.globalAgent.keepAlive = true;
function get(done) {{
    const request = https.get('https://HOST/page', (a) => a.resume().on('end', () => setImmediate(done, request)));
    request.on('error', {NODE_FAILS});
}}
get(() => get((second) => console.log('kept', second.reusedSocket)));"""
# Debian's modules, for a node that does not come from Debian.
NODE_MODULES = "NODE_PATH=/usr/share/nodejs node t.js"
# From npm, see package.json.
NODE_NPM = "NODE_PATH=$FROM_NPM node t.js"
NODE_OPENAI = f"""const OpenAI = require('openai');
new OpenAI({{ apiKey: 'k', baseURL: 'https://HOST/v1', maxRetries: 0 }}).chat.completions.create({{ model: 'm', messages: [{{ role: 'user', content: 'hi' }}] }})
    .then((said) => console.log(said.choices[0].message.content), {NODE_FAILS});"""
NODE_ANTHROPIC = f"""const Anthropic = require('@anthropic-ai/sdk');
new Anthropic({{ apiKey: 'k', baseURL: 'https://HOST', maxRetries: 0 }}).messages.create({{ model: 'm', max_tokens: 9, messages: [{{ role: 'user', content: 'hi' }}] }})
    .then((said) => console.log(said.content[0].text), {NODE_FAILS});"""
NODE_GRPC = """const grpc = require('@grpc/grpc-js');
const same = (bytes) => bytes;
const trusted = grpc.credentials.createSsl(require('fs').readFileSync('ca.pem'));
const client = new grpc.Client('HOST:443', trusted);
client.makeUnaryRequest('/test/Say', same, same, Buffer.from('said over http/2'), (error, said) => {
    if (error) { console.error(error); process.exitCode = 1; } else console.log(said.toString());
    client.close();
});"""
NODE_UNDICI = f"""const {{ request, ProxyAgent }} = require('undici');
request('https://HOST/page', {{ dispatcher: new ProxyAgent(process.env.HTTPS_PROXY) }})
    .then((answer) => answer.body.text()).then(console.log, {NODE_FAILS});"""
NODE_WS = f"""const {{ WebSocket }} = require('ws');
const agent = new (require('https-proxy-agent'))(process.env.HTTPS_PROXY);
const link = new WebSocket('wss://HOST/socket', {{ agent }});
link.on('open', () => link.send('said and heard')).on('error', {NODE_FAILS});
link.on('message', (text) => {{ console.log(text.toString()); link.close(); }});"""
# A proxy must not come between a program and its own servers.
NODE_OWN = f"""const http = require('http');
const server = http.createServer((_, answer) => answer.end('own')).listen(0, '127.0.0.1', () => {{
    http.get({{ port: server.address().port, host: '127.0.0.1' }}, (own) => own.on('data', (text) => {{
        server.close();
        http.get('http://HOST/page', (a) => {{
            if (a.statusCode !== 200) {{ console.error(a.statusCode); a.pipe(process.stderr); return process.exitCode = 1; }}
            process.stdout.write(`${{text}} and `);
            a.pipe(process.stdout);
        }}).on('error', {NODE_FAILS});
    }}));
}});"""
NODE_WORKER = """new (require('worker_threads').Worker)(`get`, { eval: true })
    .on('exit', (status) => { process.exitCode = status; });""".replace(
    "get`", "const { get } = require('https'); " + NODE_GET.replace("URL", "https://HOST/page").replace("OPTIONS", "{}") + "`")
NODE_CHILD = """const { status } = require('child_process').spawnSync(process.execPath, ['-e', `get`], { stdio: 'inherit' });
process.exitCode = status;""".replace(
    "get`", "const { get } = require('https'); " + NODE_GET.replace("URL", "https://HOST/page").replace("OPTIONS", "{}") + "`")


def node_get(scheme, options="{}", load="const {{ get }} = require('{}');", **more):
    return node(load.format(scheme) + "\n" + NODE_GET.replace("URL", f"{scheme}://HOST/page").replace("OPTIONS", options), **more)


def node_fetch(scheme, **more):
    return node(NODE_FETCH.replace("URL", f"{scheme}://HOST/page"), **more)


@dataclass
class Case:
    name: str
    host: str    # the allowed one
    script: str
    prints: str  # what arrives
    denied: str = "403"  # what the client shows of a denial, standard output and error; "" where it shows nothing


PAGE = "web GET /page"
# A node that reads the proxy variables itself shows less of a denial than our preload does, and goes direct with agent: false.
NODE_READS_THEM = subprocess.run(["node", "-p", "process.allowedNodeEnvironmentFlags.has('--use-env-proxy')"],
                                 capture_output=True, text=True).stdout.strip() == "true"
NODE_SAYS = "403" if NODE_READS_THEM else "rule_deny"
CASES = [
    Case("curl http", "web.test", "curl -fsS http://HOST/page", PAGE),
    Case("curl http, reason in the body", "web.test", "curl -sS --fail-with-body http://HOST/page", PAGE, "rule_deny"),
    Case("curl https", "web.test", "curl -fsS --cacert ca.pem https://HOST/page", PAGE),
    Case("curl https, http/2 offered", "web.test", "curl -fsS --http2 --cacert ca.pem https://HOST/page", PAGE),
    Case("curl socks5h http", "web.test", "curl -fsS -x socks5h://127.0.0.1:61080 http://HOST/page", PAGE, "(2)"),
    Case("curl socks5h https", "web.test", "curl -fsS --cacert ca.pem -x socks5h://127.0.0.1:61080 https://HOST/page",
         PAGE, "(2)"),
    Case("curl by ALL_PROXY alone", "web.test",
         "unset http_proxy HTTP_PROXY https_proxy HTTPS_PROXY; curl -fsS --cacert ca.pem https://HOST/page", PAGE),
    Case("curl by SALLYPORT_SOCKS", "web.test", "curl -fsS --cacert ca.pem -x $SALLYPORT_SOCKS https://HOST/page", PAGE, "(2)"),
    Case("curl upload", "web.test", "printf 'up and back' | curl -fsS --cacert ca.pem -T - https://HOST/put", "up and back"),
    Case("wget http", "web.test", "wget -qO- -t 1 http://HOST/page || wget -O- -t 1 http://HOST/page", PAGE),
    Case("wget https", "web.test", "wget -O- -t 1 --ca-certificate=ca.pem https://HOST/page", PAGE, "Forbidden"),
    Case("git over https, clone and push", "git.test", GIT, "pushed"),
    Case("npm install", "npm.test", NPM, "hello from the registry", ""),
    Case("pip install", "pip.test", PIP, "hello from the index", ""),
    Case("apt-get over http", "apt.test", APT.replace("SCHEME", "http"), "hello from the archive"),
    Case("apt-get over https", "apt.test", APT.replace("SCHEME", "https"), "hello from the archive"),
    Case("python urllib http", "web.test", urllib("http://HOST/page"), PAGE),
    Case("python urllib https", "web.test", urllib("https://HOST/page"), PAGE),
    Case("python requests http", "web.test", requests("http://HOST/page"), PAGE),
    Case("python requests https", "web.test", requests("https://HOST/page"), PAGE),
    Case("python requests socks5h", "web.test",
         requests("https://HOST/page", ", proxies={'https': 'socks5h://127.0.0.1:61080'}"), PAGE, ""),
    Case("python httpx http", "web.test", httpx("http://HOST/page"), PAGE),
    Case("python httpx https", "web.test", httpx("https://HOST/page"), PAGE),
    Case("python aiohttp http", "web.test", aiohttp("http://HOST/page"), PAGE),
    Case("python aiohttp https", "web.test", aiohttp("https://HOST/page"), PAGE),
    Case("PySocks, plain tcp", "tcp.test", PYSOCKS, "said and heard", "0x02"),
    Case("node https through a tunnel", "web.test", f"cat > t.js <<'END'\n{NODE_TUNNEL}\nEND\nnode t.js", PAGE),
    Case("node fetch http", "web.test", node_fetch("http"), PAGE, NODE_SAYS),
    Case("node fetch https", "web.test", node_fetch("https"), PAGE, NODE_SAYS),
    Case("node http.get", "web.test", node_get("http"), PAGE, NODE_SAYS),
    Case("node https.get", "web.test", node_get("https"), PAGE, NODE_SAYS),
    Case("node https post", "web.test", node(NODE_POST), "up and back", NODE_SAYS),
    Case("node https, connection kept", "web.test", node(NODE_KEPT), "kept true", NODE_SAYS),
    Case("node import", "web.test",
         node_get("https", load="import {{ get }} from 'node:{}';", file="t.mjs", run="node t.mjs"), PAGE, NODE_SAYS),
    Case("node worker thread", "web.test", node(NODE_WORKER), PAGE, NODE_SAYS),
    Case("node child process", "web.test", node(NODE_CHILD), PAGE, NODE_SAYS),
    Case("node with a server of its own", "web.test", node(NODE_OWN), f"own and {PAGE}", NODE_SAYS),
    Case("node, NODE_OPTIONS extended", "web.test",
         node_get("https", run='NODE_OPTIONS="$NODE_OPTIONS --max-old-space-size=300" node t.js'), PAGE, NODE_SAYS),
    Case("node undici with ProxyAgent", "web.test", node(NODE_UNDICI, run=NODE_MODULES), PAGE, "Proxy response !== 200"),
    Case("node ws with https-proxy-agent", "socket.test", node(NODE_WS, run=NODE_MODULES), "said and heard"),
    Case("openai from npm", "model.test", node(NODE_OPENAI, run=NODE_NPM), "Bearer k asked m", "access denied"),
    Case("anthropic from npm", "model.test", node(NODE_ANTHROPIC, run=NODE_NPM), "k asked m", NODE_SAYS),
    Case("grpc-js from npm", "grpc.test", node(NODE_GRPC, run=NODE_NPM), "said over http/2", ""),
    Case("go build", "go.test", GO, "hello from the modules", "Forbidden"),
    Case("cargo vendor", "cargo.test", CARGO, "hello from the crates"),
    Case("maven, a parent project", "maven.test", MAVEN, "BUILD SUCCESS"),
    Case("java, both clients", "web.test", JAVA, f"{PAGE}?client", "access_denied"),
    Case("gh api", "web.test", GH, "web GET /api/v3/page", "Forbidden"),
    Case("aws s3api", "web.test", AWS, "web GET /b/page", ""),
    Case("kubectl", "web.test", KUBECTL, PAGE, "Forbidden"),
    Case("python grpc", "grpc.test", GRPC, "said over http/2", "UNAVAILABLE"),
    Case("ssh", "ssh.test", f"ssh {SSH} HOST 'echo said and heard'", "said and heard", "reset"),
    Case("ssh, much both ways", "ssh.test", f"head -c 20000000 /dev/zero | ssh {SSH} HOST 'cat; echo all of it' >got && tr -d '\\0' <got", "all of it", "reset"),
    Case("scp", "ssh.test", f"echo there and back > f; scp -O -q {SSH} f HOST:there && scp -O -q {SSH} HOST:there g && cat g", "there and back", "lost connection"),
    Case("rsync over ssh", "ssh.test", f"echo there and back > f; rsync -e 'ssh {SSH}' f HOST:there && rsync -e 'ssh {SSH}' HOST:there g && cat g",
         "there and back", "reset"),
    Case("git over ssh, clone and push", "ssh.test", GIT_SSH, "pushed", "reset"),
    Case("openssl s_client -proxy", "web.test", S_CLIENT, PAGE),
    Case("chromium http", "web.test", CHROMIUM.replace("SCHEME", "http"), PAGE, "rule_deny"),
    Case("chromium https", "web.test", CHROMIUM.replace("SCHEME", "https"), PAGE, ""),
    Case("playwright from npm", "web.test", node(NODE_PLAYWRIGHT, run=NODE_NPM), PAGE, "ERR_TUNNEL_CONNECTION_FAILED"),
    Case("puppeteer from npm", "web.test", node(NODE_PUPPETEER, run=NODE_NPM), PAGE, "ERR_TUNNEL_CONNECTION_FAILED"),
]
# TLS that begins otherwise: a server that asks for a second hello, and one that is of TLS 1.2; both also resumed.
for _host in ("again.test", "old.test"):
    _page = PAGE.replace("web", _host.split(".")[0])
    CASES += [
        Case(f"curl, {_host}", _host, "curl -fsS --cacert ca.pem https://HOST/page", _page),
        Case(f"python urllib, {_host}", _host, urllib("https://HOST/page"), _page),
        Case(f"node fetch, {_host}", _host, node_fetch("https"), _page, NODE_SAYS),
        Case(f"openssl s_client, resumed, {_host}", _host,
             S_CLIENT.replace("-quiet", "-ign_eof -sess_out session") + " >first && grep -q 'web\\|again\\|old' first && "
             + S_CLIENT.replace("-quiet", "-ign_eof -sess_in session"), _page),
    ]
if not NODE_READS_THEM:
    CASES.append(Case("node https.get, agent: false", "web.test", node_get("https", "{ agent: false }"), PAGE, NODE_SAYS))
# A program that asks the gate for what it cannot do: nothing of it may leave, and the report says why.
FTP = "tcp://web.test:21: The proxy does not carry FTP (no_ftp). Next: Fetch it by http or https."
ASTRAY = [
    Case("curl ftp", "web.test", "curl -fsS ftp://HOST/page", PAGE, FTP),
    Case("wget ftp", "web.test", "wget -qO- ftp://HOST/page", PAGE, FTP),
]
# The same programs without a variable, and others that read none: their connections are captured, and decided by name.
BARE = "unset $(env | sed -n 's/=.*//p' | grep -iE 'proxy|^(JAVA_TOOL|NODE)_OPTIONS$|^MAVEN_OPTS$')\n"
NODE_WS_BARE = NODE_WS.replace(", { agent }", ", { ca: require('fs').readFileSync('ca.pem') }").replace(
    "const agent = new (require('https-proxy-agent'))(process.env.HTTPS_PROXY);\n", "")
PYTHON_SOCKET = python("import socket\ns = socket.create_connection(('HOST', 7000), 10)\ns.sendall(b'said and heard')\nprint(s.recv(100).decode())")
PYTHON_STREAMS = python("import asyncio\nasync def main():\n    reader, writer = await asyncio.open_connection('HOST', 7000)\n"
                        "    writer.write(b'said and heard')\n    print((await reader.readexactly(14)).decode())\nasyncio.run(main())")
NODE_NET = f"""const s = require('net').connect(7000, 'HOST', () => s.write('said and heard'));
s.on('error', {NODE_FAILS}).on('data', (text) => {{ console.log(text.toString()); s.end(); }}).on('close', () => process.exit(s.bytesRead ? 0 : 1));"""
GO_NET = """export GO111MODULE=off CGO_ENABLED=0
cat > t.go <<'END'
package main

import (
	"fmt"
	"net"
	"os"
)

func main() {
	c, err := net.Dial("tcp", "HOST:7000")
	if err == nil {
		_, err = c.Write([]byte("said and heard"))
	}
	b := make([]byte, 14)
	if err == nil {
		_, err = c.Read(b)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(string(b))
}
END
go build -o t t.go && ./t"""
STATIC_C = """
cat > t.c <<'END'
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

int main(void)
{
	struct addrinfo want = { .ai_socktype = SOCK_STREAM }, *found;
	char text[15] = { 0 };

	if (getaddrinfo("HOST", "7000", &want, &found) != 0)
		return 1;
	int s = socket(found->ai_family, SOCK_STREAM, 0);
	if (connect(s, found->ai_addr, found->ai_addrlen) < 0 || write(s, "said and heard", 14) != 14 || read(s, text, 14) != 14)
		return 2;
	return puts(text) < 0;
}
END
cc -static -w -o t t.c 2>/dev/null && ./t"""
POSTGRES = "psql -h HOST -U t -d postgres -At -c \"select 'said and ' || 'heard'\""
REDIS = "redis-cli -h HOST set k 'said and heard' && redis-cli -h HOST get k"
BASH_TCP = "exec 3<>/dev/tcp/HOST/7000 && echo said and heard >&3 && read -r -t 10 line <&3 && echo \"$line\""
AGAIN = ("curl http", "curl https", "curl upload", "wget https", "git over https, clone and push", "npm install", "pip install",
         "apt-get over http", "python urllib https", "python requests http", "python aiohttp https", "node fetch http", "node https.get",
         "python grpc", "chromium https", "ssh", "git over ssh, clone and push")
CAPTURED = [case for case in CASES if case.name in AGAIN] + [
    Case("python socket", "tcp.test", PYTHON_SOCKET, "said and heard"),
    Case("python streams", "tcp.test", PYTHON_STREAMS, "said and heard"),
    Case("node net", "tcp.test", node(NODE_NET), "said and heard"),
    Case("node ws", "socket.test", node(NODE_WS_BARE, run=NODE_MODULES), "said and heard"),
    Case("go, static", "tcp.test", GO_NET, "said and heard"),
    Case("c, static", "tcp.test", STATIC_C, "said and heard"),
    Case("psql", "postgres.test", POSTGRES, "said and heard"),
    Case("redis-cli", "redis.test", REDIS, "said and heard"),
    Case("bash, the address from dig", "tcp.test", f"bash -c '{BASH_TCP}'".replace("HOST", "$(dig +short HOST)"), "said and heard"),
    Case("bash", "tcp.test", f"bash -c '{BASH_TCP}'", "said and heard"),
    Case("openssl s_client", "web.test", S_CLIENT.replace(" -proxy 127.0.0.1:61128", ""), PAGE),
]
# Where a rule allows udp://dns.test:5353.
DATAGRAMS = [
    Case("dig", "dns.test", "dig +tries=1 -p 5353 @HOST said.test TXT +short", "said and heard"),
    Case("dig -6", "dns.test", "dig -6 +tries=1 -p 5353 @HOST said.test TXT +short", "said and heard"),
    Case("nslookup", "dns.test", "nslookup -retry=1 -port=5353 -type=TXT said.test HOST", "said and heard"),
]


@dataclass
class Preset:
    """A tool that works with only its preset: the machine's configuration names the host, the policy does not."""
    name: str
    host: str        # where it is configured to go
    variables: dict  # its configuration: of the caller, passed on to the command
    script: str
    prints: str
    elsewhere: str   # the script's $MORE that sends it to web.test instead


NPM_CI = """
printf '{"name": "t", "version": "1.0.0", "dependencies": {"hello": "1.0.0"}}' > package.json
cat > package-lock.json <<'END'
{"name": "t", "version": "1.0.0", "lockfileVersion": 3, "packages": {
  "": {"name": "t", "version": "1.0.0", "dependencies": {"hello": "1.0.0"}},
  "node_modules/hello": {"version": "1.0.0"}}}
END
export npm_config_update_notifier=false npm_config_cafile=$PWD/ca.pem npm_config_fetch_retries=0
npm ci --no-audit --no-fund --loglevel=error --cache ./cache $MORE >&2 && node -p "require('hello')"
"""
PIP_PRESET = f"""
{PYTHON} -m pip install -q --disable-pip-version-check --no-cache-dir --retries 0 --cert ca.pem --target out $MORE hello &&
PYTHONPATH=out {PYTHON} -c 'import hello; print(hello.words)'
"""
PRESETS = [
    Preset("npm", "npm.test", {"npm_config_registry": "https://npm.test/"}, NPM_CI, "hello from the registry",
           "--registry https://web.test/"),
    Preset("npm", "mirror.test", {"npm_config_registry": "https://mirror.test:8443/"}, NPM_CI, "hello from the registry",
           "--registry https://web.test/"),
    Preset("pip", "pip.test", {"PIP_INDEX_URL": "https://pip.test/simple"}, PIP_PRESET,
           "hello from the index", "--index-url https://web.test/simple"),
]
