"""The bench of the library for apps: figures beside bare SQLite, and nothing is left behind."""

import json
import os

from story import folder, main, refused, run

SMALL = ["bench", "library", "--rounds", "1", "--operations", "2", "--records", "50"]


def story_the_library_is_measured_beside_bare_sqlite():
    """bench library measures every part without a relay, and removes its folder."""
    with folder() as directory:
        done = run(*SMALL, "--json", environment={"TMPDIR": directory})
        table = json.loads(done.stdout)
        measures = {each["measure"]: each for each in table["measures"]}
        assert list(measures) == ["save", "transaction", "liveTotal", "live", "open", "read"]
        for each in measures.values():
            assert each["libraryMs"] > 0 and each["bareMs"] > 0 and each["ratio"] > 0, each
        assert measures["save"]["target"] == "≤ 1.5" and measures["live"]["target"] == "< 1 ms"
        holders = [each["holder"] for each in table["memory"]]
        assert holders == ["records", "live", "bare"], table["memory"]
        assert not os.listdir(directory)


def story_one_part_is_measured_alone():
    """bench library --only measures nothing else, and --alone leaves SQLite out."""
    with folder() as directory:
        done = run(*SMALL, "--only", "save", "--alone", environment={"TMPDIR": directory})
        assert "a durable save of one record" in done.stdout, done.stdout
        assert "transaction" not in done.stdout and "memory" not in done.stdout, done.stdout
        assert not os.listdir(directory)


def story_a_memory_without_a_home_is_refused():
    """bench library --memory-of needs --folder."""
    refused("bench", "library", "--memory-of", "bare", says=["--folder"], code=2)


if __name__ == "__main__":
    main(globals())
