"""Sets the relay's whole store back to an earlier state, without any sign of it in the
store."""

import os
import shutil

from fault_backup import BackupFault
from processes import RunError


class RollbackFault(BackupFault):
    name = "rollback"
    about = "the whole store is copied under load, and restored later without any announcement"

    def make(self, place):
        """Like a snapshot of the machine: all files at one moment."""
        relay = self.system.relay
        with relay.lock:
            if not relay.is_running:
                raise RunError("the relay does not run just now")
            relay.freeze()
            try:
                shutil.copytree(relay.store, place, ignore=shutil.ignore_patterns("*.sock"))
            except (OSError, shutil.Error) as reason:
                raise RunError(f"the store cannot be copied: {reason}") from reason
            finally:
                relay.resume()

    def put_back(self, place, store):
        for name in os.listdir(store):
            path = os.path.join(store, name)
            if os.path.isdir(path):
                shutil.rmtree(path)
            else:
                os.remove(path)
        shutil.copytree(place, store, dirs_exist_ok=True)
