"""Virtual time in microseconds, and queues in it."""

import collections
import heapq
import itertools


class Timeline:
    def __init__(self):
        self.now, self.events, self.numbers = 0.0, [], itertools.count()

    def after(self, delay, act, *given):
        heapq.heappush(self.events, (self.now + delay, next(self.numbers), act, given))

    def run(self, until):
        while self.events and self.events[0][0] <= until:
            self.now, _, act, given = heapq.heappop(self.events)
            act(*given)
        self.now = until


class Processors:
    """A number of processors that share a queue, first in, first out."""

    def __init__(self, timeline, count, waking=0):
        """`waking`: additional time if all processors were idle."""
        self.timeline, self.count, self.waking = timeline, count, waking
        self.free, self.waiting, self.busy = count, collections.deque(), 0.0

    def work(self, micros, then, *given):
        if self.free:
            slept = self.free == self.count
            self.begin(micros + (self.waking if slept else 0), then, given)
        else:
            self.waiting.append((micros, then, given))

    def begin(self, micros, then, given):
        self.free -= 1
        self.busy += micros
        self.timeline.after(micros, self.end, then, given)

    def end(self, then, given):
        self.free += 1
        if self.waiting:
            self.begin(*self.waiting.popleft())
        then(*given)

    def share(self, micros):
        """Utilisation over that time."""
        return self.busy / micros / self.count


class Log:
    """A disk that syncs all waiting writes at once; writes that arrive meanwhile wait for the
    next sync."""

    def __init__(self, timeline, draw):
        self.timeline, self.draw = timeline, draw
        self.waiting, self.is_busy, self.busy, self.syncs = [], False, 0.0, 0

    def sync(self, then):
        self.waiting.append(then)
        if not self.is_busy:
            self.begin()

    def begin(self):
        batch, self.waiting, self.is_busy = self.waiting, [], True
        micros = self.draw()
        self.busy += micros
        self.syncs += 1
        self.timeline.after(micros, self.end, batch)

    def end(self, batch):
        self.is_busy = False
        if self.waiting:
            self.begin()
        for then in batch:
            then()

    def share(self, micros):
        return self.busy / micros


class Locks:
    """Locks by name. A caller gets all its locks at once, in order of arrival."""

    def __init__(self):
        self.held, self.waiting = set(), collections.deque()

    def acquire(self, names, then):
        if self.waiting or not self.held.isdisjoint(names):
            self.waiting.append((names, then))
            return
        self.held.update(names)
        then()

    def release(self, names):
        self.held.difference_update(names)
        while self.waiting and self.held.isdisjoint(self.waiting[0][0]):
            names, then = self.waiting.popleft()
            self.held.update(names)
            then()
