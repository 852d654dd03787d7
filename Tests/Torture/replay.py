"""Model of a disk that lost data not synced, built from a trace of all its operations (shim.c).

A record of the trace is a header (HEAD), a path, and bytes. A file certainly contains what was
written before the start of a sync that has completed. Of later writes, any page may be present or
missing. A folder certainly contains the names that a sync of the folder covers; of later changes to
names, any number of the first ones may be present.
"""

import os
import struct

HEAD = struct.Struct("=IIQQII")
WRITE, SYNC_BEGIN, SYNC_END, TRUNCATE, RENAME, UNLINK, LINK, MAKE, MKDIR = range(1, 10)
PAGE = 4096


def records(trace):
    """Yields operation, number, path, offset, length and bytes of each; ignores a torn last
    record."""
    with open(trace, "rb") as file:
        while True:
            head = file.read(HEAD.size)
            if len(head) < HEAD.size:
                return
            operation, number, offset, length, path_length, _ = HEAD.unpack(head)
            path = file.read(path_length)
            has_bytes = operation == WRITE or operation in (RENAME, LINK)
            bytes = file.read(length) if has_bytes else b""
            if has_bytes and len(bytes) < length:
                return
            yield operation, number, os.fsdecode(path), offset, length, bytes


class Content:
    """Contents of a file: the synced state, and the changes since."""

    def __init__(self):
        self.sync = bytearray()
        self.pending = []
        self.begun = {}

    def begin_sync(self, number):
        self.begun[number] = len(self.pending)

    def end_sync(self, number):
        count = self.begun.pop(number, 0)
        for change in self.pending[:count]:
            apply(self.sync, change)
        del self.pending[:count]
        self.begun = {other: max(0, mark - count) for other, mark in self.begun.items()}

    def after_failure(self, rng, chance):
        """One of the many possible contents after a power failure."""
        content = bytearray(self.sync)
        for offset, bytes in self.pending:
            if bytes is None:
                if rng.random() < chance:
                    apply(content, (offset, None))
                continue
            at = 0
            while at < len(bytes):
                end = min(len(bytes), at + PAGE - (offset + at) % PAGE)
                if rng.random() < chance:
                    apply(content, (offset + at, bytes[at:end]))
                at = end
        return content


def apply(content, change):
    """Applies a write, or, if there are no bytes, a new length."""
    offset, bytes = change
    end = offset if bytes is None else offset + len(bytes)
    if len(content) < (offset if bytes is None else end):
        content.extend(zeros(end - len(content)))
    if bytes is None:
        del content[offset:]
    else:
        content[offset:end] = bytes


def zeros(count):
    return bytes(count)


class TracedDisk:
    """A folder, reconstructed from the trace."""

    def __init__(self, root, trace):
        self.root = root
        # Contents by name: the current ones, and the certain ones.
        self.current, self.durable, self.pending = {}, {}, []
        self.folders = set()
        self.syncs = 0
        for record in records(trace):
            self.apply_operation(*record)

    def content(self, path):
        if path not in self.current:
            # It existed before the trace began, or is known by another name.
            self.assign(path, Content())
        return self.current[path]

    def assign(self, path, content):
        """Assigns the content to the name; None removes the name."""
        if content is None:
            self.current.pop(path, None)
        else:
            self.current[path] = content
        self.pending.append((path, content))

    def apply_operation(self, operation, number, path, offset, length, bytes):
        if not path.startswith(self.root):
            return
        if operation == WRITE:
            self.content(path).pending.append((offset, bytes))
        elif operation == TRUNCATE:
            self.content(path).pending.append((offset, None))
        elif operation == MAKE:
            self.assign(path, Content())
        elif operation == MKDIR:
            self.folders.add(path)
        elif operation == UNLINK:
            self.assign(path, None)
        elif operation in (RENAME, LINK):
            content = self.content(path)
            self.assign(os.fsdecode(bytes), content)
            if operation == RENAME:
                self.assign(path, None)
        elif operation == SYNC_BEGIN and path in self.current:
            self.current[path].begin_sync(number)
        elif operation == SYNC_END:
            self.syncs += 1
            if path in self.current:
                self.current[path].end_sync(number)
            else:
                self.sync_folder(path)

    def sync_folder(self, folder):
        left = []
        for path, content in self.pending:
            if os.path.dirname(path) == folder:
                self.set_durable(self.durable, path, content)
            else:
                left.append((path, content))
        self.pending = left

    @staticmethod
    def set_durable(names, path, content):
        if content is None:
            names.pop(path, None)
        else:
            names[path] = content

    def write(self, to, rng, chance):
        """Writes the folder in a possible state after a power failure. `chance`: fraction of the
        data not synced that survives."""
        names = dict(self.durable)
        count = round(len(self.pending) * (chance if chance in (0, 1) else rng.random()))
        for path, content in self.pending[:count]:
            self.set_durable(names, path, content)
        os.makedirs(to, mode=0o700)
        for folder in sorted(self.folders):
            os.makedirs(to + folder.removeprefix(self.root), mode=0o700, exist_ok=True)
        for path, content in names.items():
            # The index of a write-ahead log is shared memory, and is rebuilt.
            if path.endswith("-shm"):
                continue
            place = to + path.removeprefix(self.root)
            os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
            with open(os.open(place, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
                file.write(content.after_failure(rng, chance))
