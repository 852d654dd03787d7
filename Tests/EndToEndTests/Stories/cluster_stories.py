"""`scripts/cluster`: several relays on one database for experiments."""

import os
import subprocess
import sys

from story import LOCKSTEP, PATIENCE, ROOT, has_postgres, main

sys.path.insert(0, os.path.join(ROOT, "Tests", "Torture"))

import patroni_nodes  # noqa: E402

CLUSTER = os.path.join(ROOT, "scripts", "cluster")


def cluster(*words):
    return subprocess.run(
        [CLUSTER, *words], capture_output=True, text=True, timeout=2 * PATIENCE,
        env={name: value for name, value in os.environ.items() if name != "LOCKSTEP_POSTGRES"})


def story_a_command_reaches_all_relays_and_they_end_with_it():
    """The command gets the common address and that of each relay, and all are ready; the script
    has the command's exit code, and then no relay answers any more."""
    if not has_postgres():
        return
    ask = ('for each in $LOCKSTEP_RELAY $(echo $LOCKSTEP_RELAYS | tr , " "); do '
           'echo "$each $(curl -s -o /dev/null -w "%{http_code}" $each/readyz)"; done; exit 7')
    done = cluster("2", "--fast", "--binary", LOCKSTEP, "--", "sh", "-c", ask)
    assert done.returncode == 7, done
    addresses, answers = zip(*(line.split() for line in done.stdout.splitlines()))
    assert answers == ("200",) * 3, done
    assert len(set(addresses[1:])) == 2, done
    # Without a proxy the script says so, and uses the address of one relay as the common one.
    assert (addresses[0] in addresses[1:]) == ("neither haproxy nor nginx" in done.stderr), done
    for each in addresses:
        gone = subprocess.run(["curl", "-s", f"{each}/readyz"], capture_output=True,
                              timeout=PATIENCE)
        assert gone.returncode == 7, (each, gone)


def story_nodes_that_fail_over_serve_a_command_and_end_with_it():
    """With Patroni, each relay is reachable outside the networks of the nodes; nothing is left
    afterwards."""
    if patroni_nodes.missing():
        print(f"      NOT RUN: {patroni_nodes.missing()}")
        return
    ask = ('for each in $LOCKSTEP_RELAY $(echo $LOCKSTEP_RELAYS | tr , " "); do '
           'echo "$each $(curl -s -o /dev/null -w "%{http_code}" $each/readyz)"; done; exit 7')
    done = cluster("2", "--patroni", "--binary", LOCKSTEP, "--", "sh", "-c", ask)
    assert done.returncode == 7, done
    addresses, answers = zip(*(line.split() for line in done.stdout.splitlines()))
    assert answers == ("200",) * 3 and len(set(addresses)) == 3, done
    for each in addresses:
        gone = subprocess.run(["curl", "-s", f"{each}/readyz"], capture_output=True,
                              timeout=PATIENCE)
        assert gone.returncode == 7, (each, gone)


def story_what_is_no_cluster_is_refused_with_the_next_step():
    for words in (["0"], ["17"], ["two"], ["--binary"], ["--listen", "here"], ["2", "--"],
                  ["--asynchronous"], ["--patroni", "--synchronous", "--asynchronous"],
                  ["--patroni", "--fast"]):
        done = cluster(*words)
        assert done.returncode == 2 and done.stderr.startswith("scripts/cluster: "), (words, done)
        assert done.stdout == "", (words, done)


if __name__ == "__main__":
    main(globals())
