"""Checks a recorded history against what docs/protocol.md says, and nothing else: it shares no code
with the programs that it checks.

  checker.py FILE ...    exit code 1 if a rule is broken, 2 if a file is not a whole history

Tags order the saves of an account, so each client's view can be judged by them. Change tokens are
opaque: they are compared for equality alone.
"""

import bisect
import collections
import json
import sys

PRINTED_MAX = 20


class Checker:
    def __init__(self, lines):
        self.about, self.operations, self.is_whole = lines[0], lines[1:], False
        if self.operations and self.operations[-1].get("end"):
            self.is_whole = self.operations.pop()["operations"] == len(self.operations)
        self.violations, self.counts = [], collections.Counter()
        # (zone, name) -> {tag: value}; a null value is a deletion.
        self.versions = collections.defaultdict(dict)
        # Value -> (operation that saved it, position in its batch).
        self.author = {}
        # Tag of a version from an atomic batch -> last tag of that batch.
        self.batch_end = {}
        # (zone, name) -> times at which deletions of unknown outcome began; and those of others, by
        # tag.
        self.doubtful = collections.defaultdict(list)
        self.deletions = collections.defaultdict(dict)

    def fail(self, rule, operation, words):
        self.violations.append(
            f"{rule}: {operation['process']}, {operation['operation']} begun at "
            f"{operation['begun']}: {words}")

    # MARK: what was saved

    def add_version(self, operation, place, tag, value):
        known = self.versions[place]
        if known.setdefault(tag, value) != value:
            self.fail("a tag names one version", operation,
                      f"{place} with tag {tag} is {value!r}, and was {known[tag]!r}")

    def collect(self):
        """Every version that was acknowledged or seen."""
        for operation in self.operations:
            if operation["operation"] == "save":
                self.collect_save(operation)
            for record in observed(operation):
                place = (record["zone"], record["name"])
                self.add_version(operation, place, record["tag"], record["value"])
        self.add_rest_of_batches()
        self.by_tag = {}
        for place, known in self.versions.items():
            for tag, value in known.items():
                if tag and self.by_tag.setdefault(tag, place) != place:
                    self.fail("a tag names one version", self.operations[0],
                              f"tag {tag} names {place} and {self.by_tag[tag]}")
        self.order = sorted(self.by_tag)
        self.tags = {place: sorted(known) for place, known in self.versions.items()}

    def collect_save(self, operation):
        zone = operation["zone"]
        for position, sent in enumerate(operation["records"]):
            if sent["value"] is not None:
                self.author[sent["value"]] = (operation, position)
            elif operation["outcome"] == "unknown":
                self.doubtful[zone, sent["name"]].append(operation["begun"])
        last = 0
        for sent, result in zip(operation["records"], operation.get("results", [])):
            if "tag" in result:
                self.add_version(operation, (zone, sent["name"]), result["tag"], sent["value"])
                if sent["value"] is None:
                    self.deletions[zone, sent["name"]][result["tag"]] = operation["begun"]
                if result["tag"] <= last:
                    self.fail("tags rise within a batch", operation, f"{result} after {last}")
                last = result["tag"]
        tags = [result["tag"] for result in operation.get("results", []) if "tag" in result]
        if operation["atomic"] and 0 < len(tags) < len(operation["records"]):
            self.fail("an atomic batch is saved whole", operation, f"{operation['results']}")
        if operation["atomic"]:
            self.batch_end.update((tag, last) for tag in tags)

    def add_rest_of_batches(self):
        """An atomic batch of which one record was seen is saved whole; its tags follow one
        another."""
        for place, known in list(self.versions.items()):
            for tag, value in list(known.items()):
                if value not in self.author:
                    continue
                operation, position = self.author[value]
                is_saved = operation["outcome"] == "unknown" or any(
                    result["name"] == place[1] and "tag" in result
                    for result in operation.get("results", []))
                if not is_saved:
                    self.fail("what was refused is not saved", operation,
                              f"{value!r} of {place} was seen with tag {tag}")
                elif operation["atomic"] and operation["outcome"] == "unknown":
                    first, records = tag - position, operation["records"]
                    for other, sent in enumerate(records):
                        self.add_version(operation, (operation["zone"], sent["name"]),
                                         first + other, sent["value"])
                        self.batch_end[first + other] = first + len(records) - 1

    # MARK: saves

    def check_saves(self):
        for operation in self.operations:
            for sent, result in zip(operation.get("records", []), operation.get("results", [])):
                place = (operation["zone"], sent["name"])
                if "tag" in result and sent["base"] != "any":
                    self.check_base(operation, place, sent["base"], result["tag"])
                theirs = result.get("conflict")
                if theirs and operation["attempts"] == 1 and sent["base"] == (
                        0 if theirs["value"] is None else theirs["tag"]):
                    self.fail("a current base is no conflict", operation, f"{sent}: {theirs}")

    def check_base(self, operation, place, base, tag):
        """The version before the saved one must be its base, or none, or a deletion."""
        tags = self.tags[place]
        before = tags[bisect.bisect_left(tags, tag) - 1] if tags[0] < tag else 0
        value = self.versions[place].get(before)
        if before > base or (base and before < base):
            if base or value is not None:
                self.fail("a base tag is compared and replaced", operation,
                          f"{place} was saved with tag {tag} on {base}, over {before} ({value!r})")

    # MARK: what each client could know

    def check_reads(self):
        """Each read gives no less than was known to anyone when it began."""
        events = [(each["begun"], 0, number) for number, each in enumerate(self.operations)]
        events += [(each["ended"], 1, number) for number, each in enumerate(self.operations)
                   if each["ended"] is not None]
        # Floor: newest tag of each record that was acknowledged or seen, and by whom.
        self.floor, self.newest, views = {}, 0, {}
        floors, newest = {}, {}
        for _, is_end, number in sorted(events):
            operation = self.operations[number]
            if not is_end:
                newest[number] = self.newest
                if operation["operation"] == "save":
                    floors[number] = {(operation["zone"], sent["name"]): self.floor.get(
                        (operation["zone"], sent["name"])) for sent in operation["records"]}
                if operation["operation"] in ("read", "list"):
                    names = operation.get("names") or [operation["name"]]
                    floors[number] = {(operation["zone"], name): self.floor.get(
                        (operation["zone"], name)) for name in names}
                elif operation["operation"] == "changes":
                    floors[number] = dict(self.floor)
            elif operation["operation"] in ("changes", "push"):
                self.follow(views, operation, floors.pop(number, None))
                self.learn(operation)
            else:
                self.check_order(operation, newest.pop(number), floors[number])
                self.check_view(operation, floors.pop(number))
                self.learn(operation)
        self.views = views

    def learn(self, operation):
        seen = [((record["zone"], record["name"]), record["tag"], "seen")
                for record in observed(operation)]
        seen += [((operation["zone"], result["name"]), result["tag"], "saved")
                 for result in operation.get("results", []) if "tag" in result]
        for place, tag, how in seen:
            self.newest = max(self.newest, tag)
            if tag > self.floor.get(place, (0,))[0]:
                self.floor[place] = (tag, operation["process"], how)

    def check_order(self, operation, newest, floors):
        """A save that begins after another one's answer gets a greater tag, or is told of it."""
        for result in operation.get("results", []):
            if "tag" in result and result["tag"] <= newest:
                self.fail("tags follow the order of saves", operation,
                          f"{result}, after tag {newest} was known")
            if "conflict" in result:
                place = (operation["zone"], result["name"])
                tag = result["conflict"]["tag"] or self.absent_tag(place, operation)
                self.check_floor(operation, place, tag, floors[place])

    def check_floor(self, operation, place, tag, floor):
        if floor and tag < floor[0]:
            who = "own" if floor[1] == operation["process"] else "others'"
            rule = {("own", "saved"): "read your writes", ("own", "seen"): "monotonic reads"}.get(
                (who, floor[2]), "no stale read")
            self.fail(rule, operation, f"{place} has tag {tag}; {floor[0]} was {floor[2]} before "
                                       f"by {floor[1]}")

    def absent_tag(self, place, operation):
        """Tag of a record that a list leaves out: its last deletion so far, or any if a deletion
        may have happened."""
        if any(begun <= operation["ended"] for begun in self.doubtful[place]):
            return 1 << 53
        return max((tag for tag, begun in self.deletions[place].items()
                    if begun <= operation["ended"]), default=0)

    def check_view(self, operation, floors):
        """A read of one record, or of all of a zone."""
        if operation["operation"] not in ("read", "list"):
            return
        self.counts["reads"] += 1
        view = {(record["zone"], record["name"]): record["tag"] for record in observed(operation)}
        present = max((self.batch_end.get(tag, tag) for tag in view.values()), default=0)
        for place, floor in floors.items():
            if place not in view:
                view[place] = self.absent_tag(place, operation)
            self.check_floor(operation, place, view[place], floor)
        if operation["operation"] == "list":
            for place in view:
                self.check_prefix(operation, place, view, self.tags.get(place, []), present)

    def check_prefix(self, operation, place, view, tags, newest):
        """A view of saves up to the tag `newest` has all of them."""
        position = bisect.bisect_right(tags, newest)
        if position and view.get(place, 0) < tags[position - 1]:
            self.fail_prefix(operation, place, view, tags[position - 1])

    def fail_prefix(self, operation, place, view, missing):
        value = self.versions[place][missing]
        rule = "all before a change is seen with it"
        saved = self.author[value][0] if value in self.author else None
        for other, tag in view.items():
            theirs = self.author.get(self.versions[other].get(tag))
            if not theirs or not saved:
                continue
            if theirs[0] is saved and saved["atomic"]:
                rule = "an atomic batch is seen whole"
                break
            if tag <= missing:
                continue
            if theirs[0]["process"] == saved["process"]:
                rule = "monotonic writes"
            elif missing in [sent["base"] for sent in theirs[0]["records"]]:
                rule = "writes follow reads"
        self.fail(rule, operation, f"{place} has tag {view.get(place, 0)}, and {value!r} with tag "
                                   f"{missing} came before others that are seen")

    # MARK: clients that follow the account

    def follow(self, views, operation, floors):
        state = views.setdefault(operation["process"], None)
        if operation["since"] is None or state is None:
            state = views[operation["process"]] = {
                "view": {}, "last": 0, "done": 0, "token": operation["since"],
                "snapshot": True, "floors": floors}
        if operation["since"] != state["token"]:
            self.fail("pages follow one another", operation, f"{state['token']} was before")
        for record in operation["records"]:
            self.counts["changes"] += 1
            if record["tag"] <= state["last"]:
                self.fail("changes come in the order of their tags", operation,
                          f"{record} after tag {state['last']}")
            state["last"] = record["tag"]
            state["view"][record["zone"], record["name"]] = record["tag"]
        state["token"] = operation["token"]
        if not operation["more"]:
            self.check_complete(operation, state, floors)

    def check_complete(self, operation, state, floors):
        """The last page: all up to its newest change must be here, and all that was known."""
        view = state["view"]
        end = bisect.bisect_right(self.order, self.batch_end.get(state["last"], state["last"]))
        for tag in self.order[state["done"]:end]:
            place = self.by_tag[tag]
            have = view.get(place, 0)
            if have < tag and not (state["snapshot"] and self.absent_tag(place, operation) >= tag):
                self.fail_prefix(operation, place, view, tag)
        state["done"] = end
        # A snapshot shows the moment of its first page.
        known = state["floors"] if state["snapshot"] else floors
        for place, floor in (known or {}).items():
            have = view.get(place) or (self.absent_tag(place, operation)
                                       if state["snapshot"] else 0)
            self.check_floor(operation, place, have, floor)
        if state["snapshot"]:
            for place in self.tags:
                # Deleted before the snapshot; a later save of it comes as a change.
                view.setdefault(place, self.absent_tag(place, operation))
        state["snapshot"] = False

    # MARK: the end

    def check_end(self):
        ends = {name: {place: tag for place, tag in state["view"].items()
                       if self.versions[place].get(tag) is not None}
                for name, state in self.views.items()}
        last = {"process": "the end", "operation": "comparison", "begun": "the end"}
        if not any(name.startswith("end of ") for name in ends):
            self.fail("the history is whole", last, "no relay was read at the end")
        first, expected = next(iter(sorted(ends.items())), ("", {}))
        for name, have in sorted(ends.items()):
            for place in sorted(set(have) | set(expected)):
                if have.get(place) != expected.get(place):
                    self.fail("all have the same at the end", last,
                              f"{place}: {name} has {have.get(place)}, {first} "
                              f"{expected.get(place)}")
        for place, tags in sorted(self.tags.items()):
            newest = tags[-1]
            is_there = expected.get(place) == newest
            if not is_there and self.versions[place][newest] is not None and (
                    place in expected or not self.doubtful[place]):
                self.fail("no acknowledged save is lost", last,
                          f"{place} was saved or seen with tag {newest}, and has "
                          f"{expected.get(place)}")

    def check(self):
        if not self.is_whole:
            raise ValueError("it has no last line, or not all operations: it was cut off")
        self.collect()
        self.check_saves()
        self.check_reads()
        self.check_end()
        return self.violations


def observed(operation):
    """Versions of records that an operation showed; tag 0 is no version."""
    if operation["operation"] == "save":
        found = [result["conflict"] for result in operation.get("results", [])
                 if "conflict" in result]
    elif operation["operation"] == "read":
        found = [operation["record"]] if operation["record"] else []
    else:
        found = operation["records"]
    return [record for record in found if record["tag"]]


def main(paths):
    if not paths or paths[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if paths else 2
    is_good = True
    for path in paths:
        try:
            with open(path, encoding="utf-8") as file:
                checker = Checker([json.loads(line) for line in file])
            found = checker.check()
        except (OSError, ValueError, LookupError, AttributeError, TypeError) as error:
            print(f"{path}: not a history: {error!r}", file=sys.stderr)
            return 2
        for words in found[:PRINTED_MAX]:
            print(f"{path}: {words}")
        print(f"{path}: {len(checker.operations)} operations, {len(checker.order)} versions, "
              f"{checker.counts['reads']} reads, {checker.counts['changes']} changes followed: "
              f"{len(found)} violations")
        is_good = is_good and not found
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
