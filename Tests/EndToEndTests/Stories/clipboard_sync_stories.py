"""`lockstep clipboard watch --sync`: the clipboard of a desktop and of the account are one. The
desktop's programs are stand-ins here, and in one story the real ones on a virtual screen."""

import contextlib
import json
import os
import shutil
import signal
import stat
import subprocess

from story import PATIENCE, Background, Home, Relay, folder, main, refused, run, wait_until

# Each script answers for the desktop in the folder $DESKTOP: `contents` and `types` are what was
# copied, a line in the pipe `changes` reports a change, and `gone` stands for a session's end.
FAKES = {
    "wl-paste": """
        if [ -e "$DESKTOP/gone" ]; then echo "Failed to connect to a Wayland server" >&2; exit 1; fi
        case "$1" in
        --watch)
            shift
            exec 3<> "$DESKTOP/changes"
            "$@" < "$DESKTOP/contents"
            while read -r line <&3; do
                [ "$line" != end ] || exit 1
                "$@" < "$DESKTOP/contents"
            done ;;
        --list-types)
            if ! [ -s "$DESKTOP/types" ]; then echo "Nothing is copied" >&2; exit 1; fi
            cat "$DESKTOP/types" ;;
        *)
            echo "$*" >> "$DESKTOP/read"
            cat "$DESKTOP/contents" ;;
        esac""",
    "wl-copy": """
        cat > "$DESKTOP/new"
        mv "$DESKTOP/new" "$DESKTOP/contents"
        echo "text/plain;charset=utf-8" > "$DESKTOP/types"
        echo $$ >> "$DESKTOP/holders"
        echo changed 1<> "$DESKTOP/changes"
        exec cat "$DESKTOP/never" """,
    "xclip": """
        if [ -e "$DESKTOP/gone" ]; then echo "Error: Can't open display: :9" >&2; exit 1; fi
        case "$*" in
        *TARGETS*)
            if ! [ -s "$DESKTOP/types" ]; then
                echo "Error: target TARGETS not available" >&2; exit 1
            fi
            cat "$DESKTOP/types" ;;
        *-o*) cat "$DESKTOP/contents" ;;
        *)
            cat > "$DESKTOP/new"
            mv "$DESKTOP/new" "$DESKTOP/contents"
            printf "TARGETS\\nUTF8_STRING\\n" > "$DESKTOP/types"
            echo $$ >> "$DESKTOP/holders"
            exec cat "$DESKTOP/never" ;;
        esac""",
}


class Desktop:
    """A desktop's clipboard, whose programs are scripts."""

    types = "text/plain;charset=utf-8\nUTF8_STRING\n"

    def __init__(self, directory, *programs, variable="WAYLAND_DISPLAY"):
        self.path = os.path.join(directory, "desktop")
        programs_path = os.path.join(directory, "programs")
        os.mkdir(self.path)
        os.mkdir(programs_path)
        for pipe in ["changes", "never"]:
            os.mkfifo(os.path.join(self.path, pipe))
        self.put("contents", "")
        self.put("types", "")
        for name in programs:
            script = os.path.join(programs_path, name)
            with open(script, "w") as file:
                file.write("#!/bin/sh\n" + FAKES[name] + "\n")
            os.chmod(script, stat.S_IRWXU)
        self.environment = {
            "DISPLAY": "", "WAYLAND_DISPLAY": "", variable: "wayland-9", "DESKTOP": self.path,
            "PATH": f"{programs_path}:/usr/bin:/bin"}

    def put(self, name, text):
        """Writes a file at once: nobody reads half of it."""
        path = os.path.join(self.path, name)
        with open(path + ".new", "w") as file:
            file.write(text)
        os.rename(path + ".new", path)

    def text(self, name="contents"):
        try:
            with open(os.path.join(self.path, name)) as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def report(self, line="changed"):
        pipe = os.open(os.path.join(self.path, "changes"), os.O_RDWR)
        os.write(pipe, line.encode() + b"\n")
        os.close(pipe)

    def copy(self, text, types=None):
        """A person copies something."""
        self.put("types", "")
        self.put("contents", text)
        self.put("types", types or self.types)
        self.report()

    def holders(self):
        """The processes that hold a text for others."""
        return [int(line) for line in self.text("holders").split()]

    def sync(self, home, *words):
        """Starts the command; returns once it syncs."""
        command = Background(
            "clipboard", "watch", "--sync", "--json", *words, "--home", home.path,
            environment=self.environment)
        says(command, "is synced")
        return command


def says(command, words):
    """Waits until the command says the words on standard error."""
    wait_until(lambda: any(words in line for line in command.errors), f"the words {words!r}")


def transfer(command):
    """The next transfer that the command reports: where to, and how many characters."""
    line = json.loads(command.line())
    assert set(line) == {"at", "to", "name", "characters"}, line
    return line["to"], line["characters"]


def texts(home):
    return [each["content"] for each in home.json("clipboard", "list")["items"]]


def has_ended(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().split()[2] == "Z"
    except FileNotFoundError:
        return True


@contextlib.contextmanager
def desk_and_phone():
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory, "phone")
        yield directory, relay, phone.pair(relay, directory, "desk"), phone


def both_ways(desktop, desk, phone, command):
    """A copy on each side arrives at the other, once."""
    desktop.copy("hello")
    assert transfer(command) == ("account", 5)
    wait_until(lambda: texts(phone)[:1] == ["hello"], "the copy on the phone")
    phone.run("clipboard", "add", "from the phone\n")
    assert transfer(command) == ("desktop", 15)
    wait_until(lambda: desktop.text() == "from the phone\n", "the item on the desktop")
    # What was written there is not sent back: the next transfer is that of the next copy.
    desktop.copy("third")
    assert transfer(command) == ("account", 5)
    wait_until(lambda: texts(phone)[:1] == ["third"], "the third copy on the phone")
    assert texts(phone) == ["third", "from the phone\n", "hello"], texts(phone)


def story_a_desktop_and_a_phone_have_one_clipboard():
    """Under Wayland: copies go both ways, once. Blank texts, images and marked passwords stay on
    the desktop, and a password is not even read. Ctrl-C ends all programs."""
    with desk_and_phone() as (directory, _, desk, phone):
        phone.run("clipboard", "add", "before")
        desktop = Desktop(directory, "wl-paste", "wl-copy")
        desktop.copy("mine")
        with desktop.sync(desk) as command:
            assert desktop.text() == "mine", "what is there at the start stays"
            refused("clipboard", "watch", "--sync", home=desk.path, says="already",
                    environment=desktop.environment)
            phone.run("clipboard", "clear")
            both_ways(desktop, desk, phone, command)
            reads = desktop.text("read")
            desktop.copy("123456", "x-kde-passwordManagerHint\n" + desktop.types)
            says(command, "marked as a password")
            assert desktop.text("read") == reads, "the password was read"
            for text, types in [(" \n", None), ("\x89PNG", "image/png\n")]:
                desktop.copy(text, types)
            desktop.copy("x" * (256 * 1024 + 1))
            says(command, "more than 256 KiB")
            desktop.copy("fourth 电脑")
            assert transfer(command) == ("account", 9)
            wait_until(lambda: len(texts(phone)) == 4, "the fourth copy on the phone")
            assert texts(phone)[0] == "fourth 电脑", texts(phone)
            # A pinned item comes first in the list, and is not the newest for that.
            phone.run("clipboard", "pin", "4")
            phone.run("clipboard", "add", "beside a pin")
            assert transfer(command) == ("desktop", 12)
            wait_until(lambda: desktop.text() == "beside a pin", "the item on the desktop")
            assert texts(phone)[0] == "hello", texts(phone)
            assert desktop.holders()
            assert command.stop(signal.SIGINT) == 0
            assert all(has_ended(process) for process in desktop.holders())


def story_a_desktop_is_synced_beside_a_running_agent_and_without_a_relay():
    """The process that holds the home may be another one, and end; the relay may be away: copies
    are kept and arrive later."""
    with desk_and_phone() as (directory, relay, desk, phone):
        desktop = Desktop(directory, "wl-paste", "wl-copy")
        with desk.start_agent() as agent, desktop.sync(desk) as command:
            both_ways(desktop, desk, phone, command)
            relay.stop()
            desktop.copy("offline")
            assert transfer(command) == ("account", 7)
            agent.stop()
            desktop.copy("without an agent")
            assert transfer(command) == ("account", 16)
            relay.start()
            wait_until(lambda: texts(phone)[:2] == ["without an agent", "offline"],
                       "the copies on the phone")
            phone.run("clipboard", "add", "back")
            assert transfer(command) == ("desktop", 4)
            wait_until(lambda: desktop.text() == "back", "the item on the desktop")
            assert command.stop() == 0


def story_the_desktops_session_ends_and_another_begins():
    """The command waits for it, and goes on; what the new session has at its start stays there."""
    with desk_and_phone() as (directory, _, desk, phone):
        desktop = Desktop(directory, "wl-paste", "wl-copy")
        with desktop.sync(desk) as command:
            desktop.put("gone", "")
            desktop.report("end")
            says(command, "waiting for it")
            desktop.put("contents", "of the new session")
            desktop.put("types", desktop.types)
            os.remove(os.path.join(desktop.path, "gone"))
            says(command, "answers again")
            desktop.copy("one more")
            assert transfer(command) == ("account", 8)
            wait_until(lambda: texts(phone) == ["one more"], "the copy on the phone")
            assert command.stop() == 0


def story_under_x11_the_clipboard_is_read_at_intervals():
    """Without clipnotify, copies go both ways as well, and what switches the clipboard off holds
    for the desktop, too."""
    with desk_and_phone() as (directory, _, desk, phone):
        desktop = Desktop(directory, "xclip", variable="DISPLAY")
        with desktop.sync(desk) as command:
            both_ways(desktop, desk, phone, command)
            run("clipboard", "off", home=desk.path)
            desktop.copy("private")
            says(command, "switched off")
            run("clipboard", "on", home=desk.path)
            desktop.copy("public")
            assert transfer(command) == ("account", 6)
            wait_until(lambda: texts(phone)[0] == "public", "the copy on the phone")
            assert "private" not in texts(phone), texts(phone)
            assert command.stop() == 0


def story_without_a_desktop_the_next_step_is_said():
    """No session, no programs, a session that does not answer: one sentence, and exit code 1."""
    with folder() as directory, Relay() as relay:
        home = Home.new(relay, directory)
        empty = os.path.join(directory, "empty")
        os.mkdir(empty)
        none = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "PATH": empty}
        words = ["clipboard", "watch", "--sync"]
        for variables, part in [
            ({}, "neither WAYLAND_DISPLAY nor DISPLAY"),
            ({"WAYLAND_DISPLAY": "wayland-9"}, "install the package wl-clipboard"),
            ({"DISPLAY": ":9"}, "install the package xclip"),
        ]:
            refused(*words, home=home.path, environment={**none, **variables}, says=part)
        desktop = Desktop(directory, "wl-paste", "wl-copy")
        desktop.put("gone", "")
        refused(*words, home=home.path, environment=desktop.environment,
                says=["does not answer", "Wayland server"])


@contextlib.contextmanager
def virtual_screen():
    """An X server without a screen; yields its display's name."""
    readable, writable = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writable), "-nolisten", "tcp"], pass_fds=[writable],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(writable)
    try:
        with os.fdopen(readable) as file:
            yield ":" + file.readline().strip()
    finally:
        server.terminate()
        server.wait(timeout=PATIENCE)


class Screen:
    """The clipboard of an X server, used by xclip."""

    def __init__(self, display):
        self.environment = {"DISPLAY": display, "WAYLAND_DISPLAY": ""}

    def copy(self, text, selection="clipboard"):
        """The program that holds the text goes on in the background."""
        subprocess.run(
            ["xclip", "-selection", selection, "-i"], input=text, text=True, check=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=PATIENCE,
            env={**os.environ, **self.environment})

    def text(self, selection="clipboard"):
        return subprocess.run(
            ["xclip", "-selection", selection, "-o"], capture_output=True, text=True,
            timeout=PATIENCE, env={**os.environ, **self.environment}).stdout

    sync = Desktop.sync


def story_the_real_clipboard_of_a_screen_is_synced():
    """With xclip on a real X server: both ways, and what is marked with the mouse stays as it
    is."""
    missing = [name for name in ["Xvfb", "xclip"] if shutil.which(name) is None]
    if missing:
        print(f"SKIPPED: {', '.join(missing)} not installed (scripts/libraries --all)", flush=True)
        return
    with virtual_screen() as display, desk_and_phone() as (_, _, desk, phone):
        screen = Screen(display)
        screen.copy("marked", "primary")
        with screen.sync(desk) as command:
            both_ways(screen, desk, phone, command)
            large = "wide 电脑 " * 4_000
            phone.run("clipboard", "add", large)
            assert transfer(command) == ("desktop", len(large))
            wait_until(lambda: screen.text() == large, "the large item on the desktop")
            assert screen.text("primary") == "marked"
            assert command.stop(signal.SIGINT) == 0


if __name__ == "__main__":
    main(globals())
