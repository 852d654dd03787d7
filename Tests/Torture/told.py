"""How far each account had come by what any relay told of it: nobody may be told less after that.

The relays of a cluster are one to those who ask: what one has acknowledged, all others have. So a
token is held against those that had been told, to anybody and by any relay, before the request for
it left.
"""

import threading


def place(token):
    """The generation and the sequence that a change token stands for (Model/ChangeToken)."""
    words = token.split(".")
    return words[0], int(words[1])


class Told:
    """For all threads of a run."""

    def __init__(self, notes):
        self.notes, self.lock = notes, threading.Lock()
        self.newest = {}

    def by_now(self, account):
        """Which place whoever asks from now on must have been told at least; None at first."""
        with self.lock:
            return self.newest.get(account)

    def take(self, account, before, token, who):
        """`before`: what `by_now` gave when the request left."""
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
