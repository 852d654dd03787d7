"""Newest token of each account that any relay has reported. No later answer may be older.

To its clients, a cluster of relays is one relay: what one has acknowledged, all others have. So a
token is compared with the tokens that were reported to any client, by any relay, before its request
was sent.
"""

import threading


def position(token):
    """Generation and sequence of a change token (Model/ChangeToken)."""
    words = token.split(".")
    return words[0], int(words[1])


class NewestTokens:
    """The newest position by account. Shared by all threads of a run."""

    def __init__(self, run_log):
        self.run_log, self.lock = run_log, threading.Lock()
        self.newest = {}

    def floor(self, account):
        """The least position that an answer to a request from now on may report; None at first."""
        with self.lock:
            return self.newest.get(account)

    def check(self, account, before, token, who):
        """`before`: result of `floor` when the request was sent."""
        generation, sequence = position(token)
        if before and (generation, sequence) < before and generation == before[0]:
            self.run_log.order_violation(
                f"{who} was told the token {token} of {account}, after somebody "
                f"had been told {before[0]}.{before[1]}")
        elif before and generation != before[0]:
            self.run_log.order_violation(
                f"{who} was told the token {token} of {account}, which was in the "
                f"generation {before[0]} and nobody restored it")
        with self.lock:
            newest = self.newest.get(account)
            if newest is None or newest[1] < sequence:
                self.newest[account] = (generation, sequence)
