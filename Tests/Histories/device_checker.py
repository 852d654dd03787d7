"""Checks a history of devices: each keeps counts of its own, which all devices hold. It knows
nothing but the counts that devices read and the transactions that they were told of.

A transaction adds one to its device's count in several records. So a device that reads the count n
in a record sees the first n transactions of that device that touch the record.
"""

import collections
import json
import sys

# Rules that hold for any edits; and those that hold while no edit conflicts with another device's.
PROMISED = ["read your writes", "monotonic reads", "no count without an edit", "no lost edit",
            "the same on all devices", "a transaction is whole where it was made"]
CAUSAL = ["atomic transactions", "monotonic writes", "writes follow reads"]
RULES = PROMISED + CAUSAL


class Device:
    """What one device has made, and what it sees of all."""

    def __init__(self):
        # Per transaction: its keys, and the transactions of each device seen before.
        self.made, self.pending = [], None
        # (device, key) -> transactions on that key.
        self.by_key = collections.defaultdict(list)
        self.seen = {}
        # Device -> transactions seen in part, and number of those seen whole without a gap.
        self.parts, self.whole, self.prefix = {}, {}, {}


class DeviceChecker:
    def __init__(self, lines):
        self.operations = [line for line in lines if "process" in line]
        self.devices = collections.defaultdict(Device)
        self.violations, self.examples = collections.Counter(), {}
        # (reader, device, transaction) of those that were seen in part.
        self.in_part = set()
        self.transactions = self.reads = 0

    def fail(self, rule, operation, words):
        self.violations[rule] += 1
        self.examples.setdefault(
            rule, f"{operation['process']} at {operation['begun']}: {words}")

    def check(self):
        # Two passes: a read may show a transaction before its answer has arrived.
        for operation in self.operations:
            self.collect(operation)
        for operation in self.operations:
            if operation["operation"] == "read":
                self.check_read(operation)
        self.check_end()
        return self.violations

    @staticmethod
    def promised(without_conflicts):
        """Rules that no run may break."""
        return RULES if without_conflicts else PROMISED

    # MARK: what was made

    def collect(self, operation):
        name = operation["process"]
        device = self.devices[name]
        if operation["operation"] == "transaction":
            self.transactions += 1
            if operation["outcome"] == "done":
                self.add(device, operation)
            else:
                device.pending = operation
            return
        if device.pending:
            self.decide(device, operation)
        self.count_own(device, operation)

    def add(self, device, operation):
        number = len(device.made)
        operation["number"] = number
        device.made.append(operation["keys"])
        for key in operation["keys"]:
            device.by_key[key].append(number)

    def decide(self, device, read):
        """A transaction without an answer: the next read of its device shows if it was made."""
        pending, device.pending = device.pending, None
        own = read["counts"].get(read["process"], {})
        made = [own.get(key, 0) > len(device.by_key[key]) for key in pending["keys"]]
        if all(made):
            self.add(device, pending)
        elif any(made):
            self.fail("a transaction is whole where it was made", pending, f"{made}")
            self.add(device, pending)

    def count_own(self, device, read):
        own = read["counts"].get(read["process"], {})
        for key in sorted(set(own) | set(device.by_key)):
            expected = len(device.by_key[key])
            if own.get(key, 0) < expected:
                self.fail("read your writes", read, f"{key}: {own.get(key, 0)} of {expected}")

    # MARK: what was read

    def check_read(self, operation):
        self.reads += 1
        reader = self.devices[operation["process"]]
        fresh = []
        for other, counts in sorted(operation["counts"].items()):
            for key, count in sorted(counts.items()):
                before = reader.seen.get((other, key), 0)
                if count < before:
                    self.fail("monotonic reads", operation, f"{other} {key}: {count} < {before}")
                numbers = self.devices[other].by_key[key]
                if count > len(numbers):
                    self.fail("no count without an edit", operation,
                              f"{other} {key}: {count} > {len(numbers)}")
                for number in numbers[before:count]:
                    self.see(reader, other, number, fresh)
                reader.seen[other, key] = max(before, count)
        for other, parts in sorted(reader.parts.items()):
            for number in sorted(parts):
                if (operation["process"], other, number) not in self.in_part:
                    self.in_part.add((operation["process"], other, number))
                    self.fail("atomic transactions", operation, f"{other} {number} in part")
        self.check_causes(operation, reader, fresh)
        operation["prefix"] = dict(reader.prefix)

    def see(self, reader, other, number, fresh):
        parts = reader.parts.setdefault(other, {})
        parts[number] = parts.get(number, 0) + 1
        if parts[number] == len(self.devices[other].made[number]):
            del parts[number]
            whole = reader.whole.setdefault(other, set())
            whole.add(number)
            fresh.append((other, number))
            while reader.prefix.get(other, 0) in whole:
                whole.discard(reader.prefix.get(other, 0))
                reader.prefix[other] = reader.prefix.get(other, 0) + 1

    def check_causes(self, operation, reader, fresh):
        """Everything before a transaction, by its device or as its device had read it, is seen with
        it."""
        for other, number in fresh:
            if number >= reader.prefix.get(other, 0):
                self.fail("monotonic writes", operation, f"{other} {number} before "
                                                         f"{reader.prefix.get(other, 0)}")
            for third, known in sorted(self.known_before(other, number).items()):
                if third != other and reader.prefix.get(third, 0) < known:
                    self.fail("writes follow reads", operation, f"{other} {number} without {third} "
                                                                f"{known - 1}")

    def known_before(self, name, number):
        """Transactions of each device that this one had seen, all up to some number, when it made
        this transaction."""
        if not hasattr(self, "causes"):
            self.causes = {}
            last = {}
            for operation in self.operations:
                if operation["operation"] == "read":
                    last[operation["process"]] = operation
                elif "number" in operation:
                    self.causes[operation["process"], operation["number"]] = last.get(
                        operation["process"])
        read = self.causes.get((name, number))
        return read.get("prefix", {}) if read else {}

    # MARK: the end

    def check_end(self):
        last = {}
        for operation in self.operations:
            if operation["operation"] == "read":
                last[operation["process"]] = operation
        final = {name: read for name, read in sorted(last.items()) if read.get("final")}
        if not final or len(final) != len(last):
            self.fail("the same on all devices", self.operations[-1], "some were not read at last")
        first = next(iter(final.values()), None)
        for name, read in final.items():
            if read["counts"] != first["counts"]:
                self.fail("the same on all devices", read, f"differs from {first['process']}")
            for other, device in sorted(self.devices.items()):
                for key, numbers in sorted(device.by_key.items()):
                    have = read["counts"].get(other, {}).get(key, 0)
                    if have < len(numbers):
                        self.fail("no lost edit", read, f"{other} {key}: {have} of {len(numbers)}")


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def main(paths):
    code = 0
    for path in paths:
        checker = DeviceChecker(lines_of(path))
        found = checker.check()
        for rule in RULES:
            words = f" ({checker.examples[rule]})" if found[rule] else ""
            print(f"{path}: {rule}: {found[rule]}{words}")
        print(f"{path}: {checker.transactions} transactions, {checker.reads} reads")
        code = max(code, any(found[rule] for rule in PROMISED))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
