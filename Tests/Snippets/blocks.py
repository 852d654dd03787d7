"""Code blocks of the documents, and how they are checked.

A comment on the line before a block, which readers do not see, says more:

    <!-- snippet: with=todo -->               compile or run it with that preamble of this folder
    <!-- snippet: run until="[x] milk" -->    run it, until it prints this
    <!-- snippet: name=first after=other -->  for the checks that name it; after that block's lines
    <!-- snippet: unchecked="a reason" -->    leave it out; the reason is printed

Without one, a Swift block that has no import is compiled with the preamble `todo`; JavaScript and
Python are compiled; JSON is parsed; the commands of a block without a language are looked up.
Doc comments of the libraries have no such comments; PREAMBLES is for them.
"""

import glob
import os
import re
import shlex

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
FENCE = re.compile(r"( *)```(\w*)\s*$")
COMMENT = re.compile(r"\s*<!-- snippet: (.*) -->\s*$")
# Preambles of the blocks in doc comments, if another than `todo`.
PREAMBLES = {
    "Sources/Lockstep/LiveRecords.swift": "view",
    "Sources/LockstepTesting/World.swift": "world",
}
WORDS = {"run", "with", "until", "name", "after", "unchecked"}


class Block:
    def __init__(self, path, line, language, text, options):
        self.path, self.line, self.language = path, line, language
        self.text, self.options = text, options

    @property
    def place(self):
        return f"{self.path}:{self.line}"

    @property
    def name(self):
        return self.options.get("name")


def documents():
    """Paths of all documents, from the package's folder on."""
    patterns = ["README.md", "docs/**/*.md", "Sources/*/README.md", "Sources/*/*.docc/**/*.md"]
    paths = [path for pattern in patterns
             for path in glob.glob(os.path.join(ROOT, pattern), recursive=True)]
    return sorted(os.path.relpath(path, ROOT) for path in paths)


def sources():
    """Swift files whose doc comments are documentation of the libraries."""
    paths = [path for module in ("Lockstep", "LockstepTesting")
             for path in glob.glob(os.path.join(ROOT, "Sources", module, "**/*.swift"),
                                   recursive=True)]
    return sorted(os.path.relpath(path, ROOT) for path in paths)


def all_blocks():
    blocks = []
    for path in documents():
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            blocks += parse(path, file.read().split("\n"))
    for path in sources():
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            lines = [doc_comment(line) for line in file.read().split("\n")]
        for block in parse(path, lines):
            if path in PREAMBLES:
                block.options["with"] = PREAMBLES[path]
            blocks.append(block)
    return blocks


def doc_comment(line):
    """The text of a line of a doc comment; nothing for other lines."""
    match = re.match(r"\s*///( ?)(.*)$", line)
    return match[2] if match else ""


def parse(path, lines):
    blocks, number = [], 0
    while number < len(lines):
        start = FENCE.match(lines[number])
        if not start:
            number += 1
            continue
        end = next((index for index in range(number + 1, len(lines))
                    if FENCE.match(lines[index])), None)
        if end is None:
            raise ValueError(f"{path}:{number + 1}: the code block does not end")
        indent = len(start[1])
        text = "".join(line[indent:] + "\n" for line in lines[number + 1:end])
        options = parse_options(f"{path}:{number + 1}", lines[number - 1] if number else "")
        blocks.append(Block(path, number + 1, start[2], text, options))
        number = end + 1
    return blocks


def parse_options(place, line):
    match = COMMENT.match(line)
    options = {}
    for word in shlex.split(match[1]) if match else []:
        key, _, value = word.partition("=")
        if key not in WORDS:
            raise ValueError(f"{place}: unknown word '{key}' in the comment before the block")
        options[key] = value or True
    return options


def whole_text(block, blocks):
    """The text of a block after that of the blocks that it continues."""
    if "after" not in block.options:
        return block.text
    earlier = [other for other in blocks if other.name == block.options["after"]]
    if len(earlier) != 1:
        raise ValueError(f"{block.place}: there is no block named {block.options['after']}")
    return whole_text(earlier[0], blocks) + block.text
