"""Blocks in other languages: compiled or parsed, and run on a relay where a comment asks for it."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading

from blocks import ROOT
from story import LOCKSTEP, PATIENCE, Person, Relay, expect, run, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
WEB_CLIENT = os.path.join(ROOT, "Sources", "WebClient")
PYTHON_CLIENT = os.path.join(ROOT, "Sources", "PythonClient", "src")
# Addresses of relays in documents.
ADDRESSES = re.compile(r"https://relay\.example(:5625)?|(http://)?(127\.0\.0\.1|localhost):5625")
CODE = re.compile(r"\b[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}\b")


def check(block):
    """Compiles or parses a block; returns what is wrong, or nothing."""
    if block.language == "json":
        return check_json(block)
    if block.language == "python":
        try:
            compile(block.text, block.place, "exec")
        except SyntaxError as error:
            return str(error)
        return ""
    text = block.text
    if block.language == "html":
        scripts = re.findall(r'<script type="module">\n(.*?)</script>', text, re.DOTALL)
        text = "\n".join(scripts)
    return check_javascript(text)


def check_json(block):
    try:
        value = json.loads(block.text)
    except ValueError as error:
        return str(error)
    if not isinstance(value, dict) or "types" not in value:
        return ""
    done = subprocess.run(
        [LOCKSTEP, "resolve", "--rules", "/dev/stdin"], input=block.text, text=True,
        capture_output=True)
    # The table and the cases are the same stream: there are no cases.
    return done.stderr if done.returncode != 0 else ""


def check_javascript(text):
    done = subprocess.run(
        ["node", "--check", "--input-type=module", "-"], input=text, text=True,
        capture_output=True)
    if done.returncode != 0:
        return done.stderr
    with open(os.path.join(WEB_CLIENT, "lockstep.js"), encoding="utf-8") as file:
        names = set(re.findall(r"^  (?:static |async |get )*\*?(\w+)\b", file.read(), re.MULTILINE))
    used = set(re.findall(r"\b(?:lockstep|device)\.(?!js\b)(\w+)", text))
    missing = sorted(used - names)
    return f"the client has no {', '.join(missing)}" if missing else ""


class Stage:
    """A relay for blocks that run; each has an account and a folder of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.relay = Relay()
        self.devices = 0

    def __enter__(self):
        self.relay.start()
        return self

    def __exit__(self, *outcome):
        self.relay.__exit__(*outcome)

    def code(self):
        """A pairing code of a new account."""
        return expect(Person.new(self.relay).call("POST", "/v1/pairings"), 201).json["code"]

    def new_folder(self):
        """A folder with the packages of all languages, which is also the home folder."""
        self.devices += 1
        folder = os.path.join(self.folder, f"{self.devices}")
        os.makedirs(os.path.join(folder, "node_modules"))
        os.makedirs(os.path.join(folder, "bin"))
        os.symlink(WEB_CLIENT, os.path.join(folder, "node_modules", "lockstep"))
        os.symlink(LOCKSTEP, os.path.join(folder, "bin", "lockstep"))
        with open(os.path.join(folder, "package.json"), "w") as file:
            json.dump({"type": "module"}, file)
        return folder

    def environment(self, folder):
        return {
            **os.environ, "HOME": folder, "PYTHONPATH": PYTHON_CLIENT,
            "PATH": os.path.join(folder, "bin") + os.pathsep + os.environ["PATH"],
            "LOCKSTEP_STORE": os.path.join(folder, "store")}

    def local(self, text):
        """The text with this relay's address, and valid codes in the place of those shown."""
        address = self.relay.address
        text = ADDRESSES.sub(
            lambda match: address if "//" in match[0] else address.split("//")[1], text)
        return CODE.sub(lambda _: self.code(), text)


class Process:
    """A program whose output is read as it comes. It and its children are ended together."""

    def __init__(self, command, folder, environment, input=None):
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment, start_new_session=True,
            stdin=subprocess.PIPE if input is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if input is not None:
            self.process.stdin.write(input)
            self.process.stdin.close()
        self.output = ""
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        while text := os.read(self.process.stdout.fileno(), 65536):
            self.output += text.decode(errors="replace")

    def prints(self, text):
        """Waits for the text in the output."""
        wait_until(lambda: text in self.output or not self.reader.is_alive(), self.fault(text))
        if text not in self.output:
            raise AssertionError(self.fault(text)())

    def fault(self, text):
        return lambda: f"'{text}' in the output, which is:\n{self.output}\nThis"

    def ends(self):
        """Waits for the end; returns the exit code."""
        try:
            code = self.process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it does not end; it prints\n{self.output}") from None
        self.stop()
        self.reader.join(timeout=PATIENCE)
        return code

    def stop(self):
        # Jobs of a shell have process groups of their own, but are in its session.
        for process in session_members(self.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def session_members(leader):
    members = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat") as file:
            # The name of the program, in parentheses, may contain spaces.
            if int(file.read().rpartition(")")[2].split()[3]) == leader:
                members.append(int(name))
    return members


def run_block(stage, block, text, others):
    """Runs a block. Returns what is wrong, or nothing."""
    with contextlib.ExitStack() as stack:
        folder = stage.new_folder()
        environment = stage.environment(folder)
        if block.options["run"] == "transcript":
            return run_transcript(text, folder, environment)
        preamble = block.options.get("with")
        if preamble == "home":
            stack.enter_context(running_home(stage, folder))
        elif preamble in ("page", "table"):
            prepare(preamble, block, others, folder)
        process = stack.enter_context(start(stage, block, text, folder, environment))
        until = block.options.get("until")
        if until is not None:
            process.prints(until)
            return ""
        code = process.ends()
        return f"it ended with the code {code}:\n{process.output}" if code != 0 else ""


def prepare(preamble, block, others, folder):
    """Saves a further block of the document, as the text beside the block asks for it."""
    language, path = {"page": ("html", "shopping/index.html"), "table": ("json", "todos.json")}[
        preamble]
    text = next(other.text for other in others
                if other.path == block.path and other.language == language)
    os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
    write(folder, path, text)


def run_transcript(text, folder, environment):
    """Runs the command after the prompt, and compares what it prints. The lines of a command after
    its first are indented."""
    lines = text.removeprefix("$ ").rstrip("\n").split("\n")
    count = 1 + next(index for index, line in enumerate(lines[1:] + [""])
                     if not line.startswith(" "))
    with Process(["bash", "-c", "\n".join(lines[:count])], folder, environment) as process:
        process.ends()
    expected = "\n".join(lines[count:])
    output = process.output.rstrip("\n")
    return "" if output == expected else f"it prints\n{output}\ninstead of\n{expected}"


def start(stage, block, text, folder, environment):
    if block.language == "":
        return start_shell(stage, text, folder, environment)
    text = stage.local(text)
    preamble = block.options.get("with", "home")
    if block.language == "js":
        if preamble != "home":
            with open(os.path.join(HERE, f"{preamble}.js"), encoding="utf-8") as file:
                text = file.read() + text
        command = ["node", write(folder, "snippet.js", text)]
        environment["LOCKSTEP_CODE"] = stage.code()
    else:
        command = [sys.executable, "-u", write(folder, "snippet.py", text)]
    return Process(command, folder, environment)


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


@contextlib.contextmanager
def running_home(stage, folder):
    """A home `~/todos` that `agent run` holds, with the rules of to-dos."""
    home = os.path.join(folder, "todos")
    rules = write(folder, "todos.json", json.dumps(
        {"zone": "Todos", "types": {"Todo": {"fields": {"done": "or", "minutes": "counter"}}}}))
    run("agent", "join", "--relay", stage.relay.address, "--code", stage.code(), "--name", "home",
        home=home)
    with Process([LOCKSTEP, "agent", "run", "--home", home, "--rules", rules], folder,
                 stage.environment(folder)) as agent:
        wait_until(lambda: listens(home) or agent.process.poll() is not None, "the home to be held")
        assert agent.process.poll() is None, agent.output
        yield home


def listens(home):
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(os.path.join(home, "agent.sock")) == 0


# MARK: shell

def wait_for(port, path):
    """A line that waits until a server answers."""
    return f"until curl -q -fsS -o /dev/null http://127.0.0.1:{port}/{path}; do sleep 0.05; done"


def start_shell(stage, text, folder, environment):
    """Commands as a person types them, with the differences below."""
    if re.search(r"lockstep relay\b", text):
        # The block starts its own relay, on a free port instead of the usual one.
        port = free_port()
        address, codes = f"http://127.0.0.1:{port}", None
        environment["LOCKSTEP_LISTEN"] = f"127.0.0.1:{port}"
        text = ADDRESSES.sub(
            lambda match: address if "//" in match[0] else address.split("//")[1], text)
    else:
        address, codes = stage.relay.address, stage.code()
        text = stage.local(text)
    # The page's port.
    page = str(free_port())
    text = re.sub(r"\b8000\b", page, text)
    text = text.replace("$(scripts/build)", LOCKSTEP)
    text = re.sub(r"^xdg-open (\S+).*$", r"curl -q -fsS -o page \1", text, flags=re.MULTILINE)
    text = re.sub(r"^(.*python3 -m http.server .*)$", rf"\1 &\n{wait_for(page, '')}", text,
                  flags=re.MULTILINE)
    text = re.sub(r"^(.*agent run --home (\S+).*)$",
                  r"\1 &\nuntil [ -S \2/agent.sock ]; do kill -0 $!; sleep 0.05; done", text,
                  flags=re.MULTILINE)
    # A screen that follows the data is ended as soon as it shows something.
    text = re.sub(r"^(.*lockstep (?:agent )?\w+ watch [^#\n]*)(#.*)?$",
                  r"\1 > screen & until [ -s screen ]; do kill -0 $!; sleep 0.05; done; kill $!", text,
                  flags=re.MULTILINE)
    # A person reads the code on one device and types it on the other.
    text = re.sub(r"^(.*agent pair [^#\n]*)", r"\1 | tee pair ", text, flags=re.MULTILINE)
    code = "$(grep -oE '[0-9A-Z]{4}(-[0-9A-Z]{4}){2,5}' pair | head -1)"
    text = text.replace("--code -", f"--code {code}")
    # A server needs a moment.
    port = address.rsplit(":", 1)[1]
    text = re.sub(r"^(.*lockstep relay .*&) *(#.*)?$",
                  lambda match: f"{match[0]}\n{wait_for(port, 'livez')}", text, flags=re.MULTILINE)
    for name in ("Sources", "scripts", "docs"):
        os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))
    if codes:
        write(folder, "pair", codes)
    # An answer with an error ends the block.
    write(folder, ".curlrc", "fail-with-body\n")
    script = write(folder, "snippet.sh", "set -em -o pipefail\n" + text)
    return Process(["bash", script], folder, environment)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def programs_that_are_missing():
    return [name for name in ("node", "curl", "bash") if shutil.which(name) is None]
