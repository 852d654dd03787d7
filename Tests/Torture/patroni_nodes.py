"""Three machines with PostgreSQL, Patroni and etcd each, on one computer: every machine has a
network, processes and mounts of its own (Linux namespaces), which end with this process.

All are in one network, 10.78.0.0/24, to which the calling process belongs as 10.78.0.1.
"""

import ctypes
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from database import NAME, OWNER, USER, is_alive, parent, programs, running, send, unprivileged
from namespaces import libc
from processes import RunError, wait_until
from sessions import Session

HERE = os.path.dirname(os.path.abspath(__file__))
COUNT = 3
NETWORK, OWN_ADDRESS, BRIDGE = "10.78.0", "10.78.0.1", "lockstep0"
# Ports by the program that listens there.
PORTS = {"postgres": (5432,), "patroni": (8008,), "etcd": (2379, 2380)}
SCOPE = "lockstep"
READY_SECONDS = 240
PR_SET_PDEATHSIG = 1

# Patroni's rule: loop_wait + 2 * retry_timeout <= ttl. A leader that ends is replaced after `ttl`
# seconds at the latest.
TTL, LOOP_WAIT, RETRY_TIMEOUT = 12, 2, 4
# Seconds in which a PostgreSQL that has crashed may start again as the leader.
START_TIMEOUT = 8
SETTINGS = {
    "fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "wal_log_hints": "on",
    "max_connections": 80, "shared_buffers": "32MB", "checkpoint_timeout": "30s",
    "recovery_init_sync_method": "syncfs", "wal_keep_size": "256MB", "max_wal_size": "256MB",
    "wal_receiver_timeout": "5s", "wal_sender_timeout": "5s", "log_line_prefix": "%m [%p] %q%a ",
    "log_timezone": "UTC",
}


def missing():
    """What this computer lacks for the nodes, as a sentence with the next step; None if
    nothing."""
    if os.geteuid() != 0:
        return "networks and processes of their own need root; run it with sudo"
    tools = {"patroni": "patroni", "patronictl": "patroni", "etcd": "etcd-server",
             "unshare": "util-linux", "nsenter": "util-linux", "ip": "iproute2",
             "iptables": "iptables"}
    packages = {package for program, package in tools.items() if not found(program)}
    if not programs():
        packages.add("postgresql")
    if packages:
        return (f"not installed: {', '.join(sorted(packages))}; "
                "scripts/libraries --cluster installs them")
    return None


def interface_of_etcd():
    """Patroni before 3.0.3 overwrites the key of another leader in version 3 of the interface,
    after a time without etcd: two nodes then lead (its pull request 2689)."""
    version = [int(number) for number in re.findall(r"\d+", run("patroni", "--version"))]
    return "etcd3" if version >= [3, 0, 3] else "etcd"


def found(program):
    return shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin:/usr/local/sbin")


def run(*words):
    done = subprocess.run([found(words[0]) or words[0], *words[1:]], capture_output=True, text=True)
    if done.returncode != 0:
        raise RunError(f"{' '.join(words)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def end_with_parent():
    libc.prctl(PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))


class Node:
    """A machine. Its programs are named as in PORTS."""

    def __init__(self, number, folder, identity):
        self.name, self.address = f"n{number}", f"{NETWORK}.{10 + number}"
        self.folder = os.path.join(folder, self.name)
        self.identity, self.number = identity, number
        self.machine, self.init, self.namespace = None, 0, ""

    # MARK: setup

    def make(self):
        """Starts the machine, without any program yet."""
        for name in ("", "etcd"):
            path = os.path.join(self.folder, name)
            os.mkdir(path, 0o700)
            os.chown(path, self.identity["user"], self.identity["group"])
        self.machine = subprocess.Popen(
            [found("unshare"), "--net", "--pid", "--mount", "--fork", "--kill-child",
             "--mount-proc", sys.executable, os.path.join(HERE, "network_node.py"),
             os.path.join(self.folder, "etcd")],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
            preexec_fn=end_with_parent)
        if self.machine.stdout.readline() != "ready\n":
            raise RunError(f"{self.name}: this computer permits no namespaces of its own")
        self.init = next(each for each in running() if parent(each) == self.machine.pid)
        self.namespace = os.readlink(f"/proc/{self.init}/ns/pid")
        own = f"lockstep{self.number}"
        run("ip", "link", "add", own, "type", "veth", "peer", "name", "eth0", "netns",
            str(self.init))
        run("ip", "link", "set", own, "master", BRIDGE, "up")
        self.run("ip", "address", "add", f"{self.address}/24", "dev", "eth0")
        self.run("ip", "link", "set", "eth0", "up")

    def enter(self, *words):
        """The command that runs these words on this machine."""
        return [found("nsenter"), "--target", str(self.init), "--net", "--pid", "--mount", *words]

    def run(self, *words):
        return run(*self.enter(found(words[0]), *words[1:]))

    def launch(self, program, *words):
        """Starts a program as the database's user. Its output goes to a file of its name."""
        user, group = self.identity["user"], self.identity["group"]
        with open(os.path.join(self.folder, f"{program}.log"), "ab") as log:
            # The machine's first process becomes its parent: nsenter would stop with it.
            subprocess.run(
                self.enter("--setuid", str(user), "--setgid", str(group), "setsid", "--fork",
                           found(program), *words),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", check=True,
                env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": self.folder})

    def start_etcd(self, nodes):
        if self.processes("etcd"):
            return
        peer, client = (f"http://{self.address}:{port}" for port in (2380, 2379))
        self.launch(
            "etcd", "--name", self.name, "--data-dir", os.path.join(self.folder, "etcd", "data"),
            "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
            "--listen-client-urls", client, "--advertise-client-urls", client,
            "--initial-cluster", ",".join(f"{each.name}=http://{each.address}:2380"
                                          for each in nodes),
            "--initial-cluster-token", SCOPE, "--log-level", "warn",
            "--enable-v2",
            # Slow enough for a busy computer.
            "--heartbeat-interval", "200", "--election-timeout", "2000")

    def start_patroni(self):
        if not self.processes("patroni"):
            self.launch("patroni", self.settings)

    @property
    def settings(self):
        return os.path.join(self.folder, "patroni.yml")

    def write_settings(self, nodes, is_synchronous):
        """Patroni's settings; JSON is a subset of YAML."""
        # Two nodes that are promoted one after the other must not begin the same timeline: the
        # histories of timelines are archived, in one place.
        archive = os.path.join(os.path.dirname(self.folder), "archive")
        archiving = {
            "archive_mode": "on",
            "archive_command": f"case %f in *.history) cp %p {archive}/%f;; esac"}
        trusted = ["local all all trust", f"host all all {NETWORK}.0/24 trust",
                   f"host replication all {NETWORK}.0/24 trust"]
        shared = {
            "ttl": TTL, "loop_wait": LOOP_WAIT, "retry_timeout": RETRY_TIMEOUT,
            "master_start_timeout": START_TIMEOUT, "maximum_lag_on_failover": 256 << 20,
            # Not strict, a leader commits alone if it has no replica, and for a second after its
            # Patroni was started again: acknowledged saves would be lost if another node led.
            "synchronous_mode": is_synchronous, "synchronous_mode_strict": is_synchronous,
            "postgresql": {"use_pg_rewind": True, "use_slots": True,
                           "parameters": {**SETTINGS, **archiving},
                           "recovery_conf": {"restore_command": f"cp {archive}/%f %p"}}}
        settings = {
            "scope": SCOPE, "name": self.name,
            "restapi": {"listen": f"{self.address}:8008",
                        "connect_address": f"{self.address}:8008"},
            interface_of_etcd(): {"hosts": [f"{each.address}:2379" for each in nodes]},
            "bootstrap": {"dcs": shared, "initdb": [{"encoding": "UTF8"}, {"locale": "C"}]},
            "postgresql": {
                "listen": f"{self.address}:5432", "connect_address": f"{self.address}:5432",
                "data_dir": os.path.join(self.folder, "data"), "bin_dir": programs(),
                "pgpass": os.path.join(self.folder, "pgpass"), "pg_hba": trusted,
                "authentication": {
                    "superuser": {"username": OWNER}, "replication": {"username": OWNER}},
                "basebackup": [{"checkpoint": "fast"}],
                # A former leader becomes a replica by itself, whatever it had written alone.
                "remove_data_directory_on_rewind_failure": True,
                "remove_data_directory_on_diverged_timelines": True,
                "parameters": {"unix_socket_directories": self.folder}}}
        with open(self.settings, "w") as file:
            json.dump(settings, file, indent=1)

    # MARK: state

    def processes(self, program):
        """The running processes of a program on this machine."""
        return [each for each in running() if is_program(each, program, self.namespace)]

    def session(self, name=NAME, user=OWNER, seconds=5):
        """A session by the Unix socket, which no fault of a network concerns."""
        return Session(os.path.join(self.folder, ".s.PGSQL.5432"), user, name, seconds)

    def query(self, question, name=NAME, seconds=5):
        with self.session(name, seconds=seconds) as session:
            return session.query(question)

    def timeline(self):
        """Timeline that this node writes; None if it is not a leader, or does not answer."""
        try:
            rows = self.query(
                "SELECT ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint"
                " WHERE NOT pg_is_in_recovery()", "postgres")
        except OSError:
            return None
        return int(rows[0][0]) if rows else None

    def promotions(self):
        """Number of times that this node became a leader, also if nobody noticed."""
        return self.log_text("patroni").count("selected new timeline ID")

    def log_text(self, program):
        try:
            with open(os.path.join(self.folder, f"{program}.log"), errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    # MARK: faults

    def signal(self, program, what):
        """Sends a signal to all processes of a program; returns their number."""
        found_ones = self.processes(program)
        for each in found_ones:
            send(each, what)
        return len(found_ones)

    def kill(self, program):
        # The parent does not replace a child that has ended, if it is stopped.
        self.signal(program, signal.SIGSTOP)
        count = self.signal(program, signal.SIGKILL)
        wait_until(lambda: not self.processes(program),
                   f"{program} of {self.name} does not end", 30)
        return count

    @staticmethod
    def rule(address, program):
        """Rule that drops this program's traffic from an address, requests and answers, without
        any error to the sender."""
        ports = ",".join(str(port) for port in PORTS[program])
        return ["INPUT", "-s", address, "-p", "tcp", "-m", "multiport", "--ports", ports,
                "-j", "DROP"]

    def heal(self):
        self.run("iptables", "-w", "-F", "INPUT")

    def end(self):
        if self.machine:
            self.machine.kill()
            self.machine.wait()
            wait_until(lambda: not is_alive(self.init), f"{self.name} does not end", 30)


def is_program(number, program, namespace):
    try:
        if os.readlink(f"/proc/{number}/ns/pid") != namespace:
            return False
        with open(f"/proc/{number}/comm") as file:
            return file.read().strip() == program and is_alive(number)
    except OSError:
        return False


class Nodes:
    """The three machines. The calling process must have a network of its own
    (`namespaces.isolate_process`)."""

    def __init__(self, folder, is_synchronous=True):
        self.folder = os.path.join(folder, "nodes")
        self.is_synchronous = is_synchronous
        self.identity = unprivileged()
        self.all = [Node(number, self.folder, self.identity) for number in range(1, COUNT + 1)]

    def url(self, first=0):
        """The store of a relay that tries this node first."""
        nodes = self.all[first % COUNT:] + self.all[:first % COUNT]
        hosts = ",".join(node.address for node in nodes)
        return f"postgres://{USER}@{hosts}/{NAME}?target_session_attrs=read-write"

    def make(self):
        """Starts everything, and waits until there are a leader and two replicas."""
        os.chmod(os.path.dirname(self.folder), 0o711)
        os.mkdir(self.folder, 0o711)
        run("ip", "link", "add", BRIDGE, "type", "bridge")
        run("ip", "address", "add", f"{OWN_ADDRESS}/24", "dev", BRIDGE)
        run("ip", "link", "set", BRIDGE, "up")
        archive = os.path.join(self.folder, "archive")
        os.mkdir(archive, 0o700)
        os.chown(archive, self.identity["user"], self.identity["group"])
        for node in self.all:
            node.make()
            node.write_settings(self.all, self.is_synchronous)
        for node in self.all:
            node.start_etcd(self.all)
        wait_until(self.has_quorum, lambda: self.explain("etcd"), READY_SECONDS)
        for node in self.all:
            node.start_patroni()
        wait_until(self.is_healthy, lambda: self.explain("patroni"), READY_SECONDS)
        leader = self.leader()
        leader.query(f"CREATE ROLE {USER} LOGIN", "postgres", READY_SECONDS)
        leader.query(f"CREATE DATABASE {NAME} OWNER {USER}", "postgres", READY_SECONDS)

    def explain(self, program):
        """Why the machines are not ready: the last lines of each log."""
        tails = "\n".join(f"{node.name}: " + " | ".join(node.log_text(program).splitlines()[-3:])
                          for node in self.all)
        return f"the database's nodes are not ready: {self.members()}\n{tails}"

    def has_quorum(self):
        for node in self.all:
            try:
                status, body = ask(node.address, 2379, "GET", "/health")
                if status != 200 or json.loads(body).get("health") != "true":
                    return False
            except (OSError, ValueError, http.client.HTTPException):
                return False
        return True

    def members(self):
        """The members as Patroni of the first node that answers describes them, by name."""
        for node in self.all:
            try:
                status, body = ask(node.address, 8008, "GET", "/cluster")
                if status == 200:
                    return {each["name"]: each for each in json.loads(body)["members"]}
            except (OSError, ValueError, http.client.HTTPException):
                continue
        return {}

    def leader(self):
        """The leader by the word of Patroni; None if there is none."""
        members = self.members()
        for node in self.all:
            if members.get(node.name, {}).get("role") == "leader":
                return node
        return None

    def is_healthy(self):
        """True if there are a leader and replicas that follow it, with one of them synchronous if
        any is to be."""
        members = self.members()
        if len(members) != COUNT or any(each["state"] not in ("running", "streaming")
                                        for each in members.values()):
            return False
        if len({each.get("timeline") for each in members.values()}) != 1:
            return False
        roles = [each["role"] for each in members.values()]
        wanted = 1 if self.is_synchronous else 0
        return roles.count("leader") == 1 and roles.count("sync_standby") == wanted

    def start(self):
        """Starts all programs that do not run, and removes all faults of networks."""
        run("iptables", "-w", "-F", "INPUT")
        for node in self.all:
            node.heal()
            for program in PORTS:
                node.signal(program, signal.SIGCONT)
            node.start_etcd(self.all)
            node.start_patroni()

    def switch_over(self, leader, candidate):
        """Asks Patroni for another leader; returns its answer."""
        body = {"leader": leader.name, "candidate": candidate.name}
        return ask(leader.address, 8008, "POST", "/switchover", body, seconds=60)

    def copy_stuck(self):
        """Has those replicas copied from the leader that do not follow it; returns their number."""
        members = self.members()
        leader = self.leader()
        timeline = members.get(leader.name, {}).get("timeline") if leader else None
        if not timeline:
            return 0
        stuck = [node for node in self.all
                 if node is not leader and members.get(node.name, {}).get("timeline") != timeline]
        for node in stuck:
            try:
                ask(node.address, 8008, "POST", "/reinitialize", {"force": True})
            except (OSError, http.client.HTTPException):
                continue
        return len(stuck)

    def end(self):
        for node in self.all:
            node.end()


def ask(host, port, method, path, body=None, seconds=4):
    """Status and text of an answer by HTTP."""
    connection = http.client.HTTPConnection(host, port, timeout=seconds)
    try:
        connection.request(method, path, json.dumps(body) if body is not None else None)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace")
    finally:
        connection.close()
