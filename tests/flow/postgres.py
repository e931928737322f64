"""A PostgreSQL server of the test's own, in a folder of its own. It is another user than root, which its server refuses to be."""
import pathlib
import signal
import subprocess

from world import until

PROGRAMS = "/usr/lib/postgresql"
OTHER = ["unshare", "--user", "--map-user=1000", "--map-group=1000"]


class Postgres:
    def __init__(self, folder, address, port=5432, users="127.0.0.1/32"):
        self.data, self.address, self.port = folder, address, port
        self.programs = max(pathlib.Path(PROGRAMS).glob("*/bin"))
        subprocess.run([*OTHER, self.programs / "initdb", "-D", folder, "-U", "t", "-A", "trust", "--no-sync", "--no-locale", "-E", "UTF8"],
                       check=True, stdout=subprocess.DEVNULL)
        with open(folder / "pg_hba.conf", "a") as rules:
            rules.write(f"host all all {users} trust\n")

    def start(self):
        log = self.data / "log"
        with open(log, "wb") as out:
            self.process = subprocess.Popen([*OTHER, self.programs / "postgres", "-D", self.data, "-h", self.address, "-p", str(self.port),
                                             "-k", "", "-F"], stdout=out, stderr=out)
        until(lambda: b"ready to accept connections" in log.read_bytes(), 120, lambda: log.read_text())

    def stop(self):
        self.process.send_signal(signal.SIGINT)  # without waiting for its clients
        self.process.wait(120)

    def query(self, statement, database="postgres"):
        """The lines of the answer."""
        done = subprocess.run(["/usr/bin/psql", "-XAtq", "-h", self.address, "-p", str(self.port), "-U", "t", "-d", database, "-v",
                               "ON_ERROR_STOP=1", "-c", statement], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done
        return done.stdout.splitlines()
