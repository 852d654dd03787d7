"""A certificate authority for the stories (RFC 8555): as strict as a real one, on loopback. It
validates by connecting to the relay, whatever the name; its certificates are of a root of its own.
"""

import base64
import datetime
import hashlib
import http.client
import http.server
import json
import os
import secrets
import socket
import ssl
import threading

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.x509.oid import NameOID

VALIDATION = x509.ObjectIdentifier("1.3.6.1.5.5.7.1.31")
PREFIX = "urn:ietf:params:acme:error:"


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text):
    assert "=" not in text and "+" not in text and "/" not in text, text
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def thumbprint(jwk):
    assert set(jwk) == {"crv", "kty", "x", "y"}, jwk
    text = json.dumps(jwk, sort_keys=True, separators=(",", ":"))
    return encode(hashlib.sha256(text.encode()).digest())


class Problem(Exception):
    def __init__(self, status, type, detail, **fields):
        super().__init__(detail)
        self.status, self.fields = status, fields
        self.body = {"type": PREFIX + type, "detail": detail, "status": status}


class Issuer:
    """A root that signs certificates."""

    def __init__(self):
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Stories Root")])
        self.certificate = self.sign(
            self.name, self.key.public_key(), -3600, 86_400, [], is_root=True)

    def sign(self, subject, key, start, end, names, is_root=False):
        """`start`, `end`: seconds from now."""
        now = datetime.datetime.utcnow()
        builder = (
            x509.CertificateBuilder().subject_name(subject).issuer_name(self.name).public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + datetime.timedelta(seconds=start))
            .not_valid_after(now + datetime.timedelta(seconds=end))
            .add_extension(x509.BasicConstraints(is_root, None), critical=True)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(
                self.key.public_key()), critical=False))
        if is_root:
            builder = builder.add_extension(
                x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        else:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return builder.sign(self.key, hashes.SHA256())

    @property
    def pem(self):
        return self.certificate.public_bytes(serialization.Encoding.PEM)


class Authority:
    def __init__(self, directory):
        self.directory = directory
        self.issuer = Issuer()
        self.root = os.path.join(directory, "root.pem")
        with open(self.root, "wb") as file:
            file.write(self.issuer.pem)
        self.lock = threading.RLock()
        self.accounts, self.orders, self.authorizations, self.certificates = {}, {}, {}, {}
        self.nonces = set()
        # (method, path) of all requests, and the protected headers of the signed ones.
        self.requests, self.headers = [], []
        # Ports at which names are validated.
        self.http_port = self.tls_port = None
        # Settings of a story.
        self.kinds = ["http-01", "tls-alpn-01", "dns-01"]
        self.bad_nonce_every = 3
        self.validity = (-60, 86_400)
        self.window = None
        self.refusal = None
        # Answers in place of the usual ones: from a path's beginning to a function of the handler.
        self.answers = {}
        self.port = 0

    # A relay finds the authority at the same address after a restart.

    def start(self):
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self.issuer.sign(
            x509.Name([]), key.public_key(), -3600, 86_400, [x509.DNSName("localhost")])
        path = os.path.join(self.directory, "server.pem")
        with open(path, "wb") as file:
            file.write(key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption()))
            file.write(certificate.public_bytes(serialization.Encoding.PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        authority = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Above what the relay allows for an answer.
            timeout = 60

            def log_message(self, *_):
                pass

            def setup(self):
                self.request.settimeout(self.timeout)
                self.request = context.wrap_socket(self.request, server_side=True)
                super().setup()

            def do_GET(self):
                authority.answer(self)

            do_HEAD = do_POST = do_GET

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True

            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", self.port), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    @property
    def origin(self):
        return f"https://localhost:{self.port}"

    @property
    def options(self):
        return ["--acme", "--acme-agree", "--acme-directory", self.origin + "/directory",
                "--acme-root", self.root]

    def count(self, path):
        return sum(1 for _, other in self.requests if other.startswith(path))

    # Requests

    def answer(self, handler):
        with self.lock:
            self.requests.append((handler.command, handler.path))
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        override = next((self.answers[path] for path in sorted(self.answers, reverse=True)
                         if handler.path.startswith(path)), None)
        fields = {}
        try:
            if override:
                given = override(handler)
                if given is None:
                    return
                status, fields, content = given
            else:
                status, fields, content = self.handle(handler, body)
        except Problem as problem:
            status, fields, content = problem.status, dict(problem.fields), problem.body
            fields["Content-Type"] = "application/problem+json"
        if isinstance(content, (dict, list)):
            content = json.dumps(content).encode()
            fields.setdefault("Content-Type", "application/json")
        handler.send_response(status)
        if handler.command == "POST" or handler.path == "/nonce":
            fields.setdefault("Replay-Nonce", self.new_nonce())
        for name, value in fields.items():
            handler.send_header(name, value)
        if status != 204:
            handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(content)

    def new_nonce(self):
        nonce = encode(secrets.token_bytes(16))
        with self.lock:
            self.nonces.add(nonce)
        return nonce

    def handle(self, handler, body):
        if not handler.headers.get("User-Agent", "").startswith("lockstep/"):
            raise Problem(400, "malformed", "no User-Agent")
        path = handler.path
        if handler.command == "GET":
            if path == "/directory":
                return 200, {}, self.contents()
            if path.startswith("/renewal/"):
                return self.renewal(path.removeprefix("/renewal/"))
        if handler.command == "HEAD" and path == "/nonce":
            return 200, {}, b""
        if handler.command != "POST":
            raise Problem(405, "malformed", "method not allowed")
        with self.lock:
            account, payload = self.verify(handler, body)
            return self.post(path, account, payload)

    def contents(self):
        found = {"newNonce": "/nonce", "newAccount": "/account", "newOrder": "/order"}
        if self.window:
            found["renewalInfo"] = "/renewal"
        made = {name: self.origin + path for name, path in found.items()}
        return {**made, "meta": {"termsOfService": self.origin + "/terms"}}

    def verify(self, handler, body):
        """The account and the payload of a signed request."""
        if handler.headers.get("Content-Type") != "application/jose+json":
            raise Problem(415, "malformed", "not application/jose+json")
        outer = json.loads(body)
        assert set(outer) == {"protected", "payload", "signature"}, outer
        header = json.loads(decode(outer["protected"]))
        self.headers.append(header)
        assert set(header) <= {"alg", "jwk", "kid", "nonce", "url"} and header["alg"] == "ES256"
        assert ("jwk" in header) != ("kid" in header), header
        if header["url"] != self.origin + handler.path:
            raise Problem(401, "unauthorized", "the url is another one")
        if header["nonce"] not in self.nonces:
            raise Problem(400, "badNonce", "unknown nonce")
        self.nonces.remove(header["nonce"])
        if self.bad_nonce_every and len(self.headers) % self.bad_nonce_every == 0:
            raise Problem(400, "badNonce", "an unlucky nonce")
        if "kid" in header:
            account = self.accounts.get(header["kid"])
            if account is None:
                raise Problem(400, "accountDoesNotExist", "there is no such account")
            jwk = account["jwk"]
        else:
            if handler.path != "/account":
                raise Problem(400, "malformed", "jwk is only for new accounts")
            account, jwk = None, header["jwk"]
        point = b"\x04" + decode(jwk["x"]) + decode(jwk["y"])
        key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
        signature = decode(outer["signature"])
        assert len(signature) == 64, len(signature)
        both = [int.from_bytes(half, "big") for half in (signature[:32], signature[32:])]
        try:
            key.verify(
                utils.encode_dss_signature(*both),
                f"{outer['protected']}.{outer['payload']}".encode(), ec.ECDSA(hashes.SHA256()))
        except InvalidSignature:
            raise Problem(400, "malformed", "the signature is not one of the key") from None
        content = decode(outer["payload"])
        payload = json.loads(content) if content else None
        return account or {"jwk": jwk, "url": None}, payload

    def post(self, path, account, payload):
        kind, _, number = path[1:].partition("/")
        if path == "/account":
            return self.new_account(account, payload)
        if self.refusal and path == "/order":
            raise self.refusal
        if path == "/order":
            return self.new_order(account, payload)
        if kind == "accounts":
            account["contact"] = payload["contact"]
            return 200, {}, {"status": "valid", "contact": payload["contact"]}
        if kind == "orders" and number in self.orders:
            assert payload is None, "an order is read with an empty payload"
            order = self.orders[number]
            found = self.order_state(order)
            if order["status"] == "processing":
                order["status"] = "valid"
            return 200, {"Retry-After": "1"}, found
        if kind == "authorizations" and number in self.authorizations:
            assert payload is None, "an authorization is read with an empty payload"
            return 200, {"Retry-After": "1"}, self.authorization_state(number)
        if kind == "challenges":
            return self.respond(account, number, payload)
        if kind == "finalize" and number in self.orders:
            return self.finalize(self.orders[number], payload)
        if kind == "certificates" and number in self.certificates:
            assert payload is None
            return (200, {"Content-Type": "application/pem-certificate-chain"},
                    self.certificates[number])
        raise Problem(404, "malformed", "there is no such object")

    def new_account(self, account, payload):
        for url, known in self.accounts.items():
            if known["jwk"] == account["jwk"]:
                return 200, {"Location": url}, {"status": "valid"}
        if not payload.get("termsOfServiceAgreed"):
            raise Problem(403, "userActionRequired", "agree to the terms")
        url = f"{self.origin}/accounts/{len(self.accounts) + 1}"
        self.accounts[url] = {**account, "url": url, "contact": payload.get("contact", [])}
        return 201, {"Location": url}, {"status": "valid"}

    def new_order(self, account, payload):
        names = [item["value"] for item in payload["identifiers"]]
        assert all(item["type"] == "dns" for item in payload["identifiers"])
        number = str(len(self.orders) + 1)
        made = []
        for name in names:
            other = f"{number}-{len(made)}"
            self.authorizations[other] = {
                "name": name, "status": "pending", "token": encode(secrets.token_bytes(24)),
                "account": account, "error": None}
            made.append(other)
        self.orders[number] = {
            "number": number, "names": names, "status": "pending", "authorizations": made,
            "replaces": payload.get("replaces"), "account": account}
        return (201, {"Location": f"{self.origin}/orders/{number}"},
                self.order_state(self.orders[number]))

    def order_state(self, order):
        states = [self.authorizations[number]["status"] for number in order["authorizations"]]
        if order["status"] == "pending" and all(state == "valid" for state in states):
            order["status"] = "ready"
        if "invalid" in states:
            order["status"] = "invalid"
        found = {
            "status": order["status"],
            "identifiers": [{"type": "dns", "value": name} for name in order["names"]],
            "authorizations": [
                f"{self.origin}/authorizations/{each}" for each in order["authorizations"]],
            "finalize": f"{self.origin}/finalize/{order['number']}",
        }
        if order["status"] == "valid":
            found["certificate"] = f"{self.origin}/certificates/{order['number']}"
        return found

    def authorization_state(self, number):
        found = self.authorizations[number]
        challenges = []
        for kind in self.kinds:
            challenge = {
                "type": kind, "url": f"{self.origin}/challenges/{number}/{kind}",
                "token": found["token"], "status": found["status"]}
            if found["error"]:
                challenge["error"] = found["error"]
            challenges.append(challenge)
        return {
            "identifier": {"type": "dns", "value": found["name"]},
            "status": "pending" if found["status"] == "processing" else found["status"],
            "challenges": challenges}

    # Validation

    def respond(self, account, path, payload):
        number, _, kind = path.partition("/")
        assert payload == {}, payload
        found = self.authorizations[number]
        if found["status"] != "pending":
            raise Problem(400, "malformed", "the challenge is not pending")
        found["status"] = "processing"
        threading.Thread(
            target=self.validate, args=(found, kind, account["jwk"]), daemon=True).start()
        return 200, {}, {"type": kind, "status": "processing", "token": found["token"],
                         "url": f"{self.origin}/challenges/{path}"}

    def validate(self, found, kind, jwk):
        expected = f"{found['token']}.{thumbprint(jwk)}"
        try:
            if kind == "http-01":
                self.validate_http(found, expected)
            else:
                self.validate_tls(found, expected)
            found["status"] = "valid"
        except (AssertionError, OSError, http.client.HTTPException) as error:
            found["error"] = {
                "type": PREFIX + "connection", "status": 400, "detail": f"no answer: {error}"}
            found["status"] = "invalid"

    def validate_http(self, found, expected):
        connection = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=20)
        connection.request(
            "GET", "/.well-known/acme-challenge/" + found["token"], headers={"Host": found["name"]})
        answer = connection.getresponse()
        assert answer.status == 200, answer.status
        assert answer.read() == expected.encode()

    def validate_tls(self, found, expected):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols(["acme-tls/1"])
        with socket.create_connection(("127.0.0.1", self.tls_port), timeout=20) as raw:
            with context.wrap_socket(raw, server_hostname=found["name"]) as secure:
                assert secure.selected_alpn_protocol() == "acme-tls/1"
                certificate = x509.load_der_x509_certificate(secure.getpeercert(True))
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        assert names.value.get_values_for_type(x509.DNSName) == [found["name"]]
        assert len(list(names.value)) == 1
        extension = certificate.extensions.get_extension_for_oid(VALIDATION)
        assert extension.critical
        digest = hashlib.sha256(expected.encode()).digest()
        assert extension.value.value == b"\x04\x20" + digest

    # Certificates

    def finalize(self, order, payload):
        self.order_state(order)
        if order["status"] != "ready":
            raise Problem(403, "orderNotReady", f"the order is {order['status']}")
        request = x509.load_der_x509_csr(decode(payload["csr"]))
        assert request.is_signature_valid
        names = request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        if sorted(names.get_values_for_type(x509.DNSName)) != sorted(order["names"]):
            raise Problem(400, "badCSR", "it is for other names")
        certificate = self.issuer.sign(
            x509.Name([]), request.public_key(), *self.validity, list(names))
        self.certificates[order["number"]] = (
            certificate.public_bytes(serialization.Encoding.PEM) + self.issuer.pem)
        order["status"] = "processing"
        return 200, {"Retry-After": "1"}, self.order_state(order)

    def renewal(self, name):
        known = []
        for text in self.certificates.values():
            certificate = x509.load_pem_x509_certificate(text)
            key = certificate.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier)
            serial = certificate.serial_number
            number = serial.to_bytes(serial.bit_length() // 8 + 1, "big")
            known.append(encode(key.value.key_identifier) + "." + encode(number))
        if name not in known:
            raise Problem(404, "malformed", "there is no such certificate")
        now = datetime.datetime.utcnow()
        start, end = (
            (now + datetime.timedelta(seconds=seconds)).isoformat() + "Z"
            for seconds in self.window)
        return 200, {"Retry-After": "3600"}, {"suggestedWindow": {"start": start, "end": end}}
