"""Completions in real shells, and the manual pages, as a package installs them."""

import os
import pty
import re
import select
import shlex
import shutil
import subprocess

from story import LOCKSTEP, PATIENCE, folder, main, refused, run, terminal_decoder


class Shell:
    """An interactive shell on a terminal of its own, with the program on its path."""

    def __init__(self, directory, *words, setup):
        programs = os.path.join(directory, "programs")
        if not os.path.exists(programs):
            os.mkdir(programs)
            os.symlink(os.path.abspath(LOCKSTEP), os.path.join(programs, "lockstep"))
        environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "TERM": "dumb",
                       "HOME": directory, "PS1": "$ ", "LC_ALL": "C.UTF-8"}
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(directory)
            os.execvpe(words[0], words, environment)
        self.output, self.decoder = "", terminal_decoder()
        self.send(setup + "; echo rea''dy\n")
        self.until(r"ready\r?\n")

    def send(self, text):
        os.write(self.terminal, text.encode())

    def until(self, pattern):
        while not re.search(pattern, self.output):
            assert select.select([self.terminal], [], [], PATIENCE)[0], (pattern, self.output)
            # Without the bell, which a shell may ring in the middle of a word.
            text = self.decoder.decode(os.read(self.terminal, 1 << 16))
            self.output += text.replace("\a", "")

    def complete(self, line, *patterns):
        """Types the line and Tab; each pattern must appear. Then clears the line."""
        self.output = ""
        self.send(line + "\t")
        for pattern in patterns:
            self.until(pattern)
        self.send("\x15")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.terminal)
        os.waitpid(self.process, 0)


LINES = [
    ("lockstep agent pa", r"lockstep agent pair "), ("lockstep doct", r"lockstep doctor "),
    ("lockstep agent pair --no-q", r"--no-qr "),
    ("lockstep relay --log-format=j", r"--log-format=json"),
    ("lockstep relay --log-level deb", r"--log-level debug"),
    ("lockstep relay --config rel", r"--config relay\.conf"),
    ("lockstep relay --config=rel", r"--config=relay\.conf"),
    ("lockstep relay --pages sta", r"--pages static/"),
    ("lockstep agent timer settings set foc", r"set focusMinutes="),
    ("lockstep man agent revo", r"man agent revoke"),
]


def fill(directory):
    open(os.path.join(directory, "relay.conf"), "w").close()
    os.mkdir(os.path.join(directory, "static"))


def story_tab_completes_in_bash():
    """Tab in bash, in a shell without other completions."""
    with folder() as directory:
        fill(directory)
        with Shell(directory, "bash", "--norc", "--noprofile", "-i",
                   setup="source <(lockstep completion bash)") as shell:
            for line, shown in LINES:
                shell.complete(line, shown)
            shell.complete("lockstep agent timer st\t", "start", "status", "stop")
            path = shlex.quote(os.path.abspath(LOCKSTEP))
            shell.send(f"complete -F _lockstep {path}\n")
            shell.complete(f"{path} agent rena", "agent rename")


def story_tab_completes_in_zsh():
    """Tab in zsh; a list has the help of each word."""
    if shutil.which("zsh") is None:
        print("SKIPPED: zsh is not installed", flush=True)
        return
    with folder() as directory:
        fill(directory)
        with Shell(directory, "zsh", "-f", "-i", setup="autoload -U compinit; compinit -u -D; "
                   "source <(lockstep completion zsh)") as shell:
            for line, shown in LINES:
                shell.complete(line, shown)
            shell.complete("lockstep agent timer st\t", "start +-- Starts a focus", "status", "stop")
        # As a package installs it: a file of a folder in fpath.
        with Shell(directory, "zsh", "-f", "-i", setup="mkdir f; lockstep completion zsh > "
                   "f/_lockstep; fpath=(f $fpath); autoload -U compinit; compinit -u -D") as shell:
            shell.complete("lockstep agent pa", "lockstep agent pair ")


def story_tab_completes_in_fish():
    """Completions of fish, as it lists them."""
    if shutil.which("fish") is None:
        print("SKIPPED: fish is not installed", flush=True)
        return
    with folder() as directory:
        fill(directory)
        program = os.path.join(directory, "lockstep")
        os.symlink(os.path.abspath(LOCKSTEP), program)
        asked = [line.replace("lockstep", program, 1) for line, _ in LINES]
        asked.append(f"{program} agent timer st")
        script = (f"{program} completion fish | source; "
                  + "; ".join(f"complete -C {shlex.quote(line)}; echo ===" for line in asked))
        told = subprocess.run(
            ["fish", "--no-config", "-c", script], cwd=directory, capture_output=True, text=True,
            timeout=PATIENCE, check=True, env={**os.environ, "HOME": directory})
        assert told.stderr == "", told.stderr
        answers = told.stdout.split("===\n")
        for (line, shown), answer in zip(LINES, answers):
            assert re.search(shown.split(" ")[-1 if shown[-1] != " " else -2], answer), (line, answer)
        assert "start\tStarts a focus\n" in answers[len(LINES)], answers


def story_manual_pages_for_all_commands():
    """A packager writes all pages: they name what --help lists, and man and mandoc read them without
    a warning. They are the same at every call."""
    with folder() as directory:
        first, second = os.path.join(directory, "first"), os.path.join(directory, "second")
        assert "pages are in" in run("man", "--output", first).stdout
        run("man", "--output", second)
        names = sorted(os.listdir(first))
        assert {"lockstep.1", "lockstep-relay.1", "lockstep-agent-pair.1"} <= set(names), names
        pages = [os.path.join(first, name) for name in names]
        for page, name in zip(pages, names):
            with open(page, "rb") as file, open(os.path.join(second, name), "rb") as again:
                text = file.read()
                assert text == again.read() and text.isascii(), name
        assert run("man", "agent", "pair").stdout.encode() == open(
            os.path.join(first, "lockstep-agent-pair.1"), "rb").read()
        listed = re.findall(r"^  (--[a-z-]+)", run("agent", "pair", "--help").stdout, re.M)
        pair = run("man", "agent", "pair").stdout.replace("\\-", "-")
        assert all(name in pair for name in listed if name != "--help-all"), (listed, pair)
        refused("man", "agent", "pari", code=2, says="did you mean pair?")
        refused("man", "--output", os.path.join(directory, "no", "folder"), says="cannot be made")
        for checker in (["mandoc", "-T", "lint"], ["groff", "-man", "-ww", "-z", "-T", "utf8"]):
            if shutil.which(checker[0]) is None:
                print(f"SKIPPED: {checker[0]} is not installed", flush=True)
                continue
            told = subprocess.run(
                [*checker, *pages], capture_output=True, text=True, timeout=PATIENCE, check=False)
            assert told.returncode == 0 and told.stdout == told.stderr == "", (checker, told)


if __name__ == "__main__":
    main(globals())
