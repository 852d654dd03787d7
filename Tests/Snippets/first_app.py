"""docs/first-app.md: the four programs as they are printed are devices of one account, and each shows
what the others add."""

import contextlib
import os
import sys

from programs import CODE, Process, listens, write
from story import wait_until

# The title of the document.
LINES = 30
ADDRESS = "http://127.0.0.1:5625"


class App:
    """One of the programs in a folder of its own."""

    def __init__(self, stage, command, folder):
        self.stage, self.command, self.folder = stage, command, folder

    def start(self, *words):
        environment = {**self.stage.environment(self.folder)}
        return Process([*self.command, *words], self.folder, environment)

    def run(self, *words):
        with self.start(*words) as process:
            code = process.ends()
            assert code == 0, f"{' '.join(self.command)} {' '.join(words)}: {process.output}"
            return process.output

    def shows(self, *lines):
        with self.start() as process:
            wait_until(lambda: any(part.strip().split("\n") == list(lines)
                                   for part in process.output.split("\n\n")),
                       lambda: f"{self.command} shows {lines}; it shows\n{process.output}\nThis")


def check(stage, compiler, blocks, folder):
    named = {block.name: block for block in blocks if block.path == "docs/first-app.md"}
    for name in ("swift", "js", "python", "curl"):
        lines = sum(1 for line in named[name].text.split("\n") if line.strip())
        assert lines <= LINES, f"{name} has {lines} lines"
    texts = {name: block.text.replace(ADDRESS, stage.relay.address)
             for name, block in named.items()}
    swift = swift_app(stage, compiler, named["swift"])
    swift.run("new")
    swift.run("add", "milk")
    with contextlib.ExitStack() as stack:
        javascript = javascript_app(stage, texts["js"])
        javascript.run("join", code(swift))
        javascript.run("add", "tea")
        python = stack.enter_context(python_app(stage, texts, code(javascript)))
        python.run("add", "coffee")
        curl = stack.enter_context(curl_app(stage, texts["curl"], code(swift)))
        curl.prints("[true] bread")
        shown = ["[x] bread", "[ ] coffee", "[ ] milk", "[ ] tea"]
        for app in (swift, javascript, python):
            app.shows(*shown)
        swift.run("done", "tea")
        javascript.run("done", "coffee")
        python.run("done", "milk")
        for app in (swift, javascript, python):
            app.shows(*(line.replace("[ ]", "[x]") for line in shown))
        # The stream of events: the last change is Python's.
        curl.prints('"title":"milk"')
    return ""


def code(app):
    return CODE.search(app.run("code"))[0]


def swift_app(stage, compiler, block):
    folder = stage.new_folder()
    program = os.path.join(folder, "bin", "todo")
    compiler.link(block, program, lambda text: text.replace(ADDRESS, stage.relay.address))
    # Output to a pipe would come at the end.
    return App(stage, ["stdbuf", "-oL", program], folder)


def javascript_app(stage, text):
    folder = stage.new_folder()
    write(folder, "todo.js", text)
    return App(stage, ["node", "todo.js"], folder)


@contextlib.contextmanager
def python_app(stage, texts, code):
    folder = stage.new_folder()
    write(folder, "todo.py", texts["python"])
    script = write(folder, "agent.sh", texts["agent"].replace("CODE", code) + "wait\n")
    with Process(["bash", "-e", script], folder, stage.environment(folder)) as agent:
        home = os.path.join(folder, "home")
        wait_until(lambda: listens(home) or agent.process.poll() is not None, "the home to be held")
        yield App(stage, [sys.executable, "todo.py"], folder)


@contextlib.contextmanager
def curl_app(stage, text, code):
    folder = stage.new_folder()
    script = write(folder, "todo.sh", text.replace("CODE", code))
    with Process(["bash", "-e", script], folder, stage.environment(folder)) as process:
        yield process
