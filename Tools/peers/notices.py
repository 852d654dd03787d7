"""What a notice adds to a commit: the same commits with and without one, by pgbench. PostgreSQL takes
one lock of the whole cluster for each that tells something."""

import glob
import os
import re
import shutil
import subprocess
import tempfile

from programs import Trouble

SESSIONS, SECONDS = (1, 3, 16), 3
# As relays say it, of an account that nobody has.
WORD = "1 00000000000000ff 00000000000000ff=1"
UPDATE = "UPDATE notice_probe SET number = number + 1 WHERE session = :client_id;\n"


class Notices:
    """Of a database whose relays listen meanwhile."""

    def __init__(self, url):
        self.url = url
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin/pgbench")) or [shutil.which("pgbench")]
        if not found[-1]:
            raise Trouble("there is no pgbench; Debian's postgresql has it")
        self.program = found[-1]

    def measure(self, repetitions, progress):
        with tempfile.TemporaryDirectory() as folder:
            scripts = {}
            for name, more in [("silent", ""), ("telling",
                                                f"SELECT pg_notify('lockstep_public', '{WORD}');\n")]:
                scripts[name] = os.path.join(folder, name)
                with open(scripts[name], "w") as file:
                    file.write(f"BEGIN;\n{UPDATE}{more}COMMIT;\n")
            self.ask("CREATE TABLE notice_probe AS SELECT session, 0 AS number "
                     f"FROM generate_series(0, {max(SESSIONS)}) AS session")
            try:
                return [self.beside(scripts, sessions, repetitions, progress)
                        for sessions in SESSIONS]
            finally:
                self.ask("DROP TABLE notice_probe")

    def beside(self, scripts, sessions, repetitions, progress):
        told = {"sessions": sessions, "silent": [], "telling": [], "ratio": []}
        for repetition in range(repetitions):
            progress(f"notices of {sessions} sessions: {repetition + 1} of {repetitions}")
            for name, script in scripts.items():
                told[name].append(self.rate(script, sessions))
            told["ratio"].append(told["telling"][-1] / told["silent"][-1])
        return told

    def rate(self, script, sessions):
        said = self.run([self.program, "--no-vacuum", "--file", script, "--client", str(sessions),
                         "--jobs", "1", "--time", str(SECONDS), self.url])
        return float(re.search(r"tps = ([\d.]+)", said)[1])

    def ask(self, question):
        self.run(["psql", "--no-psqlrc", "--quiet", "--command", question, self.url])

    @staticmethod
    def run(command):
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise Trouble(f"{command[0]}: {done.stderr.strip()}")
        return done.stdout
