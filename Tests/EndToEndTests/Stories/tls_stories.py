"""TLS connections to the relay: curl, openssl and Python's own client on one side, the real program
on the other, and the real program on both."""

import asyncio
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess

import websockets

from secure_relay import CA, CERTIFICATE, KEY, MADE, SecureRelay, make
from story import (
    PATIENCE, Home, Relay, curl, expect, folder, main, new_id, record, refused, run, wait_until)


class AdminListener:
    """Address of the admin listener, which uses plain HTTP, for `curl`."""

    def __init__(self, relay):
        found = wait_until(lambda: re.search(r"metrics and health on (http://\S+)", relay.text()),
                           "the admin listener's line")
        self.address = found.group(1)


def curl_tls(relay, method, path, *more, **options):
    return curl(relay, method, path, *more, options=["--http1.1", "--cacert", CA], **options)


def join(relay, directory, name="phone", *words, **options):
    home = Home(os.path.join(directory, name))
    run("agent", "join", "--relay", relay.address, "--new", "--name", name, "--ca", CA, *words,
        home=home.path, **options)
    return home


def s_client(relay, *options, says="", code=0):
    """Output of openssl for a connection."""
    done = subprocess.run(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{relay.port}", "-CAfile", CA, *options],
        input=says, capture_output=True, text=True, timeout=PATIENCE)
    text = done.stdout + done.stderr
    assert (done.returncode == 0) == (code == 0), text
    return text


def story_curl_speaks_to_it_and_plain_words_get_no_answer():
    """All manual calls work over https, and plain HTTP gets no answer."""
    with SecureRelay("--admin-listen", "127.0.0.1:0") as relay:
        assert relay.address.startswith("https://")
        relay.admin = AdminListener(relay)
        body = {"deviceName": "curl", "platform": "test", "appVersion": "1"}
        token = expect(curl_tls(relay, "POST", "/v1/accounts", body), 201).json["token"]
        batch = {"id": new_id(), "records": [record("first")]}
        expect(curl_tls(relay, "POST", "/v1/zones/Notes/records", batch, token=token), 200)
        changes = expect(curl_tls(relay, "GET", "/v1/changes", token=token), 200).json
        assert changes["changes"][0]["name"] == "first", changes
        before = relay.text()
        with socket.create_connection(("127.0.0.1", relay.port), timeout=PATIENCE) as plain:
            plain.sendall(b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\n\r\n")
            received = b""
            while part := plain.recv(4096):
                received += part
        assert b"HTTP" not in received, received
        wait_until(lambda: relay.count("handshakeFailed") == 1, "the count of it")
        assert relay.text() == before, "a line for each such connection would fill the disk"
        assert relay.stop() == 0


def story_only_what_is_good_enough_is_agreed_upon():
    """TLS 1.2 and 1.3 with forward secrecy and authenticated encryption; older and weaker versions
    are refused."""
    with SecureRelay() as relay:
        for version in ("-tls1_2", "-tls1_3"):
            said = s_client(relay, version, "-alpn", "h2,http/1.1", "-verify_return_error")
            assert "ALPN protocol: http/1.1" in said and "Verification: OK" in said, said
            assert "Secure Renegotiation IS NOT supported" in said or version == "-tls1_2", said
        assert "No ALPN negotiated" in s_client(relay)
        assert "no application protocol" in s_client(relay, "-alpn", "h2", code=1)
        s_client(relay, "-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0", code=1)
        for cipher in ("ECDHE-ECDSA-AES128-SHA256", "AES128-GCM-SHA256", "AES256-SHA"):
            s_client(relay, "-tls1_2", "-cipher", cipher + ":@SECLEVEL=0", code=1)
        # The relay does not renegotiate.
        said = s_client(relay, "-tls1_2", says="R\n", code=1)
        assert "no renegotiation" in said, said


def story_keys_change_while_bytes_go():
    """A peer may change its keys, and request new keys of the other side, at any time."""
    with SecureRelay() as relay:
        client = subprocess.Popen(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{relay.port}", "-CAfile", CA, "-tls1_3"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0)
        received = b""

        def receive(what):
            nonlocal received
            while what not in received:
                part = os.read(client.stdout.fileno(), 4096)
                assert part, received
                received += part
            received = received.split(what, 1)[1]

        for _ in range(3):
            client.stdin.write(b"K\n")
            receive(b"KEYUPDATE")
            client.stdin.write(b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\n\r\n")
            receive(b'"time":')
        client.stdin.close()
        client.kill()
        client.wait()


def story_sessions_are_resumed():
    """A client that returns within hours resumes its session at a lower cost."""
    with SecureRelay() as relay, folder() as directory:
        for version in ("-tls1_2", "-tls1_3"):
            kept = os.path.join(directory, version)
            # Waits for an answer, because in TLS 1.3 the ticket arrives with it.
            ask = "GET /v1/time HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            said = s_client(relay, version, "-ign_eof", "-sess_out", kept, says=ask)
            assert "New, TLS" in said and '"time":' in said, said
            said = s_client(relay, version, "-ign_eof", "-sess_in", kept, says=ask)
            assert "Reused, TLS" in said and '"time":' in said, said


def story_socket_over_wss():
    """Python's websockets receives a push."""
    with SecureRelay() as relay:
        body = {"deviceName": "one", "platform": "test", "appVersion": "1"}
        token = expect(curl_tls(relay, "POST", "/v1/accounts", body), 201).json["token"]

        async def scene():
            trust = ssl.create_default_context(cafile=CA)
            url = relay.address.replace("https", "wss") + "/v1/socket"
            async with websockets.connect(url, ssl=trust, subprotocols=["lockstep.v1"]) as one:
                await one.send(json.dumps({"op": "hello", "token": token}))
                assert json.loads(await one.recv())["op"] == "welcome"
                batch = {"id": new_id(), "records": [record("pushed", "x" * 40_000)]}
                await asyncio.to_thread(
                    lambda: expect(curl_tls(
                        relay, "POST", "/v1/zones/Notes/records", batch, token=token), 200))
                return json.loads(await asyncio.wait_for(one.recv(), PATIENCE))

        received = asyncio.run(scene())
        assert "pushed" in json.dumps(received)[:2_000] or received["op"] == "changed", str(received)[:500]


def story_devices_keep_in_step_by_every_way():
    """Two homes over https, by each transport, and a pairing link with the complete address."""
    with SecureRelay() as relay, folder() as directory:
        phone = join(relay, directory, "phone", "--plain")
        offer = json.loads(phone.run("pair", "--json"))
        assert offer["link"].startswith("https://127.0.0.1:"), offer
        assert "--ca FILE" in phone.run("pair")
        laptop = Home(os.path.join(directory, "laptop"))
        # The authority comes from the environment, and the address from the link.
        run("agent", "join", "--code", "-", "--name", "laptop", home=laptop.path,
            input=offer["link"] + "\n", environment={"LOCKSTEP_CA": CA})
        for transport in ("websocket", "events", "long-poll", "poll"):
            with laptop.background("run", "--transport", transport):
                wait_until(lambda: os.path.exists(os.path.join(laptop.path, "agent.sock")) and
                           laptop.status()["state"] == "inSync", f"{transport} in sync")
                phone.run("clipboard", "add", f"by {transport}")
                if transport == "poll":
                    laptop.run("sync")
                wait_until(lambda: f"by {transport}" in laptop.run("clipboard", "list"), transport)


def story_large_files_go_through():
    """Chunks are uploaded and downloaded."""
    with SecureRelay() as relay, folder() as directory:
        phone = join(relay, directory)
        laptop = Home(os.path.join(directory, "laptop"))
        source, target = (os.path.join(directory, name, "a.bin") for name in ("one", "other"))
        for each in (source, target):
            os.makedirs(os.path.dirname(each))
        with open(source, "wb") as file:
            file.write(os.urandom(3 << 20))
        phone.run("vault", "add", source)
        run("agent", "join", "--relay", relay.address, "--code", "-", "--name", "laptop", "--ca", CA,
            home=laptop.path, input=json.loads(phone.run("pair", "--json"))["code"] + "\n")
        laptop.run("vault", "add", target)
        with open(source, "rb") as one, open(target, "rb") as other:
            assert one.read() == other.read()


def story_a_link_for_the_next_device_keeps_tls():
    """A device that uses TLS prints no link to an address without TLS, whatever the relay names."""
    with folder() as directory:
        for named, shown in (("http://sync.example.org", None),
                             ("https://sync.example.org", "https://sync.example.org")):
            with SecureRelay("--public-url", named) as relay:
                phone = join(relay, directory, shown and "tablet" or "phone")
                offer = json.loads(phone.run("pair", "--json"))
                assert offer["link"].startswith(f"{shown or relay.address}/#code="), offer
                assert f"+{shown or relay.address}/#code=" in offer["deviceLink"], offer


def expired(directory):
    """A certificate that expired yesterday, signed by the same authority."""
    made = os.path.join(directory, "expired.pem")
    request, names = os.path.join(directory, "request"), os.path.join(directory, "names")
    with open(names, "w") as file:
        file.write("subjectAltName=IP:127.0.0.1\n")
    for command in (
            ["req", "-new", "-key", KEY, "-subj", "/CN=localhost", "-out", request],
            ["x509", "-req", "-in", request, "-CA", CA, "-CAkey", os.path.join(MADE, "ca.key"),
             "-days", "-1", "-extfile", names, "-out", made]):
        subprocess.run(["openssl", *command], check=True, capture_output=True)
    return made


def story_no_curve_but_the_usual_ones_is_agreed_upon():
    """X25519, P-256 and P-384; a client that offers only others is refused."""
    with SecureRelay() as relay:
        for curve in ("X25519", "P-256", "P-384"):
            s_client(relay, "-tls1_3", "-curves", curve)
            # In TLS 1.2 the list also restricts the curves of certificates; the relay's certificate
            # has P-256.
            offer = curve if curve == "P-256" else f"{curve}:P-256"
            told = s_client(relay, "-tls1_2", "-curves", offer)
            assert f"Temp Key: {'' if curve == 'X25519' else 'ECDH, '}" in told, told
        for curve in ("P-521", "X448"):
            s_client(relay, "-tls1_3", "-curves", curve, code=1)
            told = s_client(relay, "-tls1_2", "-curves", f"{curve}:P-256")
            assert "Temp Key: ECDH, prime256v1" in told, told


def story_the_certificates_names_are_the_relays():
    """Also after the certificate was reloaded; a name that is not in it is refused."""
    with SecureRelay() as relay, folder() as directory:
        def status(host):
            return curl_tls(relay, "GET", "/v1/time", headers=[f"Host: {host}"]).status
        assert [status(host) for host in ("localhost", "127.0.0.1", "sync.example")] == [200, 200, 421]
        other = os.path.join(directory, "other")
        for name in os.listdir(MADE):
            os.makedirs(other, exist_ok=True)
            shutil.copy(os.path.join(MADE, name), other)
        make(other, "sync.example", "*.home.example")
        relay.show(os.path.join(other, "server.pem"), os.path.join(other, "server.key"))
        os.kill(relay.id, signal.SIGHUP)
        wait_until(lambda: status("sync.example") == 200, "the new name")
        assert [status(host) for host in ("a.home.example", "a.b.home.example")] == [200, 421]


def story_browsers_are_told_to_come_by_tls_alone_where_the_owner_says_so():
    """Not by default, and not over plain HTTP."""
    field = "strict-transport-security"
    with SecureRelay() as relay:
        assert field not in curl_tls(relay, "GET", "/").headers
    with SecureRelay("--hsts=30d") as relay:
        for path in ("/", "/v1/time", "/v1/changes"):
            assert curl_tls(relay, "GET", path).headers[field] == f"max-age={30 * 86_400}", path
    with Relay("--hsts=30d") as relay:
        assert field not in curl(relay, "GET", "/").headers


def story_agent_refuses_whoever_is_not_proved_to_be_the_relay():
    """Unknown authority, wrong name, expired, or no TLS at all: refused with the reason, and
    nothing is sent."""
    with SecureRelay() as relay, folder() as directory:
        home = os.path.join(directory, "home")

        def refuses(*options, says, address=relay.address):
            return refused("agent", "join", "--relay", address, "--new", *options, home=home,
                           says=["not trusted", "nothing was sent", says])

        refuses(says="no authority that is trusted here")
        # The certificate contains 127.0.0.1, but not 127.0.0.2.
        with SecureRelay("--listen", "0.0.0.0:0") as wide:
            refuses("--ca", CA, says="for another name", address=f"https://127.0.0.2:{wide.port}")
        relay.show(expired(directory), KEY)
        os.kill(relay.id, signal.SIGHUP)
        wait_until(lambda: "has expired" in relay.text(), "the relay's own warning")
        refuses("--ca", CA, says="has expired")
        with Relay() as plain:
            refuses("--ca", CA, says="does not use TLS", address=f"https://127.0.0.1:{plain.port}")
        assert not os.path.exists(os.path.join(home, "relay-ca.pem"))
        empty = os.path.join(directory, "empty.pem")
        open(empty, "w").close()
        refused("agent", "join", "--relay", relay.address, "--new", "--ca", empty, home=home,
                says="holds no certificate")


def story_home_whose_relay_is_not_trusted_any_more_says_so_and_sends_nothing():
    """A server without the relay's key takes over its address."""
    with SecureRelay() as relay, folder() as directory:
        phone = join(relay, directory)
        other = os.path.join(directory, "other")
        make(other)
        relay.show(os.path.join(other, "server.pem"), os.path.join(other, "server.key"))
        os.kill(relay.id, signal.SIGHUP)
        wait_until(lambda: "certificate was reloaded" in relay.text(), "the other certificate")
        phone.run("clipboard", "add", "not for others")
        said = phone.run("sync", code=1)
        assert "no authority that is trusted here" in said, said
        status = phone.status()
        assert status["state"] == "offline" and "certificate" in status["reason"], status
        assert "is not trusted" in phone.refuses("devices", says="nothing was sent")
        # The owner restores the right certificate, and nothing was lost.
        relay.show(CERTIFICATE, KEY)
        os.kill(relay.id, signal.SIGHUP)
        wait_until(lambda: relay.text().count("certificate was reloaded") == 2, "the old certificate")
        assert "in sync" in phone.run("sync")


def told_end(relay):
    """The end of the certificate that the relay presents, by its metrics."""
    text = curl(relay.admin, "GET", "/metrics").body.decode()
    return float(re.search(
        r"^lockstep_tls_certificate_expiry_timestamp_seconds (\S+)$", text, re.M)[1])


def end_of(path):
    """The end of the certificate in a file, by OpenSSL."""
    done = subprocess.run(["openssl", "x509", "-noout", "-enddate", "-in", path],
                          capture_output=True, text=True, check=True)
    return ssl.cert_time_to_seconds(done.stdout.strip().removeprefix("notAfter="))


def story_certificate_is_renewed_under_open_connections():
    """SIGHUP: existing connections stay, new ones get the new certificate; a bad certificate
    changes nothing."""
    with SecureRelay("--admin-listen", "127.0.0.1:0") as relay, folder() as directory:
        relay.admin = AdminListener(relay)
        phone = join(relay, directory)
        with phone.start_agent():
            wait_until(lambda: phone.status()["state"] == "inSync", "the phone in sync")
            first = s_client(relay)
            assert told_end(relay) == end_of(os.path.join(MADE, "server.pem"))
            fresh = os.path.join(directory, "fresh")
            shutil.copytree(MADE, fresh)
            make(fresh)
            relay.show(os.path.join(fresh, "server.pem"), os.path.join(MADE, "server.key"))
            os.kill(relay.id, signal.SIGHUP)
            wait_until(lambda: "name two that belong together" in relay.text(), "the complaint")
            assert "still use the previous certificate" in relay.text(), relay.text()
            serial = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END", re.S)
            assert serial.search(s_client(relay)).group() == serial.search(first).group()
            relay.show(os.path.join(fresh, "server.pem"), os.path.join(fresh, "server.key"))
            os.kill(relay.id, signal.SIGHUP)
            wait_until(lambda: "certificate was reloaded" in relay.text(), "the new certificate")
            assert serial.search(s_client(relay)).group() != serial.search(first).group()
            assert told_end(relay) == end_of(os.path.join(fresh, "server.pem"))
            assert phone.status()["transport"] == "websocket", "the old connection stands"
            phone.run("clipboard", "add", "still here")
            wait_until(lambda: phone.status()["waiting"] == 0, "the save over it")


def story_slow_and_silent_handshakes():
    """One byte at a time works; a silent client is cut off, and 300 of them do not affect
    others."""
    with SecureRelay("--admin-listen", "127.0.0.1:0") as relay, folder() as directory:
        relay.admin = AdminListener(relay)
        silent = [socket.create_connection(("127.0.0.1", relay.port)) for _ in range(300)]
        for each in silent[:150]:
            each.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        phone = join(relay, directory)
        phone.run("clipboard", "add", "through the crowd")
        assert "in sync" in phone.run("sync")

        trust = ssl.create_default_context(cafile=CA)
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = trust.wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
        with socket.create_connection(("127.0.0.1", relay.port), timeout=PATIENCE) as slow:
            slow.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

            def push():
                for byte in outgoing.read():
                    slow.sendall(bytes([byte]))

            def through(step):
                while True:
                    try:
                        return step()
                    except ssl.SSLWantReadError:
                        push()
                        incoming.write(slow.recv(1))
                    finally:
                        push()

            through(client.do_handshake)
            client.write(b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b"200 OK" in through(lambda: client.read(4096))

        for each in silent:
            each.settimeout(PATIENCE)
            assert each.recv(16) == b""
        wait_until(lambda: relay.count("handshakeTimedOut") == 300, "the count of them")


def story_client_that_breaks_off_leaves_no_trace():
    """A disconnect without close_notify: the stream is over, the relay continues, and logs
    nothing."""
    with SecureRelay() as relay:
        trust = ssl.create_default_context(cafile=CA)
        before = relay.text()
        for request in (b"", b"GET /v1/time HTTP/1.1\r\nHo", b"POST /v1/accounts HTTP/1.1\r\n"):
            raw = socket.create_connection(("127.0.0.1", relay.port), timeout=PATIENCE)
            client = trust.wrap_socket(raw, server_hostname="127.0.0.1")
            client.sendall(request)
            client.shutdown(socket.SHUT_RDWR)
            client.close()
        # After a proper close_notify from the client, the last answer still arrives.
        raw = socket.create_connection(("127.0.0.1", relay.port), timeout=PATIENCE)
        client = trust.wrap_socket(raw, server_hostname="127.0.0.1")
        client.sendall(b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        received = b""
        while part := client.recv(4096):
            received += part
        assert b"200 OK" in received
        client.unwrap().close()
        expect(curl_tls(relay, "GET", "/v1/time"), 200)
        assert relay.text() == before, relay.text()
        assert relay.stop() == 0


def story_relay_says_what_is_wrong_with_its_files():
    """Before it starts, as a message."""
    with folder() as directory:
        store = os.path.join(directory, "store")
        other = os.path.join(directory, "other")
        make(other)

        def refuses(*options, says, code=1):
            refused("relay", "--listen", "127.0.0.1:0", "--store", store, *options, says=says,
                    code=code)

        refuses("--tls-cert", CERTIFICATE, says="needs --tls-key", code=2)
        refuses("--tls-key", KEY, says="needs --tls-cert", code=2)
        refuses("--tls-cert", "/nowhere", "--tls-key", KEY, says="/nowhere cannot be read")
        refuses("--tls-cert", KEY, "--tls-key", KEY, says="holds no certificate")
        refuses("--tls-cert", CERTIFICATE, "--tls-key", CA, says="no private key")
        refuses("--tls-cert", CERTIFICATE, "--tls-key", os.path.join(other, "server.key"),
                says="belong together")


if __name__ == "__main__":
    main(globals(), at_once=4)
