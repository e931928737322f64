"""cases: one entry for each way a real program goes out. The script runs in the gate, in an empty folder that holds the
test's CA as ca.pem; HOST stands for a host that the policy allows and, a second time, for denied.test."""
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
NPM = """
export HOME=$PWD npm_config_update_notifier=false npm_config_cafile=$PWD/ca.pem npm_config_fetch_retries=0
npm install --no-audit --no-fund --loglevel=error --cache ./cache --registry https://HOST/ hello >&2 && node -p "require('hello')"
"""
PIP = f"""
export HOME=$PWD PIP_CONFIG_FILE=/dev/null
{PYTHON} -m pip install -q --disable-pip-version-check --no-cache-dir --retries 0 --index-url https://HOST/simple --cert ca.pem --target out hello &&
PYTHONPATH=out {PYTHON} -c 'import hello; print(hello.words)'
"""


def python(text):
    return f'{PYTHON} - <<"END"\n{text}\nEND\n'


def urllib(url):
    return python("import ssl, urllib.request\n"
                  "context = ssl.create_default_context(cafile='ca.pem')\n"
                  f"print(urllib.request.urlopen('{url}', context=context).read().decode())")


def requests(url, more=""):
    return python(f"import requests\nanswer = requests.get('{url}', verify='ca.pem'{more})\n"
                  "answer.raise_for_status()\nprint(answer.text)")


PYSOCKS = python("import socks\ns = socks.socksocket()\ns.set_proxy(socks.SOCKS5, '127.0.0.1', 61080, rdns=True)\n"
                 "s.settimeout(10)\ns.connect(('HOST', 7000))\ns.sendall(b'said and heard')\nprint(s.recv(100).decode())")
NODE_FETCH = """node -e "fetch('http://HOST/page').then(a => a.ok ? a.text() : Promise.reject(a.status)).then(console.log, e => { console.error(e); process.exit(1) })" """
S_CLIENT = """printf 'GET /page HTTP/1.0\\r\\nHost: HOST\\r\\n\\r\\n' | openssl s_client -quiet -verify_return_error -CAfile ca.pem -proxy 127.0.0.1:61128 -connect HOST:443 -servername HOST"""


@dataclass
class Case:
    name: str
    host: str    # the allowed one
    script: str
    prints: str  # what arrives
    denied: str = "403"  # what the client shows of a denial, standard output and error; "" where it shows nothing


PAGE = "web GET /page"
CASES = [
    Case("curl http", "web.test", "curl -fsS http://HOST/page", PAGE),
    Case("curl http, reason in the body", "web.test", "curl -sS --fail-with-body http://HOST/page", PAGE, "rule_deny"),
    Case("curl https", "web.test", "curl -fsS --cacert ca.pem https://HOST/page", PAGE),
    Case("curl https, http/2 offered", "web.test", "curl -fsS --http2 --cacert ca.pem https://HOST/page", PAGE),
    Case("curl socks5h http", "web.test", "curl -fsS -x socks5h://127.0.0.1:61080 http://HOST/page", PAGE, "(2)"),
    Case("curl socks5h https", "web.test", "curl -fsS --cacert ca.pem -x socks5h://127.0.0.1:61080 https://HOST/page",
         PAGE, "(2)"),
    Case("curl by ALL_PROXY alone", "web.test",
         "unset http_proxy HTTP_PROXY https_proxy HTTPS_PROXY; curl -fsS --cacert ca.pem https://HOST/page", PAGE, "(2)"),
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
    Case("PySocks, plain tcp", "tcp.test", PYSOCKS, "said and heard", "0x02"),
    Case("node https through a tunnel", "web.test", f"cat > t.js <<'END'\n{NODE_TUNNEL}\nEND\nnode t.js", PAGE),
    Case("openssl s_client -proxy", "web.test", S_CLIENT, PAGE),
]
FETCH = Case("node fetch", "web.test", NODE_FETCH, PAGE, "")
