"""A relay answers a save only after it is on the disk."""

import os
import re
import tempfile

from story import Person, Relay, main, record


def story_an_answer_waits_for_its_fsync():
    """System calls of a relay, traced: an fsync comes between the arrival of a save and its
    answer."""
    with tempfile.TemporaryDirectory() as directory:
        trace = os.path.join(directory, "trace")
        calls = "fsync,fdatasync,read,recvfrom,recvmsg,write,writev,sendto,sendmsg"
        wrapper = ["strace", "-f", "-qq", "-s", "4096", "-e", f"trace={calls}", "-o", trace]
        with Relay("--loops", "1", wrapper=wrapper) as relay:
            person = Person.new(relay)
            for n in range(5):
                assert person.save(record(f"traced-{n}")).status == 200
            relay.stop()
        with open(trace, errors="replace") as file:
            lines = file.read().splitlines()
        for n in range(5):
            name = f"traced-{n}"
            asked = next(k for k, line in enumerate(lines) if name in line and "fields" in line)
            # A sync completed after the request came and before the answer was sent.
            answered = next(
                k for k, line in enumerate(lines)
                if k > asked and name in line and "results" in line
                and re.search(r"write|send", line))
            between = lines[asked:answered]
            assert any(re.search(r"f(data)?sync.*= 0", line) for line in between), between


if __name__ == "__main__":
    main(globals())
