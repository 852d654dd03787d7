"""PostgreSQL servers that a story starts, stops, kills, copies and promotes, a pooler before one of
them, and a connection to one that can stop forwarding bytes in one direction."""

import contextlib
import functools
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

from story import PATIENCE, WITH_POSTGRES, wait_until


@functools.cache
def programs():
    """Folder of the server's programs."""
    return subprocess.run([WITH_POSTGRES, "--programs"], check=True, stdout=subprocess.PIPE,
                          text=True).stdout.strip()


def identity():
    """Arguments of `subprocess` for another user, because the server refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    names = {each.pw_name for each in pwd.getpwall()}
    user = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def free_port():
    """A port that nothing listens on and that is outside the range for outgoing connections,
    because the server starts to listen only later."""
    for _ in range(100):
        port = 20_000 + secrets.randbelow(10_000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise OSError("no port from 20000 to 29999 is free")


class Server:
    """A server with its own data folder, which survives restarts of the server. It listens on a
    socket in its folder, and on a loopback port that requires the password."""

    password = secrets.token_hex(16)
    # Data written by a killed process remains with the operating system, so no story needs a sync.
    usual = {"fsync": "off", "max_connections": 40, "wal_keep_size": "64MB"}

    def __init__(self, place=None, **settings):
        """`place`: the disk to use, if it matters."""
        self.identity = identity()
        self.place = tempfile.mkdtemp(prefix="lockstep-story-", dir=place)
        self.data, self.log = [os.path.join(self.place, name) for name in ("data", "log")]
        self.own(self.place)
        self.settings = {**self.usual, **settings}
        self.process = None
        self.port = free_port()

    def own(self, path):
        if self.identity:
            os.chown(path, self.identity["user"], self.identity["group"])

    # MARK: setup

    def make(self, *words):
        """Creates and starts a new cluster."""
        secret = os.path.join(self.place, "password")
        with open(secret, "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(self.password)
        self.own(secret)
        self.tool(
            "initdb", "--no-sync", "--encoding=UTF8", "--locale=C", "--username=postgres",
            "--auth-local=trust", "--auth-host=scram-sha-256", f"--pwfile={secret}",
            "--wal-segsize=1", "--data", self.data, *words)
        return self.start()

    def follow(self, primary):
        """A streaming copy of another server: it receives each change as it is written."""
        self.tool("pg_basebackup", "--checkpoint=fast", "--no-sync", "--pgdata", self.data,
                  "--write-recovery-conf", "--dbname", f"host={primary.place} "
                  f"port={primary.port} user=postgres application_name=standby")
        self.start()
        wait_until(lambda: primary.query("SELECT state FROM pg_stat_replication") == "streaming",
                   "the standby to follow")
        return self

    def tool(self, name, *words):
        done = subprocess.run(
            [os.path.join(programs(), name), *words], stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd="/", timeout=PATIENCE,
            env={**os.environ, "LC_ALL": "C"}, **self.identity)
        assert done.returncode == 0, f"{name}: {done.stdout}"
        return done.stdout.strip()

    # MARK: addresses

    @property
    def url(self):
        """URL with the socket, which needs no password."""
        folder = self.place.replace("/", "%2F")
        return f"postgres://postgres@/postgres?host={folder}&port={self.port}"

    @property
    def host(self):
        """TCP address, as in a URL; `environment` has the password."""
        return f"127.0.0.1:{self.port}"

    environment = {"PGPASSWORD": password}

    def psql(self, question, user="postgres", at=None):
        """`at`: a pooler, in place of the server itself."""
        place = at or self
        return subprocess.run(
            [os.path.join(programs(), "psql"), "--no-psqlrc", "--tuples-only", "--no-align",
             "--quiet", "--host", place.place, "--port", str(place.port), "--username", user,
             "--dbname", "postgres", "--command", question], stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=PATIENCE)

    def query(self, question, at=None):
        done = self.psql(question, at=at)
        assert done.returncode == 0, (question, done.stderr)
        return done.stdout.strip()

    def log_text(self):
        with open(self.log, errors="replace") as log:
            return log.read()

    # MARK: faults

    @property
    def runs(self):
        return self.process is not None and self.process.poll() is None

    def launch(self):
        settings = {**self.settings, "unix_socket_directories": self.place, "port": self.port,
                    "listen_addresses": "127.0.0.1"}
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        command = [os.path.join(programs(), "postgres"), "-D", self.data]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                command + words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
                **self.identity)

    def start(self):
        self.launch()

        def answers():
            assert self.runs, f"the server ended by itself: {self.log_text()}"
            return self.psql("SELECT 1").returncode == 0

        wait_until(answers, "the server to answer")
        return self

    def stop(self):
        """Like `pg_ctl stop --mode=fast`."""
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(timeout=PATIENCE) == 0, self.log_text()

    def kill(self):
        """kill -9 of all its processes."""
        if not self.runs:
            return
        # Stops the postmaster first, so that it starts no further process.
        self.process.send_signal(signal.SIGSTOP)
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as file:
            others = [int(word) for word in file.read().split()]
        for number in [*others, self.process.pid]:
            try:
                os.kill(number, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()

    def fall_behind(self, primary):
        """Ends to follow another server, once all is received that it has now."""
        where = primary.query("SELECT pg_current_wal_lsn()")
        wait_until(
            lambda: self.query(f"SELECT pg_last_wal_replay_lsn() >= '{where}'") == "t",
            "the standby to have it")
        self.query("ALTER SYSTEM SET primary_conninfo = ''")
        self.query("SELECT pg_reload_conf()")
        wait_until(lambda: primary.query("SELECT count(*) FROM pg_stat_replication") == "0",
                   "the standby to be cut off")

    def promote(self):
        self.tool("pg_ctl", "promote", "--wait", "--pgdata", self.data)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        shutil.rmtree(self.place, ignore_errors=True)


class Pooler:
    """PgBouncer in transaction mode before a server, with a socket in a folder of its own."""

    def __init__(self, server):
        self.server, self.process = server, None
        self.place = tempfile.mkdtemp(prefix="lockstep-story-")
        self.settings, self.log = [os.path.join(self.place, name) for name in ("ini", "log")]
        server.own(self.place)
        self.port = free_port()

    def configure(self):
        users = os.path.join(self.place, "users")
        with open(users, "w") as file:
            file.write('"postgres" ""\n')
        with open(self.settings, "w") as file:
            file.write(f"""[databases]
* = host={self.server.place} port={self.server.port}
[pgbouncer]
listen_addr =
listen_port = {self.port}
unix_socket_dir = {self.place}
auth_type = trust
auth_file = {users}
pool_mode = transaction
server_login_retry = 1
{"max_prepared_statements = 500" if self.version >= (1, 21) else ""}
""")

    @functools.cached_property
    def program(self):
        # Debian installs it in a folder that is only on an administrator's PATH.
        return shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")

    @functools.cached_property
    def version(self):
        said = subprocess.run([self.program, "--version"], check=True, stdout=subprocess.PIPE,
                              text=True).stdout
        return tuple(int(part) for part in said.split()[1].split("."))

    def start(self):
        self.configure()
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [self.program, self.settings], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
                **self.server.identity)
        socket_path = os.path.join(self.place, f".s.PGSQL.{self.port}")

        def listens():
            assert self.process.poll() is None, "PgBouncer ended by itself"
            return os.path.exists(socket_path)

        wait_until(listens, "PgBouncer to listen")
        return self

    def lead_to(self, server):
        """Connects to another server from now on. Its clients stay connected."""
        self.server = server
        self.configure()
        self.process.send_signal(signal.SIGHUP)

    @property
    def url(self):
        folder = self.place.replace("/", "%2F")
        return f"postgres://postgres@/postgres?host={folder}&port={self.port}"

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.kill()
        shutil.rmtree(self.place, ignore_errors=True)


class FaultyLink:
    """Forwards bytes between relays and their server in both directions, until one direction is
    cut. A cut holds the bytes back without closing a connection or reporting an error; after `heal`
    they arrive."""

    def __init__(self, port):
        self.to, self.sockets = port, []
        self.carries = {"up": threading.Event(), "down": threading.Event()}
        self.heal()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def cut(self, way):
        self.carries[way].clear()

    def heal(self):
        for each in self.carries.values():
            each.set()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self.to), timeout=PATIENCE)
            far.settimeout(None)
            self.sockets += [near, far]
            for way, source, target in [("up", near, far), ("down", far, near)]:
                threading.Thread(
                    target=self.carry, args=(self.carries[way], source, target),
                    daemon=True).start()

    def carry(self, carries, source, target):
        try:
            while True:
                data = source.recv(65536)
                # The end of the stream is held back as well.
                carries.wait()
                if not data:
                    break
                target.sendall(data)
        except OSError:
            pass
        for each, way in [(target, socket.SHUT_WR), (source, socket.SHUT_RD)]:
            try:
                each.shutdown(way)
            except OSError:
                pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.heal()
        self.listener.shutdown(socket.SHUT_RDWR)
        for each in [self.listener, *self.sockets]:
            each.close()
