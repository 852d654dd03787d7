"""Makes a wrong history of a good one, so that checkers can be shown to fail:
  sabotage.py KIND FILE OUTPUT

  lost       an acknowledged save is in no later answer
  stale      a read gives the version before one that had been acknowledged
  twice      two saves on the same base tag are both acknowledged
  torn       a list has one record of an atomic batch, and not the other (independent checker only)
  reordered  two changes come to a follower in the wrong order (independent checker only)
"""

import copy
import json
import sys

KINDS = ["lost", "stale", "twice", "torn", "reordered"]
# Those that concern single records, which is all that Porcupine judges.
KINDS_OF_RECORDS = KINDS[:3]


class Saves:
    """Acknowledged saves of a history that replaced a version known from another one."""

    def __init__(self, operations):
        self.values, self.all = {}, []
        for operation in operations:
            for sent, result in zip(operation.get("records", []), operation.get("results", [])):
                if "tag" in result:
                    place = (operation["zone"], sent["name"])
                    self.values[(*place, result["tag"])] = sent["value"]
                    self.all.append((operation, sent, place, result["tag"]))

    def before(self, sent, place):
        """The version on which a change was made, if it was live and acknowledged."""
        value = self.values.get((*place, sent["base"]))
        return value and {"zone": place[0], "name": place[1], "tag": sent["base"], "value": value}

    def replacements(self):
        """Saves of a value over a live version, the last ones first."""
        for operation, sent, place, tag in reversed(self.all):
            before = self.before(sent, place)
            if before and sent["value"] is not None:
                yield operation, sent, place, tag, before


def is_version(record, place, tag):
    return (record["zone"], record["name"], record["tag"]) == (*place, tag)


def shows(operation, place, tag):
    """True if a read shows this version."""
    if operation["operation"] == "save":
        return False
    records = operation.get("records") or [operation.get("record")]
    return any(record and is_version(record, place, tag) for record in records)


def lost(operations):
    saves = Saves(operations)
    newest = {}
    for _, _, place, tag in saves.all:
        newest[place] = max(tag, newest.get(place, 0))
    for _, _, place, tag, before in saves.replacements():
        seen = [each for each in operations if shows(each, place, tag)]
        if tag != newest[place] or not any(
                each["process"].startswith("end of ") for each in seen):
            continue
        for each in seen:
            if each["operation"] == "read":
                each["record"] = before
                continue
            follows = each["operation"] == "push" or each.get("since") is not None
            each["records"] = sorted(
                [record for record in each["records"] if not is_version(record, place, tag)]
                + ([] if follows else [before]), key=lambda record: record["tag"])
        return f"{place} with tag {tag}"
    return None


def stale(operations):
    saves = Saves(operations)
    for save, _, place, tag, before in saves.replacements():
        for read in operations:
            if (read["operation"] == "read" and read["record"] and read["begun"] > save["ended"]
                    and is_version(read["record"], place, tag)
                    and read["process"] != save["process"]):
                read["record"] = before
                return f"{read['process']} at {read['begun']}"
    return None


def twice(operations):
    saves = Saves(operations)
    for _, sent, place, _, before in saves.replacements():
        for _, earlier, other, tag in saves.all:
            if other == place and tag == sent["base"] and saves.before(earlier, place):
                sent["base"] = earlier["base"]
                return f"{place} on tag {earlier['base']}"
    return None


def torn(operations):
    saves = Saves(operations)
    for save, _, place, tag, before in saves.replacements():
        if not save["atomic"] or len(save["records"]) < 2:
            continue
        for each in operations:
            if each["operation"] != "list" or each["zone"] != place[0]:
                continue
            tags = {record["tag"] for record in each["records"]}
            if {result["tag"] for result in save["results"]} <= tags:
                each["records"] = sorted(
                    [before] + [record for record in each["records"] if record["tag"] != tag],
                    key=lambda record: record["tag"])
                # The list was asked for before the save: it need not be there, but whole or not.
                each["begun"] = min(each["begun"], save["begun"] - 1)
                return f"{each['process']} at {each['begun']}"
    return None


def reordered(operations):
    for each in operations:
        if each["operation"] in ("changes", "push") and len(each["records"]) > 1 and each["since"]:
            each["records"][:2] = reversed(each["records"][:2])
            return f"{each['process']} at {each['begun']}"
    return None


def sabotage(kind, lines):
    """Returns the lines of the wrong history, and where it is wrong; None if there is no place for
    this."""
    lines = copy.deepcopy(lines)
    where = globals()[kind]([line for line in lines if "process" in line])
    return (lines, where) if where else None


def main(words):
    if len(words) != 3 or words[0] not in KINDS:
        print(__doc__)
        return 2
    with open(words[1], encoding="utf-8") as file:
        made = sabotage(words[0], [json.loads(line) for line in file])
    if made is None:
        print(f"{words[1]}: too short for {words[0]}", file=sys.stderr)
        return 3
    with open(words[2], "w", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in made[0])
    print(f"{words[0]}: {made[1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
