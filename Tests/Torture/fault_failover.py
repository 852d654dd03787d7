"""Faults of a database that fails over: its leader dies, freezes or is cut off, its nodes cannot
agree, or a person asks for another leader."""

import http.client
import signal

from faults import Fault
from patroni_nodes import OWN_ADDRESS, RETRY_TIMEOUT, TTL, run
from processes import RunError

# Durations in seconds: shorter than Patroni waits, about as long, and longer.
DURATIONS = (2, RETRY_TIMEOUT + 2, TTL + 3, TTL + 12)


class NodeFault(Fault):
    """A fault of nodes."""

    def act(self, rng, until):
        while self.pause(rng, 0.5, 4, until):
            leader = self.system.nodes.leader()
            if not leader:
                self.run_log.count("faults of nodes that found no leader")
                continue
            try:
                self.draw_act(rng)(leader, rng, until)
            except RunError as reason:
                # Another fault had stopped the same node.
                self.run_log.info(f"{self.name}: {reason}")

    def last(self, rng, until):
        """Lets the fault last, sometimes longer than the round: the next leader is to be seen."""
        self.pause(rng, 0.2, rng.choice(DURATIONS), until + TTL)


class LeaderFault(NodeFault):
    name = "leader"
    about = ("kill -9 or SIGSTOP of the leader's PostgreSQL, of its Patroni, of both, or of all "
             "that runs on its machine")

    acts = [("crashed", 2), ("lost_control", 2), ("died", 4), ("stood_still", 3),
            ("database_stood_still", 2), ("control_stood_still", 2)]

    def crashed(self, leader, rng, until):
        """Patroni starts it again, or has another node promoted."""
        leader.kill("postgres")
        self.action("PostgreSQL was killed")

    def lost_control(self, leader, rng, until):
        """PostgreSQL goes on as a leader, although another node is promoted."""
        leader.kill("patroni")
        self.action("Patroni was killed")
        self.last(rng, until)
        leader.start_patroni()

    def died(self, leader, rng, until):
        programs = rng.choice([("patroni", "postgres"), ("etcd", "patroni", "postgres")])
        for program in programs:
            leader.kill(program)
        self.action("PostgreSQL and Patroni were killed" if len(programs) == 2
                    else "all programs were killed")
        self.last(rng, until)
        leader.start_etcd(self.system.nodes.all)
        leader.start_patroni()

    def stood_still(self, leader, rng, until):
        self.freeze(leader, ("patroni", "postgres", "etcd"), rng, until)
        self.action("all programs stood still")

    def database_stood_still(self, leader, rng, until):
        self.freeze(leader, ("postgres",), rng, until)
        self.action("PostgreSQL stood still")

    def control_stood_still(self, leader, rng, until):
        self.freeze(leader, ("patroni",), rng, until)
        self.action("Patroni stood still")

    def freeze(self, leader, programs, rng, until):
        try:
            for program in programs:
                leader.signal(program, signal.SIGSTOP)
            self.last(rng, until)
        finally:
            for program in reversed(programs):
                leader.signal(program, signal.SIGCONT)


class PartitionFault(NodeFault):
    name = "partition"
    about = ("packets from or to the leader's machine, or both, vanish: those of replicas, of "
             "etcd, of relays, or all")

    acts = [("from_replicas", 2), ("from_etcd", 2), ("from_relays", 2), ("from_all", 3)]

    def from_replicas(self, leader, rng, until):
        self.cut(leader, self.others(leader), ("postgres", "patroni"), "replicas", rng, until)

    def from_etcd(self, leader, rng, until):
        self.cut(leader, self.others(leader), ("etcd",), "etcd", rng, until)

    def from_relays(self, leader, rng, until):
        self.cut(leader, [None], ("postgres",), "relays", rng, until)

    def from_all(self, leader, rng, until):
        self.cut(leader, [None, *self.others(leader)], ("postgres", "patroni", "etcd"), "all",
                 rng, until)

    def others(self, leader):
        return [node for node in self.system.nodes.all if node is not leader]

    def cut(self, leader, others, programs, what, rng, until):
        """`others`: machines; None is that of the relays."""
        ways = rng.choice(["both ways", "both ways", "to it", "from it"])
        rules = []
        for other in others:
            address = other.address if other else OWN_ADDRESS
            if ways != "from it":
                rules += [(leader.run, leader.rule(address, program)) for program in programs]
            if ways != "to it":
                at = other.run if other else run
                rules += [(at, leader.rule(leader.address, program)) for program in programs]
        begun = []
        try:
            for at, rule in rules:
                at("iptables", "-w", "-A", *rule)
                begun.append((at, rule))
            self.action(f"cut off from {what}, {ways}")
            self.last(rng, until)
        finally:
            for at, rule in begun:
                at("iptables", "-w", "-D", *rule)


class QuorumFault(NodeFault):
    name = "etcd"
    about = "two of three members of etcd are killed or stand still, so that no node may lead"

    acts = [("killed", 1), ("stood_still", 1)]

    def killed(self, leader, rng, until):
        nodes = self.system.nodes
        chosen = rng.sample(nodes.all, 2)
        for node in chosen:
            node.kill("etcd")
        self.action("two members were killed")
        self.last(rng, until)
        for node in chosen:
            node.start_etcd(nodes.all)

    def stood_still(self, leader, rng, until):
        chosen = rng.sample(self.system.nodes.all, 2)
        try:
            for node in chosen:
                node.signal("etcd", signal.SIGSTOP)
            self.action("two members stood still")
            self.last(rng, until)
        finally:
            for node in chosen:
                node.signal("etcd", signal.SIGCONT)


class SwitchoverFault(NodeFault):
    name = "switchover"
    about = "Patroni is asked for another leader"

    acts = [("asked", 1)]

    def asked(self, leader, rng, until):
        members = self.system.nodes.members()
        wanted = "sync_standby" if self.system.nodes.is_synchronous else "replica"
        able = [node for node in self.system.nodes.all
                if members.get(node.name, {}).get("role") == wanted]
        if not able:
            self.run_log.count("switchovers without a candidate")
            return
        try:
            status, _ = self.system.nodes.switch_over(leader, rng.choice(able))
        except (OSError, http.client.HTTPException):
            status = 0
        if status == 200:
            self.action("done")
        else:
            self.run_log.count("switchovers that Patroni refused, or did not answer")
        self.pause(rng, 3, 10, until)
