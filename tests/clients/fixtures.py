"""fixtures: what the clients fetch: a git repository over https, a package registry for npm, an index for pip and an
archive for apt, each made at test time and served locally."""
import base64
import gzip
import hashlib
import http.server
import io
import json
import os
import socketserver
import subprocess
import tarfile
import threading
import zipfile

import servers


class GitPage(servers.Page):
    """git's own CGI program behind a web server."""

    def answer(self):
        body = self.read_body() if self.command == "POST" else b""
        path, _, query = self.path.partition("?")
        environment = {**os.environ, "GIT_PROJECT_ROOT": self.server.root, "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
                       "QUERY_STRING": query, "REQUEST_METHOD": self.command, "REMOTE_USER": "test",
                       "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)),
                       "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                       "GIT_PROTOCOL": self.headers.get("Git-Protocol", "")}
        out = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True).stdout
        head, _, content = out.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = answer


def make_git(folder, name, files):
    """A bare repository @folder/@name.git with one commit of @files: {path: text}."""
    def git(*words):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words], check=True, cwd=folder,
                       capture_output=True)

    git("init", "-q", "-b", "main", name)
    for path, text in files.items():
        (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / name / path).write_text(text)
    git("-C", name, "add", ".")
    git("-C", name, "commit", "-q", "-m", "first light")
    git("clone", "-q", "--bare", name, f"{name}.git")


def make_git_that_takes_pushes(folder):
    make_git(folder, "repo", {"file": "first light\n"})
    subprocess.run(["git", "-C", str(folder / "repo.git"), "config", "http.receivepack", "true"], check=True)


class FilesPage(servers.Page):
    """Answers from a dictionary: path -> (type, bytes)."""

    def answer(self):
        found = self.server.files.get(self.path.split("?")[0].rstrip("/") or "/")
        kind, body = found or ("text/plain", b"no such file\n")
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = answer


class CratesPage(GitPage, FilesPage):
    """The index of a registry of crates, which is a git repository, and its files."""

    def answer(self):
        (GitPage if self.path.startswith("/index.git/") else FilesPage).answer(self)

    do_GET = do_HEAD = do_POST = answer


class ModelPage(servers.Page):
    """A stand-in for the interfaces of two makers of models: the reply is one line."""

    def answer(self):
        asked = json.loads(self.read_body())
        text = f"{self.headers.get('x-api-key') or self.headers['Authorization']} asked {asked['model']}"
        if self.path == "/v1/chat/completions":
            reply = {"id": "c1", "object": "chat.completion", "created": 1, "model": asked["model"],
                     "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}]}
        else:
            reply = {"id": "m1", "type": "message", "role": "assistant", "model": asked["model"], "stop_reason": "end_turn",
                     "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}, "content": [{"type": "text", "text": text}]}
        body = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = answer


class SocketPage(servers.Page):
    """A WebSocket (RFC 6455) that sends the first message, a short one, back."""

    def answer(self):
        key = self.headers.get("Sec-WebSocket-Key", "") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        self.wfile.flush()
        length = self.rfile.read(2)[1] & 127
        mask = self.rfile.read(4)
        text = bytes(byte ^ mask[at % 4] for at, byte in enumerate(self.rfile.read(length)))
        self.wfile.write(bytes([0x81, length]) + text)
        self.wfile.flush()
        self.rfile.read()
        self.close_connection = True

    do_GET = answer


def packed_tar(files):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    return packed.getvalue()


def go_files():
    """A module "hello.test/hello" v1.0.0 as a module proxy serves it."""
    module, packed = "module hello.test/hello\n\ngo 1.19\n", io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("hello.test/hello@v1.0.0/go.mod", module)
        archive.writestr("hello.test/hello@v1.0.0/hello.go", 'package hello\n\nconst Words = "hello from the modules\\n"\n')
    info = json.dumps({"Version": "v1.0.0", "Time": "2026-01-01T00:00:00Z"})
    base = "/hello.test/hello/@v/"
    return {f"{base}list": ("text/plain", b"v1.0.0\n"), f"{base}v1.0.0.info": ("application/json", info.encode()),
            f"{base}v1.0.0.mod": ("text/plain", module.encode()), f"{base}v1.0.0.zip": ("application/zip", packed.getvalue())}


def cargo_files(folder, host):
    """A crate "hello" 1.0.0, and its index as @folder/index.git."""
    data = packed_tar({"hello-1.0.0/Cargo.toml": '[package]\nname = "hello"\nversion = "1.0.0"\nedition = "2021"\n',
                       "hello-1.0.0/src/lib.rs": "// hello from the crates\n"})
    line = json.dumps({"name": "hello", "vers": "1.0.0", "deps": [], "cksum": hashlib.sha256(data).hexdigest(), "features": {}, "yanked": False})
    make_git(folder, "index", {"config.json": json.dumps({"dl": f"https://{host}/crates"}), "he/ll/hello": line + "\n"})
    return {"/crates/hello/1.0.0/download": ("application/octet-stream", data)}


def maven_files():
    """A parent project "test:hello:1.0"."""
    project = (b"<project><modelVersion>4.0.0</modelVersion><groupId>test</groupId><artifactId>hello</artifactId>"
               b"<version>1.0</version><packaging>pom</packaging></project>")
    path = "/maven/test/hello/1.0/hello-1.0.pom"
    return {path: ("text/xml", project), f"{path}.sha1": ("text/plain", hashlib.sha1(project).hexdigest().encode())}


def npm_files(host):
    """A package "hello" 1.0.0 whose module says where it came from."""
    data = packed_tar({"package/package.json": json.dumps({"name": "hello", "version": "1.0.0", "main": "i.js"}),
                       "package/i.js": "module.exports = 'hello from the registry'\n"})
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
    version = {"name": "hello", "version": "1.0.0", "main": "i.js",
               "dist": {"tarball": f"https://{host}/hello/-/hello-1.0.0.tgz", "integrity": integrity,
                        "shasum": hashlib.sha1(data).hexdigest()}}
    about = {"name": "hello", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}
    return {"/hello": ("application/json", json.dumps(about).encode()),
            "/hello/-/hello-1.0.0.tgz": ("application/octet-stream", data)}


def pip_files():
    """A wheel "hello" 1.0 on a simple index (PEP 503)."""
    wheel = io.BytesIO()
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("hello.py", "words = 'hello from the index'\n")
        archive.writestr("hello-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: hello\nVersion: 1.0\n")
        archive.writestr("hello-1.0.dist-info/WHEEL",
                         "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("hello-1.0.dist-info/RECORD",
                         "hello.py,,\nhello-1.0.dist-info/METADATA,,\nhello-1.0.dist-info/WHEEL,,\n"
                         "hello-1.0.dist-info/RECORD,,\n")
    data = wheel.getvalue()
    name = "hello-1.0-py3-none-any.whl"
    page = f'<a href="/files/{name}#sha256={hashlib.sha256(data).hexdigest()}">{name}</a>'
    return {"/simple/hello": ("text/html", page.encode()), f"/files/{name}": ("application/octet-stream", data)}


def apt_files(folder):
    """An archive with one package, "sallyport-hello", in suite "test"."""
    tree = folder / "deb/DEBIAN"
    tree.mkdir(parents=True)
    (folder / "deb/usr/share").mkdir(parents=True)
    (folder / "deb/usr/share/hello").write_text("hello from the archive\n")
    control = ("Package: sallyport-hello\nVersion: 1.0\nArchitecture: all\nMaintainer: t <t@example.org>\n"
               "Description: a test\n")
    (tree / "control").write_text(control)
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", str(folder / "deb"), str(folder / "hello.deb")], check=True,
                   capture_output=True)
    data = (folder / "hello.deb").read_bytes()
    index = (control + f"Filename: pool/hello.deb\nSize: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n\n").encode()
    packed = gzip.compress(index)
    release = "Suite: test\nCodename: test\nArchitectures: amd64 arm64 all\nComponents: main\nSHA256:\n"
    base, files = "/dists/test", {}
    for machine in ("amd64", "arm64", "all"):
        for suffix, content in (("", index), (".gz", packed)):
            where = f"main/binary-{machine}/Packages{suffix}"
            release += f" {hashlib.sha256(content).hexdigest()} {len(content)} {where}\n"
            files[f"{base}/{where}"] = ("application/octet-stream", content)
    files[f"{base}/Release"] = ("text/plain", release.encode())
    files["/pool/hello.deb"] = ("application/octet-stream", data)
    return files


class DockerPage(http.server.BaseHTTPRequestHandler):
    """What the service of docker answers to "version"."""
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.asked.append(self.path)
        text = json.dumps({"Version": "20.10", "ApiVersion": "1.41", "MinAPIVersion": "1.12", "Os": "the system of the service", "Arch": "a"}).encode()
        self.send_response(200)
        self.send_header("Api-Version", "1.41")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(text)

    do_HEAD = do_GET

    def log_message(self, *words):
        pass

    def address_string(self):
        return "local"


def serve_docker(path):
    """A stand-in for the service of docker at the Unix socket @path; what it was asked is in its .asked."""
    server = socketserver.ThreadingUnixStreamServer(str(path), DockerPage)
    server.daemon_threads, server.asked = True, []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
