"""Measures how soon the page is usable on a slow phone: python3 speed.py [--json]

The phone: Chromium with a processor that is slowed down four times, and a line of 1.6 Mbit/s down
and 750 kbit/s up with 150 ms to each answer. Its device has an account and a running countdown.
The page is usable when the countdown is painted with its buttons; one of them is then pressed.

  cold     nothing of the page is kept, as after an upgrade of the relay without a service worker
  cached   the service worker has the page's files
  offline  the same, without a relay

Bytes are those on the line, headers included, until the page is usable, and at the end, when the
service worker has all of its copy. The chain counts requests that wait for each other: the page is
the first one.
"""

import json
import os
import socket
import statistics
import sys
import threading

from playwright.sync_api import expect, sync_playwright

from relay import Relay
from stage import CHROMIUM, Visitor

RUNS = 5
SLOWDOWN = 4
LINE = {
    "offline": False, "latency": 150, "downloadThroughput": 1_600_000 / 8,
    "uploadThroughput": 750_000 / 8,
}
PHONE = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2}
# Names of the figures, their units and digits.
FIGURES = {
    "firstPaint": ("first paint", "ms"), "usable": ("usable", "ms"),
    "bytes": ("bytes until usable", "kB"), "bytesInTotal": ("bytes in total", "kB"),
    "requests": ("requests until usable", ""), "chain": ("longest chain", ""),
    "layoutShift": ("layout shift", ""),
}
# Notes when the countdown and its buttons have been painted, and how far things have moved.
OBSERVER = """
addEventListener("DOMContentLoaded", () => {
  window.lockstepSpeed = { usable: null, shift: 0 };
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if (!entry.hadRecentInput) window.lockstepSpeed.shift += entry.value;
    }
  }).observe({ type: "layout-shift", buffered: true });
  const look = () => {
    const time = document.querySelector('#main [role="timer"]')?.textContent ?? "";
    const button = document.querySelector("#main .timer-orders button:not([disabled])");
    if (!/^[0-9:]+$/.test(time) || !button?.offsetWidth) {
      requestAnimationFrame(look);
      return;
    }
    // The frame is painted before the next task.
    requestAnimationFrame(() => setTimeout(() => {
      window.lockstepSpeed.usable = performance.now();
    }));
  };
  look();
});
"""


class Meter:
    """Forwards connections to the relay, and counts the bytes that come back."""

    def __init__(self, url):
        self.target = url.removeprefix("http://").split(":")
        self.bytes = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(self.target)
            except OSError:
                near.close()
                continue
            threading.Thread(target=self._serve, args=(near, far), daemon=True).start()

    def _serve(self, near, far):
        with near, far:
            ways = [threading.Thread(target=self._forward, args=way, daemon=True)
                    for way in ((near, far, False), (far, near, True))]
            for way in ways:
                way.start()
            for way in ways:
                way.join()

    def _forward(self, source, target, counts):
        try:
            while data := source.recv(1 << 16):
                if counts:
                    self.bytes += len(data)
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        # A thread that waits for connections keeps a socket that is only closed.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


class Chain:
    """Requests of a page, and how many each has waited for."""

    def __init__(self, session, url):
        self.url, self.depths = url, {}
        session.on("Network.requestWillBeSent", self._sent)
        session.on("Network.webSocketCreated", self._sent)

    def _sent(self, event):
        url = event.get("url") or event["request"]["url"]
        if not url.startswith((self.url, self.url.replace("http", "ws"))):
            return
        initiator = event.get("initiator", {})
        stack = initiator.get("stack")
        while stack and not stack.get("callFrames"):
            stack = stack.get("parent")
        by = stack["callFrames"][0]["url"] if stack else initiator.get("url", "")
        self.depths.setdefault(url.split("#")[0], self.depths.get(by.split("#")[0], 0) + 1)


class Phone:
    """A person whose timer runs. Each measurement opens the page anew."""

    def __init__(self, browser):
        self.browser = browser
        self.relay = Relay()
        self.meter = Meter(self.relay.url)
        self.relay.url, own = self.meter.url, self.relay.url
        self.person = Visitor(self, self.relay, service_workers="allow", **PHONE)
        self.relay.url = own
        self.person.may_miss_the_relay = True
        self.person.make_account()
        self.person.press("Start focus")
        self.person.is_in_sync()
        self.person.has_its_files_kept()
        self.person.closes()
        self.person.context.add_init_script(OBSERVER)

    def close(self):
        self.person.close()
        self.meter.close()
        self.relay.close()

    def measure(self, mode):
        page = self.person.context.new_page()
        session = self.person.context.new_cdp_session(page)
        session.send("Network.enable")
        if mode == "cold":
            session.send("Storage.clearDataForOrigin", {
                "origin": self.meter.url, "storageTypes": "service_workers,cache_storage"})
            session.send("Network.clearBrowserCache")
        session.send("Network.emulateNetworkConditions", LINE)
        session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWDOWN})
        chain = Chain(session, self.meter.url)
        before = self.meter.bytes
        page.goto(f"{self.meter.url}/#timer", wait_until="commit")
        page.wait_for_function("() => window.lockstepSpeed?.usable")
        bytes_until_usable = self.meter.bytes - before
        requests = len(chain.depths)
        self._has_answered(page)
        found = page.evaluate("""() => ({ ...lockstepSpeed,
          paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime })""")
        session.send("Emulation.setCPUThrottlingRate", {"rate": 1})
        session.send("Network.emulateNetworkConditions", {
            **LINE, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1})
        if mode != "offline":
            page.wait_for_function("() => navigator.serviceWorker.controller !== null")
            page.wait_for_load_state("networkidle")
        figures = {
            "firstPaint": found["paint"], "usable": found["usable"], "requests": requests,
            "bytes": bytes_until_usable, "bytesInTotal": self.meter.bytes - before,
            "chain": max(chain.depths.values()), "layoutShift": found["shift"],
        }
        page.close()
        return figures

    @staticmethod
    def _has_answered(page):
        """Presses a button of the countdown, and its counterpart."""
        for name, then in (("Pause", "Resume"), ("Resume", "Pause")):
            page.get_by_role("button", name=name, exact=True).click()
            expect(page.get_by_role("button", name=then, exact=True)).to_be_visible()


def measured():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        phone = Phone(browser)
        try:
            runs = {mode: [phone.measure(mode) for _ in range(RUNS)]
                    for mode in ("cold", "cached")}
            phone.relay.stop()
            runs["offline"] = [phone.measure("offline") for _ in range(RUNS)]
        finally:
            phone.close()
            browser.close()
    return {
        mode: {figure: spread([run[figure] for run in all_runs]) for figure in FIGURES}
        for mode, all_runs in runs.items()}


def spread(values):
    return {"median": statistics.median(values), "least": min(values), "most": max(values)}


def text(figure, value):
    unit = FIGURES[figure][1]
    if figure == "layoutShift":
        return f"{value:.3f}"
    return f"{value / 1000:.1f}" if unit == "kB" else f"{value:.0f}"


def main():
    load = os.getloadavg()
    found = measured()
    if "--json" in sys.argv[1:]:
        print(json.dumps({
            "slowdown": SLOWDOWN, "line": LINE, "runs": RUNS, "loadBefore": load[0],
            "processors": os.cpu_count(), "modes": found}))
        return
    print(f"Median of {RUNS} (least to most); processor {SLOWDOWN} times slower, "
          f"1.6 Mbit/s, 150 ms; load average {load[0]:.1f} before, on {os.cpu_count()} processors.")
    for mode, figures in found.items():
        print(f"\n{mode}")
        for figure, (name, unit) in FIGURES.items():
            it = {key: text(figure, value) for key, value in figures[figure].items()}
            print(f"  {name:22} {it['median']:>8} {unit:2} ({it['least']} to {it['most']})")


if __name__ == "__main__":
    main()
