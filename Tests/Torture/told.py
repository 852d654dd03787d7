"""Newest token of each account that any relay has reported. No later answer may be older.

To its clients, a cluster of relays is one relay: what one has acknowledged, all others have. So a
token is compared with the tokens that were reported to any client, by any relay, before its request
was sent.
"""

import threading


def place(token):
    """Generation and sequence of a change token (Model/ChangeToken)."""
    words = token.split(".")
    return words[0], int(words[1])


class Told:
    """Shared by all threads of a run."""

    def __init__(self, notes):
        self.notes, self.lock = notes, threading.Lock()
        self.newest = {}

    def by_now(self, account):
        """The least position that an answer to a request from now on may report; None at first."""
        with self.lock:
            return self.newest.get(account)

    def take(self, account, before, token, who):
        """`before`: result of `by_now` when the request was sent."""
        generation, sequence = place(token)
        if before and (generation, sequence) < before and generation == before[0]:
            self.notes.disorder(f"{who} was told the token {token} of {account}, after somebody "
                                f"had been told {before[0]}.{before[1]}")
        elif before and generation != before[0]:
            self.notes.disorder(f"{who} was told the token {token} of {account}, which was in the "
                                f"generation {before[0]} and nobody restored it")
        with self.lock:
            newest = self.newest.get(account)
            if newest is None or newest[1] < sequence:
                self.newest[account] = (generation, sequence)
