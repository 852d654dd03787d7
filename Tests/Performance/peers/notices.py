"""Cost of a notice (NOTIFY) for a commit, measured by pgbench: the same commits without a notice,
with one inside the transaction, and with one after it, as relays do it. PostgreSQL takes one
server-wide lock for each."""

import glob
import os
import re
import shutil
import tempfile

from programs import RunError, output_of

SESSIONS, SECONDS = (1, 3, 16), 3
# The payload as relays send it, for an account that does not exist.
WORD = "1 00000000000000ff 00000000000000ff=1"
CHANGE = "UPDATE notice_probe SET number = number + 1 WHERE session = :client_id"
NOTICE = f"pg_notify('lockstep_public', '{WORD}')"
# Each runs in one round trip.
KINDS = {
    "silent": f"BEGIN \\; {CHANGE} \\; COMMIT;\n",
    "within": f"BEGIN \\; {CHANGE} \\; SELECT {NOTICE} \\; COMMIT;\n",
    # The commit of the notice's own transaction does not wait for the disk.
    "behind": f"BEGIN \\; {CHANGE} \\; COMMIT \\; "
              f"SELECT set_config('synchronous_commit', 'off', true), {NOTICE};\n"}


class Notices:
    """Notices on a database while relays listen."""

    def __init__(self, database):
        self.database = database
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin/pgbench")) or [shutil.which("pgbench")]
        if not found[-1]:
            raise RunError("there is no pgbench; Debian's postgresql has it")
        self.program = found[-1]

    def measure(self, repetitions, progress):
        with tempfile.TemporaryDirectory() as folder:
            scripts = {name: os.path.join(folder, name) for name in KINDS}
            for name, words in KINDS.items():
                with open(scripts[name], "w") as file:
                    file.write(words)
            self.database.query(
                "CREATE TABLE notice_probe AS SELECT session, 0 AS number "
                f"FROM generate_series(0, {max(SESSIONS)}) AS session")
            try:
                return [self.beside(scripts, sessions, repetitions, progress)
                        for sessions in SESSIONS]
            finally:
                self.database.query("DROP TABLE notice_probe")

    def beside(self, scripts, sessions, repetitions, progress):
        result = {"sessions": sessions, **{name: [] for name in KINDS}}
        for repetition in range(repetitions):
            progress(f"notices of {sessions} sessions: {repetition + 1} of {repetitions}")
            for name, script in scripts.items():
                result[name].append(self.rate(script, sessions))
        for name in ("within", "behind"):
            result[name + "ToSilent"] = [
                one / other for one, other in zip(result[name], result["silent"])]
        return result

    def rate(self, script, sessions):
        output = output_of([self.program, "--no-vacuum", "--file", script,
                            "--client", str(sessions), "--jobs", "1", "--time", str(SECONDS),
                            self.database.url])
        return float(re.search(r"tps = ([\d.]+)", output)[1])
