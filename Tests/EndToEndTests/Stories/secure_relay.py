"""A relay with TLS, with a certificate that `scripts/test-certificate` makes once for all
stories."""

import atexit
import os
import re
import shutil
import subprocess

from story import ROOT, Relay, curl, folder

KEPT = folder()
MADE = KEPT.__enter__()
atexit.register(KEPT.__exit__, None, None, None)
CA, CERTIFICATE, KEY = (os.path.join(MADE, name) for name in ("ca.pem", "server.pem", "server.key"))


def make(directory, *names):
    script = os.path.join(ROOT, "scripts", "test-certificate")
    done = subprocess.run([script, directory, *names], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


class SecureRelay(Relay):
    """A relay with TLS, with its own certificate files."""

    def __init__(self, *options, **more):
        super().__init__(*options, **more)
        self.certificate = os.path.join(self.directory, "server.pem")
        self.key = os.path.join(self.directory, "server.key")
        self.show(CERTIFICATE, KEY)
        self.options += ["--tls-cert", self.certificate, "--tls-key", self.key]

    def show(self, certificate, key):
        shutil.copy(certificate, self.certificate)
        shutil.copy(key, self.key)

    def count(self, reason):
        """Number of connections refused for this reason."""
        text = curl(self.admin, "GET", "/metrics").body.decode()
        return int(re.search(r'rejected_total\{reason="%s"\} (\d+)' % reason, text).group(1))


make(MADE)
