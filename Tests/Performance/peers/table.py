"""Results: medians with minimum and maximum, and ratios to the floor of the same repetition."""

import statistics

CONTROL = (0.9, 1.1)
COLUMNS = [("rate", "{what}/s"), ("cpuMicroseconds", "CPU µs"), ("userInstructions", "user instr"),
           ("kernelInstructions", "kernel instr"), ("switches", "switches"), ("p50", "p50 µs"),
           ("p99", "p99 µs"), ("commit", "a synced page µs"), ("p50ToCommit", "p50 / page"),
           ("rowCommit", "SQLite's commit µs"), ("p50ToRowCommit", "p50 / SQLite's"),
           ("idleBytes", "idle bytes"), ("idleKernelBytes", "slab, both ends"),
           ("hints", "hints"), ("generatorBusy", "load busy")]
WHAT = {"storm": "connections", "saves": "saves"}


class Results:
    """All runs, by work and shape, then by peer: an entry for each repetition (None if it
    failed)."""

    def __init__(self):
        self.shapes, self.runs, self.faults = {}, {}, {}

    def add(self, workload, shape, peer, repetition, figures, wrong):
        key = (workload.name, shape.name)
        self.shapes[key] = shape
        self.runs.setdefault(key, {}).setdefault(peer, {})[repetition] = figures
        for name, count in wrong.items():
            kept = self.faults.setdefault(key, {}).setdefault(peer, {})
            kept[name] = kept.get(name, 0) + count

    def values(self, key, peer, name):
        runs = self.runs.get(key, {}).get(peer, {})
        return [figures[name] for figures in runs.values()
                if figures and figures.get(name) is not None]

    def ratios(self, key, peer, name, base="floor"):
        """Ratios to the floor, each within one repetition."""
        runs, others = self.runs[key].get(peer, {}), self.runs[key].get(base, {})
        return [figures[name] / others[repetition][name] for repetition, figures in runs.items()
                if figures and figures.get(name) and others.get(repetition)
                and others[repetition].get(name)]

    def by_repetition(self, key, peer, name):
        """A figure by repetition, where it was measured."""
        runs = self.runs.get(key, {}).get(peer, {})
        return {repetition: figures[name] for repetition, figures in runs.items()
                if figures and figures.get(name) is not None}

    def control(self):
        """The A/A control: floor and floor-batch do the same work if nothing can be joined.
        Returns the ratio of their times, and whether other ratios of time are reliable; None if
        the two did not run."""
        for key in self.runs:
            if key[0] == "fanout":
                found = self.ratios(key, "floor-batch", "cpuMicroseconds")
                if found:
                    median = statistics.median(found)
                    return {"ratio": median, "holds": CONTROL[0] <= median <= CONTROL[1]}
        return None

    def split(self, peer):
        """Lists of the figures by `split_by_repetition`; None if there are none."""
        found = self.split_by_repetition(peer).values()
        return {name: [each[name] for each in found]
                for name in ("furtherDelivery", "message")} if found else None

    def split_by_repetition(self, peer):
        """Cost of one further delivery and of one save or publication, in processor microseconds,
        for each repetition of fanout's two shapes."""
        keys = sorted((key for key in self.runs if key[0] == "fanout"),
                      key=lambda key: self.shapes[key].devices)
        if len(keys) != 2:
            return {}
        few, many = [self.runs[key].get(peer, {}) for key in keys]
        counts = [self.shapes[key].devices for key in keys]
        found = {}
        for repetition in sorted(set(few) & set(many)):
            if not few[repetition] or not many[repetition]:
                continue
            low, high = [figures["cpuMicrosecondsPerMessage"]
                         for figures in (few[repetition], many[repetition])]
            slope = (high - low) / (counts[1] - counts[0])
            found[repetition] = {"furtherDelivery": slope, "message": low - slope * counts[0]}
        return found

    @property
    def relay_is_right(self):
        """True if the relay lost, duplicated, misrouted and refused nothing."""
        return not any("lockstep" in peers for peers in self.faults.values())


def short(value):
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def cell(values):
    values = [each for each in values if each is not None]
    if not values:
        return "–"
    middle, low, high = [short(each) for each in
                         (statistics.median(values), min(values), max(values))]
    return middle if len(values) == 1 or low == high else f"{middle} ({low}–{high})"


def table(head, rows):
    """Formats rows of cells as an aligned table."""
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]

    def line(row):
        first = row[0].ljust(widths[0])
        return "  ".join([first, *[text.rjust(width) for text, width in zip(row[1:], widths[1:])]])

    return "\n".join(line(row).rstrip() for row in [head, *rows])


def report_text(results, workloads, setting, notes):
    """Complete report, for a person."""
    parts = [one_shape(results, workloads, setting, key) for key in results.runs]
    return "\n\n".join([*parts, *splits(results), *notes]) + "\n"


def one_shape(results, workloads, setting, key):
    peers, shape = results.runs[key], results.shapes[key]
    about = next(workload.about for workload in workloads if workload.name == key[0])
    what = WHAT.get(shape.mode, "deliveries")
    columns = [(name, title.format(what=what)) for name, title in COLUMNS
               if any(any(results.values(key, peer, name)) for peer in peers)]
    ratios = ["cpuMicroseconds"] if shape.compares == "cpu" else ["p50", "p99"]
    titles = {"p50": "p50 / floor", "p99": "p99 / floor", "cpuMicroseconds": "CPU / floor"}
    head = ["", *[title for _, title in columns]]
    has_floor = "floor" in peers and len(peers) > 1
    head += [titles[name] for name in ratios] if has_floor else []
    rows = []
    for peer in peers:
        row = [peer, *[cell(results.values(key, peer, name)) for name, _ in columns]]
        row += [cell(results.ratios(key, peer, name)) for name in ratios] if has_floor else []
        rows.append(row)
    place = "on the disk" if setting.store_kind(shape.on_disk) == "disk" else "in memory"
    store = f"the relay's store is {place}; " if "lockstep" in peers else ""
    text = (f"{key[0]}, {key[1]}: {about}\n({store}CPU, instructions and switches are the "
            f"server's, for one of the {what})\n" + table(head, rows))
    for peer, wrong in results.faults.get(key, {}).items():
        text += f"\n{peer}: " + ", ".join(f"{name} {count:,}" for name, count in wrong.items())
    return text


def splits(results):
    peers = list(dict.fromkeys(peer for runs in results.runs.values() for peer in runs))
    rows = []
    for peer in peers:
        split = results.split(peer)
        if split:
            rows.append([peer, cell(split["furtherDelivery"]), cell(split["message"])])
    if not rows:
        return []
    head = ["", "one further delivery", "a message that nobody hears"]
    return ["fanout, taken apart (CPU µs; from both shapes, a save is the relay's message)\n"
            + table(head, rows)]


def markdown(head, rows):
    """Formats rows of cells as a table of a Markdown document."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(text.strip() for text in line) + " |" for line in lines)


def control_note(results):
    """The A/A control as a sentence, if there is one."""
    control = results.control()
    if not control:
        return []
    verdict = ("ratios of time are valid" if control["holds"] else
               "the machine was too busy: ratios of time of this session are noise")
    return [f"floor-batch / floor in fanout, the same work: {control['ratio']:.2f}; {verdict}."]


def as_json(results, setting):
    rows = []
    for key, peers in results.runs.items():
        for peer in peers:
            rows.append({
                "work": key[0], "shape": key[1], "peer": peer,
                "store": setting.store_kind(results.shapes[key].on_disk),
                "runs": [figures for _, figures in sorted(peers[peer].items())],
                "faults": results.faults.get(key, {}).get(peer, {}),
                "cpuToFloor": results.ratios(key, peer, "cpuMicroseconds")})
    peers = list(dict.fromkeys(row["peer"] for row in rows))
    split = {peer: results.split(peer) for peer in peers if results.split(peer)}
    return {"rows": rows, "fanoutTakenApart": split, "control": results.control()}
