"""fixtures: what the clients fetch: a git repository over https, a package registry for npm, an index for pip and an
archive for apt, each made at test time and served locally."""
import base64
import gzip
import hashlib
import io
import json
import os
import subprocess
import tarfile
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


def make_git(folder):
    """A bare repository @folder/repo.git with one commit, that takes pushes."""
    def git(*words):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words], check=True, cwd=folder,
                       capture_output=True)

    git("init", "-q", "-b", "main", "seed")
    (folder / "seed/file").write_text("first light\n")
    git("-C", "seed", "add", "file")
    git("-C", "seed", "commit", "-q", "-m", "first light")
    git("clone", "-q", "--bare", "seed", "repo.git")
    git("-C", "repo.git", "config", "http.receivepack", "true")


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


def npm_files(host):
    """A package "hello" 1.0.0 whose module says where it came from."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, text in (("package.json", json.dumps({"name": "hello", "version": "1.0.0", "main": "i.js"})),
                           ("i.js", "module.exports = 'hello from the registry'\n")):
            info = tarfile.TarInfo("package/" + name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    data = packed.getvalue()
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
