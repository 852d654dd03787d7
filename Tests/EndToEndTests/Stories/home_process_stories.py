"""Messages of a command if the process that holds its home freezes or ends: they must never claim
that nothing was done if something was done, or may still be done."""

import contextlib
import fcntl
import json
import os
import signal
import socket
import subprocess
import threading

from story import LOCKSTEP, PATIENCE, Home, Relay, folder, main, refused, run, wait_until


@contextlib.contextmanager
def ending_holder(home, answers):
    """Holds a home like a process that gives these answers and then ends. Yields the requests that
    it received."""
    requests, path = [], os.path.join(home.path, "agent.sock")
    with open(os.path.join(home.path, "lock"), "w") as lock, \
            socket.socket(socket.AF_UNIX) as listener:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        listener.bind(path)
        listener.listen()

        def answer():
            command, _ = listener.accept()
            with command, command.makefile() as lines:
                for value in answers:
                    requests.append(json.loads(lines.readline()))
                    command.sendall(json.dumps({"answer": value}).encode() + b"\n")
                requests.append(json.loads(lines.readline()))
            os.unlink(path)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield requests
        thread.join(PATIENCE)


def story_what_was_done_is_told_though_the_holder_ends_before_it_says_how_it_goes_on():
    """The memo is kept; the end of the process a moment later is not reported as a failure, which
    would make a person write it again."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory)
        view = {"view": {"name": "x"}, "lines": ["added: Milk"]}
        with ending_holder(phone, [view]) as requests:
            done = run("agent", "memo", "add", "Milk", home=phone.path)
            assert done.stdout == "added: Milk\n", done
            assert "does not report its status" in done.stderr, done
        assert [each["verb"] for each in requests] == ["order", "sync"], requests


def story_a_holder_that_ends_before_it_answers_may_have_done_it():
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory)
        with ending_holder(phone, []) as requests:
            refused("agent", "memo", "add", "Milk", home=phone.path,
                    says=["ended before it answered", "may have been applied: check before"])
        assert [each["verb"] for each in requests] == ["order"], requests


def story_a_holder_that_stands_still_may_do_it_yet():
    """It applies the memo when it continues; the message asks the person to check first."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory)
        with phone.start_agent() as agent:
            wait_until(lambda: phone.status()["state"] == "inSync", "the phone to be in sync")
            command = command_with_stopped_holder(phone, agent, "memo", "add", "Milk")
            _, error = command.communicate(timeout=PATIENCE)
            assert command.returncode == 1, error
            assert "may still be applied: check before" in error, error
            agent.process.send_signal(signal.SIGCONT)
            wait_until(lambda: "Milk" in phone.run("memo", "list"), "the memo to be there")
            assert agent.stop() == 0


def command_with_stopped_holder(home, agent, *words):
    """A command whose holder was stopped before it could take the order. A socket between the two
    forwards everything before that."""
    path = os.path.join(home.path, "agent.sock")
    os.rename(path, path + ".real")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    command = subprocess.Popen(
        [LOCKSTEP, "agent", *words, "--home", home.path], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    from_command, _ = listener.accept()
    onward = socket.socket(socket.AF_UNIX)
    onward.connect(path + ".real")
    lines, answers = from_command.makefile(), onward.makefile()
    while True:
        line = lines.readline()
        if json.loads(line)["verb"] == "order":
            agent.process.send_signal(signal.SIGSTOP)
        onward.sendall(line.encode())
        if json.loads(line)["verb"] == "order":
            break
        from_command.sendall(answers.readline().encode())
    os.rename(path + ".real", path)
    # Both ends stay open until the command has timed out.
    home.open_sockets = (listener, from_command, onward)
    return command


if __name__ == "__main__":
    main(globals())
