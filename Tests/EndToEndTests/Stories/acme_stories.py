"""The relay gets its certificate by itself (docs/relay/acme.md): the real program, and an authority that
validates it over loopback."""

import asyncio
import json
import os
import re
import signal
import socket
import ssl
import stat
import threading

import websockets

from acme_authority import Authority, Problem
from story import (
    PATIENCE, Relay, curl, expect, folder, main, new_id, record, refused, run, wait_until)

NAME = "sync.relay.example"
FRESH = "there is a new certificate"
FAILED = "there is no new certificate"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class CertifiedRelay(Relay):
    """A relay whose certificate is from `authority`. `http`: it has a listener without TLS."""

    def __init__(self, authority, *options, http=False, **more):
        super().__init__(
            *authority.options, "--acme-domain", NAME, "--acme-email", "me@relay.example", *options,
            **more)
        self.authority = authority
        self.http_port = free_port() if http else None
        if http:
            self.options += ["--http-listen", f"127.0.0.1:{self.http_port}"]
        # A validation may come as soon as the relay listens.
        self.port = free_port()
        authority.tls_port, authority.http_port = self.port, self.http_port

    @property
    def files(self):
        return os.path.join(self.store, "acme", f"localhost_{self.authority.port}")

    def wait_for(self, text, count=1):
        wait_until(lambda: self.text().count(text) >= count,
                   lambda: f"{text!r} in\n{self.text()}")

    def ask_again(self):
        os.kill(self.id, signal.SIGHUP)

    def serial(self):
        """The number of the certificate that a new connection gets; it must be trusted."""
        trust = ssl.create_default_context(cafile=self.authority.root)
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as raw:
            with trust.wrap_socket(raw, server_hostname=NAME) as secure:
                return secure.getpeercert()["serialNumber"]

    def curl(self, method, path, *more, **options):
        self.address = f"https://{NAME}:{self.port}"
        return curl(self, method, path, *more, **options, options=[
            "--http1.1", "--cacert", self.authority.root, "--resolve",
            f"{NAME}:{self.port}:127.0.0.1"])


def story_certificate_by_tls_alpn():
    """One command, and devices reach the relay by https; before the certificate is there, no
    handshake succeeds. The files are for the relay's user alone."""
    with folder() as directory, Authority(directory) as authority:
        with CertifiedRelay(authority) as relay:
            relay.wait_for(FRESH)
            assert "agrees to the terms of service " + authority.origin in relay.text()
            expect(relay.curl("GET", "/v1/time"), 200)
            account = next(iter(authority.accounts.values()))
            assert account["contact"] == ["mailto:me@relay.example"], account
            names = sorted(os.listdir(relay.files))
            assert names == ["account.json", "certificate.pem", "lock", "progress.json"], names
            for name in names:
                mode = os.stat(os.path.join(relay.files, name)).st_mode
                assert stat.S_IMODE(mode) == 0o600, (name, oct(mode))
            # A validation that nobody expects is refused.
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            context.set_alpn_protocols(["acme-tls/1"])
            with socket.create_connection(("127.0.0.1", relay.port), timeout=PATIENCE) as raw:
                try:
                    context.wrap_socket(raw, server_hostname=NAME)
                    raise AssertionError("it was answered")
                except ssl.SSLError as error:
                    assert "ALERT" in str(error).upper(), error
            assert relay.stop() == 0


def story_certificate_by_http():
    """With a listener without TLS, the authority validates there, and browsers are sent on to
    https, never to a host that the relay is not."""
    with folder() as directory, Authority(directory) as authority:
        authority.kinds = ["http-01", "dns-01"]
        with CertifiedRelay(authority, http=True) as relay:
            relay.wait_for(FRESH)
            relay.serial()
            relay.address = f"http://127.0.0.1:{relay.http_port}"
            for host in (NAME, "evil.example", "127.0.0.1"):
                answer = curl(relay, "GET", "/some%20path?a=b", headers=[f"Host: {host}"])
                assert answer.status == 308, answer
                assert answer.headers["location"] == f"https://{NAME}/some%20path?a=b", answer
            path = "/.well-known/acme-challenge/"
            assert curl(relay, "GET", path + "other").status == 404
            token = authority.authorizations["1-0"]["token"]
            assert curl(relay, "GET", path + token).status == 404, "it is over"
            # Neither a silent client nor another protocol keeps the listener from others.
            silent = [socket.create_connection(("127.0.0.1", relay.http_port)) for _ in range(8)]
            silent[0].sendall(b"\x16\x03\x01\x02\x00\x01\x00")
            silent[0].settimeout(PATIENCE)
            assert b"400" in silent[0].recv(64)
            assert curl(relay, "HEAD", "/").status == 308
            for each in silent:
                each.close()
            assert relay.stop() == 0


def story_renewal_keeps_connections():
    """The authority asks for a renewal: new connections get the new certificate, and a WebSocket
    that was open before stays and works."""
    with folder() as directory, Authority(directory) as authority:
        authority.window = (80_000, 81_000)
        with CertifiedRelay(authority) as relay:
            relay.wait_for(FRESH)
            first = relay.serial()
            relay.ask_again()
            wait_until(lambda: authority.count("/renewal/") == 1, "the question for the time")
            body = {"deviceName": "one", "platform": "test", "appVersion": "1"}
            token = expect(relay.curl("POST", "/v1/accounts", body), 201).json["token"]

            async def scene():
                trust = ssl.create_default_context(cafile=authority.root)
                async with websockets.connect(
                        f"wss://{NAME}:{relay.port}/v1/socket", host="127.0.0.1", port=relay.port,
                        ssl=trust, server_hostname=NAME, subprotocols=["lockstep.v1"]) as one:
                    await one.send(json.dumps({"op": "hello", "token": token}))
                    assert json.loads(await one.recv())["op"] == "welcome"
                    # Its time is now. The owner need not wait for the next question.
                    authority.window = (-60, -30)
                    relay.ask_again()
                    await asyncio.to_thread(relay.wait_for, FRESH, 2)
                    assert await asyncio.to_thread(relay.serial) != first
                    batch = {"id": new_id(), "records": [record("pushed")]}
                    await asyncio.to_thread(lambda: expect(relay.curl(
                        "POST", "/v1/zones/Notes/records", batch, token=token), 200))
                    return json.loads(await asyncio.wait_for(one.recv(), PATIENCE))

            received = asyncio.run(scene())
            assert received["op"] == "changed", received
            assert authority.orders["2"]["replaces"], authority.orders["2"]
            assert len(authority.accounts) == 1


def story_short_certificate_is_renewed_by_its_validity():
    """An authority without renewal information: more than half of the validity is over at the start,
    so the relay renews, once, whatever the authority gives."""
    with folder() as directory, Authority(directory) as authority:
        authority.validity = (-7_000, 3_000)
        with CertifiedRelay(authority) as relay:
            relay.wait_for(FRESH)
            relay.stop()
            relay.start()
            relay.wait_for("the stored certificate is used")
            relay.ask_again()
            relay.wait_for(FRESH)
            assert len(authority.orders) == 2
            relay.serial()


def story_restart_uses_what_is_there():
    """A restart asks the authority for nothing; another relay cannot use the same folder."""
    with folder() as directory, Authority(directory) as authority:
        with CertifiedRelay(authority) as relay:
            relay.wait_for(FRESH)
            first = relay.serial()
            said = refused(
                "relay", "--listen", "127.0.0.1:0", "--store", os.path.join(directory, "other"),
                *authority.options, "--acme-domain", NAME, "--acme-folder",
                os.path.join(relay.store, "acme"), says="another relay uses")
            assert "--acme-folder" in said
            relay.stop()
            before = len(authority.requests)
            relay.start()
            relay.wait_for("the stored certificate is used")
            assert relay.serial() == first
            assert len(authority.requests) == before


def story_crash_in_the_middle():
    """The relay is killed at each step. The next start waits as after a failure, takes the same
    account and the same order, and finishes."""
    with folder() as directory, Authority(directory) as authority:
        authority.bad_nonce_every = 0
        with CertifiedRelay(authority) as relay:
            for path in ("/account", "/order", "/authorizations/", "/finalize/", "/certificates/"):
                reached, go_on = threading.Event(), threading.Event()

                def stuck(handler, reached=reached, go_on=go_on):
                    reached.set()
                    go_on.wait(PATIENCE)

                authority.answers = {path: stuck}
                if path == "/order":
                    # The directory that is listed first is the longest one that fits.
                    authority.answers["/orders/"] = None
                relay.ask_again()
                assert reached.wait(PATIENCE), (path, relay.text())
                relay.kill()
                authority.answers = {}
                go_on.set()
                before = len(authority.requests)
                relay.start()
                relay.wait_for("no certificate is requested yet, as the last attempt failed")
                assert len(authority.requests) == before
            relay.ask_again()
            relay.wait_for(FRESH)
            relay.serial()
            assert len(authority.accounts) == 1 and len(authority.orders) == 1, authority.orders
            assert len(authority.certificates) == 1


def story_authority_down_and_back():
    """The relay runs without a certificate, says why and when it asks again, and asks later and
    later."""
    with folder() as directory:
        authority = Authority(directory).start()
        authority.stop()
        with CertifiedRelay(authority) as relay:
            relay.wait_for("the authority cannot be reached")
            # The port is that of nobody: the kernel refuses the connection.
            assert "Connection refused" in relay.text(), relay.text()
            assert "send SIGHUP (next 20" in relay.text(), relay.text()
            relay.ask_again()
            relay.wait_for(FAILED, 2)
            with open(os.path.join(relay.files, "progress.json")) as file:
                assert json.load(file)["failures"] == 2
            with authority:
                relay.ask_again()
                relay.wait_for(FRESH)
                relay.serial()


def story_authority_refuses():
    """Each refusal is one line with the reason of the authority and a next step. A pause that the
    authority asks for holds also for the owner."""
    with folder() as directory, Authority(directory) as authority:
        with CertifiedRelay(authority) as relay:
            relay.wait_for(FRESH)
            relay.stop()
        cases = [
            (Problem(400, "rejectedIdentifier", "not \x1b[31mthis\nname"), "check --acme-domain"),
            (Problem(403, "caa", "CAA record forbids it"), "change its CAA record"),
            (Problem(403, "userActionRequired", "new terms"), "follow its text"),
            (Problem(500, "serverInternal", "out of order"), "out of order"),
        ]
        authority.refusal = cases[0][0]
        with CertifiedRelay(authority) as relay:
            for number, (refusal, says) in enumerate(cases):
                if number > 0:
                    authority.refusal = refusal
                    relay.ask_again()
                relay.wait_for(FAILED, number + 1)
                line = [line for line in relay.text().splitlines() if FAILED in line][-1]
                assert says in line and "\x1b" not in line, line
            authority.refusal = Problem(
                429, "rateLimited", "too many certificates", **{"Retry-After": "7200"})
            relay.ask_again()
            relay.wait_for(FAILED, len(cases) + 1)
            before = len(authority.requests)
            relay.ask_again()
            relay.wait_for("the authority has asked for a pause")
            # Also after a restart.
            relay.stop()
            relay.start()
            relay.wait_for("no certificate is requested yet")
            relay.ask_again()
            relay.wait_for("the authority has asked for a pause")
            assert len(authority.requests) == before


def story_validation_fails():
    """The authority cannot reach the relay: the line names the port, the name and the option. The
    next attempt makes a new order, and uses the other challenge."""
    with folder() as directory, Authority(directory) as authority:
        with CertifiedRelay(authority, http=True) as relay:
            # The router forwards port 80 to somebody else.
            authority.http_port = free_port()
            relay.wait_for(FAILED)
            assert f"could not validate {NAME} (no answer:" in relay.text(), relay.text()
            assert "port 80 of it reaches --http-listen" in relay.text()
            relay.ask_again()
            relay.wait_for(FRESH)
            assert len(authority.orders) == 2 and len(authority.accounts) == 1


def story_hostile_authority():
    """Whatever an authority answers, the relay gives up with a line, keeps serving its devices, and
    asks no other host."""
    huge = b"[" * (64 << 20)

    def endless(handler):
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        try:
            while True:
                handler.wfile.write(b"4000\r\n" + b"a" * 0x4000 + b"\r\n")
        except OSError:
            return None

    with folder() as directory, Authority(directory) as authority:
        elsewhere = {"newNonce": "https://127.0.0.1:1/n", "newAccount": "https://127.0.0.1:1/a",
                     "newOrder": "https://127.0.0.1:1/o"}
        attacks = {
            "/directory": [
                lambda _: (200, {}, huge), endless, lambda _: (200, {}, b"{"),
                lambda _: (200, {}, b"\xff" * 9), lambda _: (200, {}, []),
                lambda _: (200, {}, elsewhere), lambda _: (204, {}, b""),
                lambda _: (302, {"Location": "https://127.0.0.1:1/"}, b""),
                lambda _: (200, {"X": "a" * 100_000}, {})],
            "/nonce": [lambda _: (200, {"Replay-Nonce": "not a nonce!"}, b"")],
            "/account": [lambda _: (201, {}, {}), lambda _: (201, {"Location": "http://a/"}, {})],
            "/order": [
                lambda _: (201, {"Location": "https://127.0.0.1:1/"}, {}),
                lambda _: (400, {}, {"type": "urn:ietf:params:acme:error:badNonce"})],
            "/orders/": [
                lambda _: (200, {}, {"status": "ready"}),
                lambda _: (200, {}, {"status": "valid", "certificate": "file:///etc/passwd",
                                     "identifiers": [], "authorizations": []})],
        }
        with CertifiedRelay(authority) as relay:
            relay.wait_for(FRESH)
            relay.stop()
        with CertifiedRelay(authority, "--acme-folder", os.path.join(directory, "other")) as relay:
            relay.wait_for(FRESH)
            expect(relay.curl("GET", "/v1/time"), 200)
            relay.stop()
        authority.answers = {"/directory": attacks["/directory"][0]}
        with CertifiedRelay(authority) as relay:
            count = 1
            relay.wait_for(FAILED, count)
            for path in attacks:
                for attack in attacks[path]:
                    authority.answers = {path: attack}
                    relay.ask_again()
                    count += 1
                    relay.wait_for(FAILED, count)
            last = relay.text().splitlines()
            assert max(len(line) for line in last) < 1_500
            peak = re.search(r"VmHWM:\s+(\d+)", open(f"/proc/{relay.id}/status").read())
            assert int(peak.group(1)) < 400 << 10, "what was sent is not kept"
            authority.answers = {}
            relay.ask_again()
            relay.wait_for(FRESH)
            relay.serial()


def story_settings_and_refusals():
    """Each missing or wrong setting is named with the next step, before anything is sent."""
    with folder() as directory:
        store = os.path.join(directory, "store")

        def refuses(*options, says):
            refused("relay", "--listen", "127.0.0.1:0", "--store", store, *options, says=says,
                    code=2)

        agreed = ["--acme", "--acme-agree"]
        named = [*agreed, "--acme-domain", "sync.relay.org"]
        other = ["--acme-directory", "https://localhost:1/directory"]
        refuses(*agreed, *other, says="add --public-url https://sync.example.org")
        refuses(*agreed, *other, "--public-url", "http://sync.relay.org", says="with https://")
        refuses(*agreed, *other, "--public-url", "https://10.0.0.7", says="a host name")
        refuses(*agreed, *other, "--acme-domain", "*.relay.org", says="is a wildcard")
        refuses(*agreed, *other, "--acme-domain", "a_b.org", says="is not a host name")
        refuses(*named, *other, "--acme-email", "me", says="not a mail address")
        refuses(*named, *other, "--tls-cert", "a", "--tls-key", "b", says="leave one of them out")
        refuses(*named, "--acme-directory", "http://a/", says="no https:// URL")
        refuses(*named, *other, "--store", "postgres://me@localhost/none",
                says="add --acme-folder")
        refuses(*agreed, "--acme-domain", "nas.local", says="not a name in the public DNS")
        refuses("--acme", "--acme-domain", "sync.relay.org", says=[
            "terms of service", "https://letsencrypt.org/repository/", "add --acme-agree"])
        refuses("--http-listen", "127.0.0.1:0", says="needs --acme")
        assert not os.path.exists(store)
        settings = os.path.join(directory, "relay.conf")
        with open(settings, "w") as file:
            file.write(f"store = {store}\nacme = true\nacme-agree = true\n"
                       "public-url = https://sync.relay.org\nacme-email = me@relay.org\n")
        shown = run("relay", "--config", settings, "--check").stdout
        assert re.search(r"acme-email +me@relay.org +.*relay.conf", shown), shown
        assert not os.path.exists(store)


if __name__ == "__main__":
    main(globals(), at_once=4)
