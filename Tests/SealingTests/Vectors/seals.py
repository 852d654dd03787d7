"""Formats of sealed zones, written once more with the package cryptography, and the cases of
Seals.jsonl. scripts/sealing-check compares Lockstep with both."""

import base64
import functools
import hashlib
import json
import re
import struct

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes, hmac
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

CONSONANTS, VOWELS = "bdfghjklmnprstvz", "aiou"
NAME_BYTES = 255
NUMBER_MOST, ENTRIES_MOST = 2 ** 53 - 1, 64
GENERATIONS_MOST, WRAPPED_MOST = 64, 8_192


class Fault(Exception):
    """Reason why a seal or a phrase is refused; `args` are its kind and, of some, a number."""


def derived(secret, info, count):
    return HKDF(hashes.SHA256(), count, b"lockstep account", info).derive(secret)


def code(key, message):
    made = hmac.HMAC(key, hashes.SHA256())
    made.update(message)
    return made.finalize()


def words(data):
    """Proquints: five letters for each 16 bits."""
    return [CONSONANTS[n >> 12] + VOWELS[n >> 10 & 3] + CONSONANTS[n >> 6 & 15]
            + VOWELS[n >> 4 & 3] + CONSONANTS[n & 15]
            for n, in struct.iter_unpack(">H", data)]


def key_id(secret):
    return derived(secret, b"id", 8).hex()


def check_words(secret):
    return words(derived(secret, b"check words", 12))


def checksum(secret):
    return hashlib.sha256(b"lockstep account phrase" + secret).digest()[:2]


def phrase(secret):
    return words(secret + checksum(secret))


def secret_of(text):
    """The secret of a phrase."""
    letters = re.sub("[^a-z]", "", text.lower())
    if len(letters) != 85:
        raise Fault("letters", len(letters))
    form = re.compile(f"[{CONSONANTS}][{VOWELS}][{CONSONANTS}][{VOWELS}][{CONSONANTS}]")
    data = b""
    for place in range(17):
        word = letters[5 * place:5 * place + 5]
        if not form.fullmatch(word):
            raise Fault("word", place + 1)
        first, second, third, fourth, fifth = (
            (VOWELS if at % 2 else CONSONANTS).index(letter) for at, letter in enumerate(word))
        data += struct.pack(
            ">H", first << 12 | second << 10 | third << 6 | fourth << 4 | fifth)
    if checksum(data[:32]) != data[32:]:
        raise Fault("checksum")
    return data[:32]


def encoded(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def decoded(text):
    """The bytes; None if it is not their one text."""
    if not re.fullmatch("[A-Za-z0-9_-]*", text) or len(text) % 4 == 1:
        return None
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    return data if encoded(data) == text else None


def padded_length(length):
    if length <= 1024:
        return -(-length // 32) * 32
    exponent = length.bit_length() - 1
    unit = 1 << (exponent - exponent.bit_length())
    return -(-length // unit) * unit


def version_of(writer, number, made=(), floor=0):
    """The bytes of a record version: its writer and its number, then the vector of what it was
    made on: the floor, then each writer with its number."""
    return b"".join([
        bytes.fromhex(writer), struct.pack(">qq", number, floor),
        *(bytes.fromhex(other) + struct.pack(">q", known) for other, known in made)])


def version_parts(version):
    """Writer, number, floor and entries of a record version; None if it breaks a rule."""
    if not 24 <= len(version) <= 24 + 16 * ENTRIES_MOST or len(version) % 16 != 8:
        return None
    writer, number, floor = struct.unpack_from(">8sqq", version)
    made = [(other.hex(), known) for other, known in struct.iter_unpack(">8sq", version[24:])]
    writers = [other for other, _ in made]
    if (not 0 <= floor <= NUMBER_MOST or writers != sorted(set(writers))
            or not all(floor < known <= NUMBER_MOST for _, known in made)
            or not dict(made).get(writer.hex(), floor) < number <= NUMBER_MOST):
        return None
    return writer.hex(), number, floor, made


def content(name, kind, author, version, fields):
    """A record's plaintext without its padding; `version` are the bytes of its version."""
    head = bytes([1 if fields is not None else 2]) + bytes.fromhex(author)
    head += version[:24] + bytes([(len(version) - 24) // 16]) + version[24:]
    for text in name, kind:
        head += bytes([len(text.encode())]) + text.encode()
    return head + (fields or b"")


def padded(data):
    return (data + b"\x80").ljust(padded_length(len(data) + 1), b"\0")


def associated_data(zone, name, kind, device, modified_at, chunks):
    data = b"lockstep record 1"
    for text in zone, name, kind, device:
        data += struct.pack(">H", len(text.encode())) + text.encode()
    return data + struct.pack(">q", modified_at) + hashlib.sha256(chunks).digest()


def is_name(data):
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return False
    return (1 <= len(data) <= NAME_BYTES
            and not any(ord(sign) < 32 or 127 <= ord(sign) < 160 for sign in text))


def json_value(data):
    """The value, with the strictness of the library: no name twice, no lone surrogate."""
    def members(pairs):
        if len(dict(pairs)) < len(pairs):
            raise ValueError("a name twice")
        return dict(pairs)

    def refused(text):
        raise ValueError(text)

    value = json.loads(data.decode(), object_pairs_hook=members, parse_constant=refused)
    json.dumps(value, ensure_ascii=False).encode()
    return value


def json_object(data):
    """The members; None if it is not the JSON of an object."""
    try:
        value = json_value(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


WRAP_LABEL = b"lockstep wrapped keys"


@functools.cache
def wrapping_key(letters, salt):
    return Scrypt(salt=WRAP_LABEL + b"\0" + salt, length=64, n=65_536, r=8, p=1).derive(
        letters.encode())


def wrapped_plaintext(letters, salt, plaintext):
    sealed = AESSIV(wrapping_key(letters, salt)).encrypt(plaintext, [WRAP_LABEL + b"\1"])
    return encoded(b"\1" + salt + sealed)


def wrapped(letters, salt, account, keys):
    """The keys that a pairing code carries, under the letters of its second half; `keys` in their
    stored form."""
    return wrapped_plaintext(letters, salt, canonical({"account": account, "keys": keys}))


def unwrapped(letters, account, text):
    """The stored form of the keys."""
    data = decoded(text) if len(text) <= WRAPPED_MOST else None
    if data is None or len(data) <= 33 or data[0] != 1:
        raise Fault("form")
    try:
        plaintext = AESSIV(wrapping_key(letters, data[1:17])).decrypt(
            data[17:], [WRAP_LABEL + b"\1"])
    except InvalidTag:
        raise Fault("secret") from None
    value = json_object(plaintext)
    if value is None or not isinstance(value.get("account"), str):
        raise Fault("malformed")
    if value["account"] != account:
        raise Fault("account")
    keys = value.get("keys")
    if not (are_zone_keys(keys) if isinstance(keys, list) else are_account_keys(keys)):
        raise Fault("malformed")
    return stored_keys(keys)


def is_key(text):
    data = decoded(text) if isinstance(text, str) else None
    return data is not None and len(data) == 32


def are_distinct(values, most):
    return 1 <= len(values) <= most and len(set(values)) == len(values)


def are_account_keys(value):
    return (isinstance(value, dict) and is_key(value.get("names"))
            and isinstance(value.get("generations"), list)
            and all(map(is_key, value["generations"]))
            and are_distinct(value["generations"], GENERATIONS_MOST)
            and sealed_zones(value) is not None
            and all(isinstance(zone, str) and is_name(zone.encode())
                    for zones in sealed_zones(value).values() for zone in zones))


def are_zone_keys(values):
    def is_zone(value):
        return (isinstance(value, dict) and is_key(value.get("names"))
                and isinstance(value.get("zone"), str) and is_name(value["zone"].encode())
                and isinstance(value.get("generations"), list)
                and all(isinstance(it, dict) and isinstance(it.get("id"), str)
                        and is_key(it.get("key")) for it in value["generations"])
                and are_distinct([it["id"] for it in value["generations"]], GENERATIONS_MOST))

    return all(map(is_zone, values)) and are_distinct([it["zone"] for it in values], len(values))


def account_keys(name_secret, secrets, plain=None, only=None):
    """The stored form of an account's keys, which seal all zones but `plain`, or `only` some."""
    zones = {"plain": sorted(plain)} if only is None else {"only": sorted(only)}
    return {"names": encoded(name_secret), "generations": [encoded(it) for it in secrets], **zones}


def zone_keys(zone):
    """The stored form of the keys of a `Zone`."""
    return {"zone": zone.zone, "names": encoded(zone.name_zone_key), "generations": [
        {"id": key_id, "key": encoded(key)} for key_id, key in zone.zone_keys.items()]}


def siv_text(key, plaintext, data):
    return encoded(AESSIV(key).encrypt(plaintext, [data]))


def ring_fields(keys, secret):
    """The record of an account's keys; `secret` is that of the generation that seals."""
    return {"key": key_id(secret), **sealed_zones(keys), "sealed": siv_text(
        derived(secret, b"ring", 64), canonical(keys), b"lockstep key ring")}


def ring_keys(fields, secret):
    """The stored form of the keys in the record that `ring_fields` made; `fields` are its JSON."""
    value = json_object(fields or b"") or {}
    sealed = decoded_member(value, "sealed")
    if not re.fullmatch("[0-9a-f]{16}", text_member(value, "key")) or sealed is None:
        raise Fault("malformed")
    if value["key"] != key_id(secret):
        raise Fault("otherKey")
    keys = json_object(siv_plaintext(derived(secret, b"ring", 64), sealed, b"lockstep key ring"))
    if not are_account_keys(keys) or decoded(keys["generations"][-1]) != secret:
        raise Fault("malformed")
    return stored_keys(keys)


def text_member(value, name):
    return value[name] if isinstance(value.get(name), str) else ""


def decoded_member(value, name):
    """The bytes of a text in Base64; None if it is none."""
    return decoded(value[name]) if isinstance(value.get(name), str) else None


def siv_plaintext(key, sealed, data):
    """The plaintext; no bytes if it was not sealed so."""
    try:
        return AESSIV(key).decrypt(sealed, [data]) if len(sealed) > 16 else b""
    except InvalidTag:
        return b""


def stored_keys(keys):
    """The stored form, without members that it does not have."""
    if isinstance(keys, list):
        return keys
    return {"names": keys["names"], "generations": keys["generations"], **sealed_zones(keys)}


def sealed_zones(keys):
    """The member that says which zones are sealed: all but the plain ones, or some only. None if
    there is not one of them."""
    found = {name: keys[name] for name in ("plain", "only") if isinstance(keys.get(name), list)}
    return found if len(found) == 1 else None


def public_key(private):
    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()


def shared_secret(private, public):
    """None for a public key that gives a secret that everybody knows."""
    try:
        return X25519PrivateKey.from_private_bytes(private).exchange(
            X25519PublicKey.from_public_bytes(public))
    except ValueError:
        return None


def device_fields(public, device, secret):
    return {"key": key_id(secret), "sealed": siv_text(
        derived(secret, b"device key", 64), public, b"lockstep device key " + device.encode())}


def device_public(fields, device, secret):
    """The public key in the record that `device_fields` made; None if it was made otherwise."""
    value = json_object(fields or b"") or {}
    sealed = decoded_member(value, "sealed")
    if value.get("key") != key_id(secret) or sealed is None:
        return None
    public = siv_plaintext(derived(secret, b"device key", 64), sealed,
                           b"lockstep device key " + device.encode())
    return public if len(public) == 32 else None


def next_fields(keys, author, private, device, public, without):
    key = derived(shared_secret(private, public), b"next keys", 64)
    data = f"lockstep next keys {author} {device}".encode()
    return {"by": author, "sealed": siv_text(
        key, canonical({"keys": keys, "without": without}), data)}


def next_keys(fields, author, public, device, private):
    """The stored form of the keys in the record that `next_fields` made, and the devices that do
    not get them; None if it was made otherwise."""
    shared = shared_secret(private, public)
    sealed = decoded_member(json_object(fields or b"") or {}, "sealed")
    if shared is None or sealed is None:
        return None
    data = f"lockstep next keys {author} {device}".encode()
    content = json_object(siv_plaintext(derived(shared, b"next keys", 64), sealed, data)) or {}
    keys = content.get("keys")
    if not (are_zone_keys(keys) if isinstance(keys, list) else are_account_keys(keys)):
        return None
    without = content.get("without")
    return stored_keys(keys), [
        device for device in (without if isinstance(without, list) else [])
        if isinstance(device, str) and re.fullmatch("[0-9a-f]{16}", device)]


def joined(own, others):
    """The secrets of a device that has `own` and gets `others`, the one that seals last; None if
    they are too many."""
    if set(others) <= set(own):
        return own
    if set(own) <= set(others):
        return others
    last = merged(own[-1], others[-1])
    secrets = [it for it in [*own, *(it for it in others if it not in own)] if it != last]
    return [*secrets, last] if len(secrets) < GENERATIONS_MOST else None


def merged(one, other):
    """The secret that follows from those of two generations."""
    return derived(b"".join(sorted([one, other], key=key_id)), b"merge", 32)


def canonical(value):
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


class Zone:
    """Seals and opens a zone's records. `secrets`: those of the generations, the current one
    last."""

    def __init__(self, zone, name_secret, *secrets):
        self.zone = zone
        info = b"zone\0" + zone.encode()
        self.name_zone_key = derived(name_secret, info, 32)
        self.name_key = derived(self.name_zone_key, b"name", 32)
        self.zone_keys = {key_id(secret): derived(secret, info, 32) for secret in secrets}
        self.key_id = key_id(secrets[-1])

    def key(self, purpose, count, generation=None):
        return derived(self.zone_keys[generation or self.key_id], purpose, count)

    def name(self, plain):
        return code(self.name_key, plain.encode()).hex()

    def seal_plaintext(self, plaintext, data):
        sealed = AESSIV(self.key(b"record", 64)).encrypt(plaintext, [data])
        return f'{{"key":"{self.key_id}","sealed":"{encoded(sealed)}"}}'.encode()

    def seal(self, name, kind, shown, author, device, modified_at, chunks, version, fields):
        """Name, type and fields at the relay; `device` saves there what `author` has made."""
        relay_name, relay_type = self.name(name), kind if shown else "Sealed"
        data = associated_data(self.zone, relay_name, relay_type, device, modified_at, chunks)
        plaintext = padded(content(name, kind, author, version, fields))
        return relay_name, relay_type, self.seal_plaintext(plaintext, data)

    def open(self, name, kind, device, modified_at, chunks, fields, tag=1):
        """Name, type, author, version and fields of a record of the relay."""
        outer = json_object(fields or b"")
        if (outer is None or sorted(outer) != ["key", "sealed"]
                or not all(isinstance(it, str) for it in outer.values())
                or not re.fullmatch("[0-9a-f]{16}", outer["key"])):
            raise Fault("notSealed")
        if outer["key"] not in self.zone_keys:
            raise Fault("unknownKey")
        sealed = decoded(outer["sealed"])
        data = associated_data(self.zone, name, kind, device, modified_at, chunks)
        try:
            if tag <= 0 or sealed is None or len(sealed) <= 16:
                raise Fault("altered")
            plaintext = AESSIV(self.key(b"record", 64, outer["key"])).decrypt(sealed, [data])
        except InvalidTag:
            raise Fault("altered") from None
        inner = self.record(plaintext)
        if self.name(inner[0]) != name or kind not in ("Sealed", inner[1]):
            raise Fault("malformed")
        return inner

    @staticmethod
    def record(plaintext):
        inside = plaintext.rstrip(b"\0")
        if not inside.endswith(b"\x80") or padded(inside[:-1]) != plaintext:
            raise Fault("malformed")
        rest = inside[:-1]
        if len(rest) < 34 or rest[0] not in (1, 2) or len(rest) < 34 + 16 * rest[33]:
            raise Fault("malformed")
        is_live, author, end = rest[0] == 1, rest[1:9].hex(), 34 + 16 * rest[33]
        version, rest = rest[9:33] + rest[34:end], rest[end:]
        if version_parts(version) is None:
            raise Fault("malformed")
        names = []
        for _ in range(2):
            if not rest or len(rest) <= rest[0] or not is_name(rest[1:1 + rest[0]]):
                raise Fault("malformed")
            names.append(rest[1:1 + rest[0]].decode())
            rest = rest[1 + rest[0]:]
        if json_object(rest) is None if is_live else rest != b"":
            raise Fault("malformed")
        return *names, author, version, rest if is_live else None

    def seal_chunk(self, data):
        return AESSIV(self.key(b"chunk", 64)).encrypt(data, [b"lockstep chunk 1"])

    def open_chunk(self, sealed):
        try:
            if len(sealed) <= 16:
                raise Fault("altered")
            return AESSIV(self.key(b"chunk", 64)).decrypt(sealed, [b"lockstep chunk 1"])
        except InvalidTag:
            raise Fault("altered") from None


# The cases. Bytes are hexadecimal, fields are text; what is long is given by a rule:
# {"head": TEXT, "unit": TEXT, "count": NUMBER, "tail": TEXT}, and its result by a SHA-256.

LONG = 6_000


def secret_number(number):
    return hashlib.sha256(f"secret {number}".encode()).digest()


def hash_number(number):
    return hashlib.sha256(f"chunk {number}".encode()).digest()


def long_text(rule):
    return rule["head"] + rule["unit"] * rule["count"] + rule["tail"]


def text_of(value):
    return long_text(value) if isinstance(value, dict) else value


def sized_fields(size):
    """Fields of so many bytes."""
    head, tail = '{"text":"', '"}'
    count = size - len(head) - len(tail)
    rule = {"head": head, "unit": "x", "count": count, "tail": tail}
    return rule if size > 300 else long_text(rule)


def key_cases():
    zones = ["Todos", "Vault", "Gr\u00fc\u00dfe \u2603 \U0001f600", "z" * 255]
    for number, zone in enumerate(zones):
        secret, name_secret = secret_number(number), secret_number(100 + number)
        keys = Zone(zone, name_secret, secret)
        yield "keys", None, {
            "secret": secret.hex(), "nameSecret": name_secret.hex(), "zone": zone}, {
            "id": key_id(secret), "checkWords": " ".join(check_words(secret)),
            "phrase": " ".join(phrase(secret)),
            "zoneKey": keys.zone_keys[keys.key_id].hex(),
            "recordKey": keys.key(b"record", 64).hex(),
            "chunkKey": keys.key(b"chunk", 64).hex(), "chunkSeed": keys.key(b"chunk seed", 8).hex(),
            "nameZoneKey": keys.name_zone_key.hex(), "nameKey": keys.name_key.hex()}


def phrase_cases():
    right = " ".join(phrase(secret_number(0)))
    parts = right.split()
    texts = [
        (None, right), ("case and separators", right.upper().replace(" ", "-\n")),
        ("without separators", right.replace(" ", "")), ("empty", ""),
        ("a word too few", " ".join(parts[:16])), ("a word too many", right + " babab"),
        ("a vowel that is none", right[:6] + right[6:].replace(parts[1][1], "e", 1)),
        ("a wrong last word", " ".join([*parts[:16], "quack"])),
        ("two words exchanged", " ".join([parts[1], parts[0], *parts[2:]])),
        ("another word", " ".join([*parts[:5], "babab", *parts[6:]])),
        ("all zeros", " ".join(phrase(bytes(32)))),
        ("all ones", " ".join(phrase(b"\xff" * 32)))]
    for note, text in texts:
        try:
            expect = {"secret": secret_of(text).hex()}
        except Fault as fault:
            expect = dict(zip(["fault", "number"], fault.args))
        yield "phrase", note, {"phrase": text}, expect


LETTERS, ACCOUNT = "C4VH1EZB83NW", "5f3a9c0d1e2b4a68"


def some_keys():
    """Keys of an account, and of two zones."""
    secrets = [secret_number(0), secret_number(1)]
    names = secret_number(100)
    return (account_keys(names, secrets, ["Vault"]),
            [zone_keys(Zone(zone, names, *secrets)) for zone in ("Gr\u00fc\u00dfe", "Todos")])


def wrap_cases():
    some = account_keys(secret_number(100), [secret_number(0)], only=["Gr\u00fc\u00dfe", "Memos"])
    for number, keys in enumerate(
            [*some_keys(), account_keys(bytes(32), [b"\xff" * 32], []), some]):
        letters = "000000000000" if number == 2 else LETTERS
        salt = hash_number(number)[:16]
        yield "wrap", None, {
            "letters": letters, "salt": salt.hex(), "account": ACCOUNT, "keys": keys}, {
            "wrapped": wrapped(letters, salt, ACCOUNT, keys)}


def unwrap_cases():
    for note, text, letters, account in unwrap_texts():
        try:
            expect = {"keys": unwrapped(letters, account, text)}
        except Fault as fault:
            expect = {"fault": fault.args[0]}
        yield "unwrap", note, {"letters": letters, "account": account, "wrapped": text}, expect


def unwrap_texts():
    """Notes, texts, letters and accounts."""
    salt, (keys, zones) = hash_number(0)[:16], some_keys()
    right = wrapped(LETTERS, salt, ACCOUNT, keys)
    data = decoded(right)
    yield None, right, LETTERS, ACCOUNT
    yield "keys of zones", wrapped(LETTERS, salt, ACCOUNT, zones), LETTERS, ACCOUNT
    yield "another second half", right, "C4VH1EZB83NX", ACCOUNT
    yield "another account", right, LETTERS, "5f3a9c0d1e2b4a69"
    for place in 1, 17, len(data) - 1:
        changed = data[:place] + bytes([data[place] ^ 1]) + data[place + 1:]
        yield f"byte {place} is changed", encoded(changed), LETTERS, ACCOUNT
    yield "a byte is missing", encoded(data[:-1]), LETTERS, ACCOUNT
    for note, text in [
            ("empty", ""), ("another form", encoded(b"\2" + data[1:])), ("padding", right + "="),
            ("nothing is sealed", encoded(data[:33])), ("a sign of other Base64", "+" + right[1:]),
            ("too long", encoded(data + bytes(6_200)))]:
        yield note, text, LETTERS, ACCOUNT
    for note, plaintext in unwrap_plaintexts(keys, zones):
        yield note, wrapped_plaintext(LETTERS, salt, plaintext), LETTERS, ACCOUNT


def unwrap_plaintexts(keys, zones):
    """Plaintexts that are wrapped by the rules, of which some break those of the keys."""
    yield "spaces, another order and further members", json.dumps(
        {"keys": {**keys, "more": 1}, "more": [], "account": ACCOUNT}, indent=1).encode()
    some = {**keys, "only": ["Memos", "Todos"]}
    yield "keys of an account that seal two zones", canonical({"account": ACCOUNT, "keys": {
        name: some[name] for name in some if name != "plain"}})
    yield "no JSON", b"{"
    yield "no object", b"[]"
    yield "no account", canonical({"keys": keys})
    yield "an account that is a number", canonical({"account": 1, "keys": keys})
    yield "no keys", canonical({"account": ACCOUNT})
    short, other = encoded(bytes(31)), encoded(bytes(32))
    todos = zones[1]
    first = todos["generations"][0]
    for note, value in [
            ("null", None), ("a text", "keys"), ("no zone", []),
            ("a name secret of 31 bytes", {**keys, "names": short}),
            ("no generation", {**keys, "generations": []}),
            ("a generation of 31 bytes", {**keys, "generations": [other, short]}),
            ("a generation twice", {**keys, "generations": [other, other]}),
            ("too many generations", {**keys, "generations": [
                encoded(secret_number(number)) for number in range(GENERATIONS_MOST + 1)]}),
            ("no list of plain zones", {"names": other, "generations": [other]}),
            ("a plain zone without a name", {**keys, "plain": [""]}),
            ("plain and sealed zones", some),
            ("a sealed zone without a name", {
                "names": other, "generations": [other], "only": ["Memos", ""]}),
            ("a zone twice", [todos, todos]), ("a zone without a name", [{**todos, "zone": ""}]),
            ("a zone's name key of 31 bytes", [{**todos, "names": short}]),
            ("a zone without generations", [{**todos, "generations": []}]),
            ("a zone's generation twice", [{**todos, "generations": [first, first]}]),
            ("a zone's generation without an id", [{**todos, "generations": [{"key": other}]}]),
            ("a zone's key of 31 bytes", [
                {**todos, "generations": [{**first, "key": short}]}])]:
        yield note, canonical({"account": ACCOUNT, "keys": value})


def x25519_cases():
    for number in range(4):
        private, other = secret_number(number), public_key(secret_number(number + 1))
        yield "x25519", None, {"secret": private.hex(), "other": other.hex()}, {
            "publicKey": public_key(private).hex(), "shared": shared_secret(private, other).hex()}
    prime = 2 ** 255 - 19
    points = [("zero", 0), ("one", 1), ("the prime less one", prime - 1), ("the prime", prime),
              ("more than the prime", prime + 9), ("all ones", 2 ** 256 - 1)]
    for note, point in points:
        private, other = secret_number(0), point.to_bytes(32, "little")
        shared = shared_secret(private, other)
        yield "x25519", note, {"secret": private.hex(), "other": other.hex()}, {
            "publicKey": public_key(private).hex(), "shared": shared and shared.hex()}


OTHER_DEVICE = "00000000000000ff"


def ring_cases():
    for count, plain, only in [
            (1, [], None), (2, ["Keys", "Vault"], None), (64, ["Gr\u00fc\u00dfe", "Keys"], None),
            (1, None, []), (2, None, ["Timer", "Memos"])]:
        secrets = [secret_number(number) for number in range(count)]
        keys = account_keys(secret_number(100), secrets, plain, only)
        yield "ring", None, {"keys": keys}, {"fields": ring_fields(keys, secrets[-1])}


def handover_cases():
    private, other = secret_number(50), secret_number(51)
    for number in range(2):
        secret, public = secret_number(number), public_key(secret_number(50 + number))
        yield "deviceKey", None, {
            "secret": secret.hex(), "device": ACCOUNT, "publicKey": public.hex()}, {
            "fields": device_fields(public, ACCOUNT, secret)}
    for count, without, only in [
            (2, [], None), (64, ["0123456789abcdef", "fedcba9876543210"], None),
            (1, [], ["Memos"])]:
        secrets = [secret_number(number) for number in range(count)]
        keys = account_keys(secret_number(100), secrets, ["Keys", "Vault"], only)
        yield "nextKeys", None, {
            "keys": keys, "author": ACCOUNT, "authorSecret": private.hex(), "device": OTHER_DEVICE,
            "deviceSecret": other.hex(), "without": without}, {
            "fields": next_fields(
                keys, ACCOUNT, private, OTHER_DEVICE, public_key(other), without)}


def joined_cases():
    for note, own, others in [
        ("later ones", [0], [0, 1]), ("earlier ones", [0, 1], [0]),
        ("two at once", [0, 1], [0, 2]), ("two at once", [0, 2], [0, 1]),
        ("too many", list(range(63)), [63]),
    ]:
        secrets = [[secret_number(it) for it in numbers] for numbers in (own, others)]
        keys = [account_keys(secret_number(100), it, []) for it in secrets]
        expect = joined(*secrets)
        yield "joined", note, {"own": keys[0], "others": keys[1]}, {
            "generations": expect and [key_id(secret) for secret in expect]}


def name_cases():
    name_secret = secret_number(100)
    for zone in "Todos", "Habits":
        for name in "a", "018f7c2e-7a1b-4c3d-9e8f-001122334455", "\u00e9", "e\u0301", "n" * 255:
            yield "name", None, {
                "nameSecret": name_secret.hex(), "zone": zone, "name": name}, {
                "name": Zone(zone, name_secret, secret_number(0)).name(name)}


DEVICE, WRITER, STAMP = "00a1b2c3d4e5f607", "5eed0123456789ab", 1_790_000_000_000
FIRST, LAST = "0" * 16, "f" * 16


def version_text(version):
    writer, number, floor, made = version_parts(version)
    return {"writer": writer, "number": number, "floor": floor, "made": [
        {"writer": other, "number": known} for other, known in made]}


def many_entries(count, first=1):
    """Entries of so many writers, without `WRITER`."""
    return [(f"{number:016x}", number + first) for number in range(count)]


def with_own(entries, number):
    """The entries, and one of `WRITER`."""
    return sorted([*entries, (WRITER, number)])


def record_case(note=None, zone="Todos", name="018f7c2e-7a1b", kind="Todo", shown=False,
                author=DEVICE, device=None, modified_at=STAMP, chunks=(), version=None,
                fields='{"done":false,"title":"milk"}', keys=0):
    device = device or author
    name_secret, secret = secret_number(100 + keys), secret_number(keys)
    version = version or version_of(WRITER, max(modified_at, 1))
    data = None if fields is None else text_of(fields).encode()
    relay_name, relay_type, sealed = Zone(zone, name_secret, secret).seal(
        name, kind, shown, author, device, modified_at, b"".join(chunks), version, data)
    expect = {"name": relay_name, "type": relay_type}
    if len(sealed) > LONG:
        expect["length"] = len(sealed)
        expect["fieldsHash"] = hashlib.sha256(sealed).hexdigest()
    else:
        expect["fields"] = sealed.decode()
    return "record", note, {
        "nameSecret": name_secret.hex(), "secret": secret.hex(), "zone": zone, "name": name,
        "type": kind, "shown": shown, "device": device, "modifiedAt": modified_at,
        "chunks": [it.hex() for it in chunks], "author": author,
        "version": version_text(version), "fields": fields}, expect


def record_cases():
    yield record_case()
    yield record_case("no field", fields="{}")
    yield record_case("a deleted record", fields=None)
    yield record_case("another generation and account", keys=1)
    # Fixed parts, a name of one byte, a type of one and the 0x80 take 39 bytes.
    for size in 23, 24, 25, 26, 49, 984, 985, 986, 1_024, 1_049, 1_050, 2_009, 2_010:
        yield record_case(f"fields of {size} bytes", name="n", kind="T", fields=sized_fields(size))
    for size in 5_000, 70_000, 770_000:
        yield record_case(f"fields of {size} bytes", fields=sized_fields(size))
    yield record_case("names that are no ASCII", zone="Gr\u00fc\u00dfe", name="\u2603 \U0001f600",
                      kind="Gru\u0308\u00df")
    yield record_case("names of the most bytes", zone="z" * 255, name="\u00e9" * 127 + "n",
                      kind="t" * 255)
    yield record_case("fields that are no ASCII, in the order of their bytes",
                      fields='{"\uff5e":1,"\U0001f600":[null,true,"\u2028\\u0001\\"\\\\/\x7f"]}')
    yield record_case("numbers of more digits than JavaScript's own",
                      fields='{"a":9007199254740993,"b":0.1234567890123456789,"c":1e400,"d":-0.5}')
    yield record_case("a type that the zone shows", shown=True)
    yield record_case("a type of the name that stands for all", kind="Sealed")
    yield record_case("a deleted record of a type that is shown", shown=True, fields=None)
    for count in 1, 2, 33:
        yield record_case(f"{count} chunks", zone="Vault", kind="File",
                          chunks=[hash_number(number) for number in range(count)])
    yield from version_cases()
    for stamp in 0, 1, -1, 2 ** 32 - 1, 2 ** 32, -2 ** 32, 2 ** 53 - 1, 1 - 2 ** 53:
        yield record_case(f"the stamp {stamp}", modified_at=stamp)
    for device in FIRST, LAST:
        yield record_case(f"the device {device}", author=device)


def version_cases():
    """Records of other versions and authors."""
    for note, version in VERSIONS:
        yield record_case(note, version=version)
    yield record_case("a deleted record made on another writer's version", fields=None,
                      version=version_of(WRITER, STAMP, [("8000000000000000", 2)]))
    for device in LAST, FIRST:
        yield record_case(f"an author's record that the device {device} saves", device=device)
    yield record_case("a deleted record that another device saves", device=LAST, fields=None)


VERSIONS = [
    ("a version made on another writer's", version_of(WRITER, STAMP, [(LAST, STAMP - 1)])),
    ("a version made on an earlier one of its writer",
     version_of(WRITER, STAMP, [(WRITER, STAMP - 1)])),
    ("a version made on those of two other writers and of its own", version_of(
        WRITER, STAMP + 1, [(FIRST, 1), (WRITER, 3), (LAST, STAMP)])),
    ("a version with a smaller number than what it was made on",
     version_of(WRITER, 2, [(WRITER, 1), (LAST, NUMBER_MOST)])),
    ("64 entries without the version's writer", version_of(WRITER, STAMP, many_entries(64))),
    ("64 entries with the version's writer",
     version_of(WRITER, STAMP, with_own(many_entries(63), 7))),
    ("64 entries and a floor",
     version_of(WRITER, STAMP, many_entries(64, 2 ** 32 + 1), 2 ** 32)),
    ("64 entries with greater numbers than the version's",
     version_of(WRITER, 9, many_entries(64, 10), 8)),
    ("a floor alone, just below the version's number",
     version_of(WRITER, 2 ** 40, floor=2 ** 40 - 1)),
    ("a floor, and an entry of the version's writer just above it",
     version_of(WRITER, 2 ** 32 + 2, [(WRITER, 2 ** 32 + 1)], 2 ** 32)),
    ("the greatest number", version_of(WRITER, NUMBER_MOST, [(WRITER, NUMBER_MOST - 1)])),
    ("the greatest number, of what the version was made on too",
     version_of(WRITER, NUMBER_MOST, [(LAST, NUMBER_MOST)])),
    ("the greatest floor", version_of(WRITER, NUMBER_MOST, floor=NUMBER_MOST - 1)),
    ("the least number", version_of(WRITER, 1)),
    ("the first writer", version_of(FIRST, STAMP, [(FIRST, 1), (WRITER, 1)])),
    ("the last writer", version_of(LAST, STAMP, [(WRITER, 1), (LAST, 1)])),
    ("writers in the order of unsigned numbers", version_of(
        WRITER, 2, [(WRITER, 1), ("7fffffffffffffff", 1), ("8" + "0" * 15, 1), (LAST, 1)])),
]


def chunk_cases():
    zone = Zone("Vault", secret_number(100), secret_number(0))
    for rule in [
        {"head": "x", "unit": "", "count": 0, "tail": ""},
        *({"head": "", "unit": "0123456789", "count": count, "tail": tail}
          for count, tail in [(1, "abcde"), (1, "abcdef"), (1, "abcdefg"), (3, "a"), (3, "ab"),
                              (3, "abc"), (100, "")]),
        {"head": "", "unit": "lockstep", "count": 1 << 17, "tail": "."},
    ]:
        sealed = zone.seal_chunk(long_text(rule).encode())
        expect = {"hash": hashlib.sha256(sealed).hexdigest()}
        if len(sealed) <= LONG:
            expect["sealed"] = sealed.hex()
        yield "chunk", None, {
            "secret": secret_number(0).hex(), "zone": "Vault", "bytes": rule}, expect


def version_plaintexts():
    """Plaintexts whose version breaks one rule, with notes."""
    def of(number, made=(), floor=0):
        return padded(content("n", "T", DEVICE, version_of(WRITER, number, made, floor), b"{}"))

    yield "the version's number 0", of(0)
    yield "the version's number -1", of(-1)
    yield "the version's number 2^53", of(2 ** 53)
    yield "the version's number 2^53 + 1", of(2 ** 53 + 1)
    yield "the version's number 2^63 - 1", of(2 ** 63 - 1)
    yield "the version's number -2^63", of(-2 ** 63)
    yield "the number of the writer's entry", of(7, [(WRITER, 7)])
    yield "a number below that of the writer's entry", of(6, [(WRITER, 7)])
    yield "the number of the writer's entry, among others", of(
        STAMP, [(FIRST, 1), (WRITER, STAMP), (LAST, 1)])
    yield "the number of the floor", of(7, floor=7)
    yield "a number below the floor", of(6, floor=7)
    yield "the number of the floor, with another writer's entry", of(7, [(LAST, 8)], 7)
    yield "a number above the floor, but not above the writer's entry", of(9, [(WRITER, 9)], 8)
    yield "65 entries", of(STAMP, many_entries(65))
    yield "255 entries", of(STAMP, many_entries(255))
    yield "a floor of -1", of(STAMP, floor=-1)
    yield "the least floor", of(STAMP, floor=-2 ** 63)
    yield "a floor of 2^53 - 1", of(NUMBER_MOST, floor=NUMBER_MOST)
    yield "a floor of 2^53", of(NUMBER_MOST, floor=2 ** 53)
    yield "a floor above 2^53, below all numbers", of(
        2 ** 53 + 3, [(LAST, 2 ** 53 + 2)], 2 ** 53 + 1)
    yield "a floor that is the number of an entry", of(STAMP, [(LAST, 7)], 7)
    yield "a floor above the number of an entry", of(STAMP, [(WRITER, 9), (LAST, 7)], 8)
    yield "an entry's number 0", of(STAMP, [(LAST, 0)])
    yield "an entry's number -1", of(STAMP, [(LAST, -1)])
    yield "an entry's number 2^53", of(STAMP, [(LAST, 2 ** 53)])
    yield "an entry's number 2^53 + 1", of(STAMP, [(WRITER, 1), (LAST, 2 ** 53 + 1)])
    yield "an entry's number 2^63 - 1", of(STAMP, [(LAST, 2 ** 63 - 1)])
    yield "a writer twice", of(STAMP, [(LAST, 7), (LAST, 7)])
    yield "the version's writer twice, with two numbers", of(STAMP, [(WRITER, 7), (WRITER, 8)])
    yield "writers in another order", of(STAMP, [(LAST, 8), (WRITER, 7)])
    yield "writers in the order of signed numbers", of(
        STAMP, [("8" + "0" * 15, 8), (WRITER, 7)])
    yield from version_cuts()


def version_cuts():
    """Plaintexts that end, or go on, in the place of a part before the name, with notes."""
    head = b"\1" + bytes.fromhex(DEVICE) + version_of(WRITER, STAMP)
    entry = bytes.fromhex(LAST) + struct.pack(">q", 1)
    for note, length in [
        ("a byte alone", 1), ("an author cut off", 8), ("an author alone", 9),
        ("a writer cut off", 16), ("a writer alone", 17), ("a number cut off", 24),
        ("a number without a floor", 25), ("a floor cut off", 32), ("a floor alone", 33),
    ]:
        yield note, padded(head[:length])
    yield "no entries, and no name", padded(head + b"\0")
    yield "an entry beyond the end", padded(head + b"\2" + entry + b"\1n\1T{}")
    yield "an entry cut off", padded(head + b"\1" + entry[:-1])
    yield "an entry's writer alone", padded(head + b"\1" + entry[:8])
    yield "an entry alone", padded(head + b"\1" + entry)
    rest = b'\1n\1T{"title":"milk","done":false}'
    yield "no author", padded(head[:1] + head[9:] + b"\0" + rest)
    yield "no version", padded(head[:9] + rest)
    yield "no writer", padded(head[:9] + head[17:] + b"\0" + rest)
    yield "no number", padded(head[:17] + head[25:] + b"\0" + rest)
    yield "no floor", padded(head[:25] + b"\0" + rest)
    yield "no number of entries", padded(head + rest)
    yield "an entry that is not counted", padded(head + b"\0" + entry + rest)


def plaintexts():
    """Plaintexts that are not those of a record named "n", with notes."""
    own = version_of(WRITER, STAMP)
    right = content("n", "T", DEVICE, own, b"{}")
    head = right[:-len(b"\1n\1T{}")]

    def of(*parts):
        """A live record with these bytes behind its version."""
        return padded(b"".join([head, *parts]))

    yield "no bytes inside of the padding", padded(b"")
    yield "zeros alone", bytes(32)
    yield "not padded", right
    yield "another byte before the zeros", (right + b"\x81").ljust(64, b"\0")
    yield "a byte after the zeros", padded(right)[:-1] + b"\1"
    yield "padded by 32 bytes more", padded(right) + bytes(32)
    yield "padded to 48 bytes", (right + b"\x80").ljust(48, b"\0")
    long = content("n", "T", DEVICE, own, long_text({
        "head": '{"text":"', "unit": "x", "count": 1_190, "tail": '"}'}).encode())
    yield "padded to a multiple of 32 above 1,024", (long + b"\x80").ljust(1_248, b"\0")
    yield "first byte 0", padded(b"\0" + right[1:])
    yield "first byte 3", padded(b"\3" + right[1:])
    yield from version_plaintexts()
    yield "an empty name", of(b"\0", b"\1T", b"{}")
    yield "a name beyond the end", of(b"\xffn")
    yield "a name up to the end", of(b"\1n")
    yield "an empty type", of(b"\1n", b"\0", b"{}")
    yield "a type beyond the end", of(b"\1n", b"\2T")
    yield "a type that ends with a byte of the padding", padded(
        b"\2" + head[1:] + b"\1n\2\xc3")
    yield "a name that is not UTF-8", of(b"\1\xff", b"\1T", b"{}")
    yield "a name with a control character", of(b"\1\n", b"\1T", b"{}")
    yield "a name with U+0085", of(b"\2\xc2\x85", b"\1T", b"{}")
    yield "a type with a control character", of(b"\1n", b"\1\x7f", b"{}")
    yield "another name", padded(content("m", "T", DEVICE, own, b"{}"))
    yield "the name with a byte order mark", padded(content("\ufeffn", "T", DEVICE, own, b"{}"))
    yield "no fields", padded(content("n", "T", DEVICE, own, b""))
    yield "a deleted record with fields", padded(b"\2" + right[1:])
    for fields in (b"[]", b"null", b"{", b"{} x", b'{"a":}', b'{"a":"\xff"}', b'{"a":NaN}',
                   b'{"a":1,"a":2}', b'{"a":"\\ud800"}', b"\xef\xbb\xbf{}"):
        yield f"fields {fields.decode(errors='replace')!a}", padded(
            content("n", "T", DEVICE, own, fields))


def fault_cases():
    """Records of the relay that are refused. The first has no fault but is the others' origin."""
    name_secret, secret = secret_number(100), secret_number(0)
    zone = Zone("Todos", name_secret, secret)
    device, stamp, chunks = DEVICE, STAMP, hash_number(0) + hash_number(1)
    inside = '{"done":false,"tags":[],"title":"milk"}'
    own = version_of(WRITER, stamp, [(WRITER, 1)])
    name, kind, sealed = zone.seal(
        "n", "T", False, device, device, stamp, chunks, own, inside.encode())
    outer = json.loads(sealed)
    right = {"zone": "Todos", "name": name, "type": kind, "device": device, "modifiedAt": stamp,
             "tag": 1, "chunks": [chunks[:32].hex(), chunks[32:].hex()], "fields": sealed.decode()}

    def case(note, fault, author=device, version=own, **changes):
        expect = {"fault": fault} if fault else {
            "name": "n", "type": "T", "author": author, "version": version_text(version),
            "fields": inside}
        return "open", note, {
            "nameSecret": name_secret.hex(), "secret": secret.hex(), **right, **changes}, expect

    def with_seal(key=outer["key"], sealed=outer["sealed"]):
        return f'{{"key":"{key}","sealed":"{sealed}"}}'

    yield case("as it was sealed", None)
    yield case("members in another order, with white space", None,
               fields=json.dumps(dict(reversed(outer.items())), indent=1))
    for note, fields in [
        ("a tombstone", None), ("plain fields", '{"title":"milk"}'), ("no fields", "{}"),
        ("a member more", json.dumps({**outer, "a": 1})), ("a list", "[]"),
        ("no key", json.dumps({"sealed": outer["sealed"]})),
        ("a key that is a number", json.dumps({**outer, "key": 1})),
        ("a seal that is null", json.dumps({**outer, "sealed": None})),
        ("a key in capitals", with_seal(key="ABCDEFABCDEFABCD")),
        ("an empty key", with_seal(key="")),
        ("a key of 15 digits", with_seal(key=outer["key"][1:])),
        ("a key of 17 digits", with_seal(key=outer["key"] + "0")),
        ("a key with a line feed", with_seal(key=outer["key"] + "\\n")),
        ("a key of another letter", with_seal(key="g" + outer["key"][1:])),
    ]:
        yield case(note, "notSealed", fields=fields)
    yield case("another generation", "unknownKey", fields=with_seal(key=key_id(secret_number(1))))
    text = outer["sealed"]
    for note, changed in [
        ("an empty seal", ""), ("a seal of a tag alone", text[:22]), ("padding", text + "="),
        ("one digit more", text + "A"), ("one digit less", text[:-1]),
        ("a sign of the other Base64", "+" + text[1:]), ("no ASCII", "\u00e9" + text[1:]),
        ("an unused bit", text[:-1] + chr(ord(text[-1]) + 1)),
    ]:
        yield case(note, "altered", fields=with_seal(sealed=changed))
    yield case("another zone", "altered", zone="Habits")
    yield case("another name", "altered", name=zone.name("m"))
    yield case("another type", "altered", type="T")
    yield case("another device", "altered", device="00a1b2c3d4e5f608")
    yield case("another stamp", "altered", modifiedAt=stamp + 1)
    yield case("chunks in another order", "altered", chunks=right["chunks"][::-1])
    yield case("a chunk less", "altered", chunks=right["chunks"][:1])
    yield case("no chunks", "altered", chunks=[])
    yield case("the greatest tag", None, tag=2 ** 53 - 1)
    yield case("the tag 0, which no stored record has", "altered", tag=0)
    yield case("a tag below 0", "altered", tag=-1)
    yield case("the tag 0 of a record of another generation", "unknownKey", tag=0,
               fields=with_seal(key=key_id(secret_number(1))))
    yield case("the tag 0 of a record that is not sealed", "notSealed", tag=0, fields="{}")
    data = associated_data("Todos", name, kind, device, stamp, chunks)
    for note, version in VERSIONS:
        plaintext = padded(content("n", "T", device, version, inside.encode()))
        yield case(note, None, version=version,
                   fields=zone.seal_plaintext(plaintext, data).decode())
    for author in LAST, FIRST:
        plaintext = padded(content("n", "T", author, own, inside.encode()))
        yield case(f"a record of the author {author}, saved by another device", None, author,
                   fields=zone.seal_plaintext(plaintext, data).decode())
    for note, plaintext in plaintexts():
        yield case(note, "malformed", fields=zone.seal_plaintext(plaintext, data).decode())
    data = associated_data("Todos", name, "U", device, stamp, chunks)
    fields = zone.seal_plaintext(padded(content("n", "T", DEVICE, own, b"{}")), data).decode()
    yield case("a type at the relay that is not the one inside", "malformed", type="U",
               fields=fields)


def lines():
    """The lines of Seals.jsonl."""
    for cases in (key_cases, phrase_cases, wrap_cases, unwrap_cases, x25519_cases,
                  ring_cases, handover_cases, joined_cases, name_cases, record_cases,
                  chunk_cases, fault_cases):
        for kind, note, case, expect in cases():
            line = {"kind": kind, **({"note": note} if note else {}), "case": case,
                    "expect": expect}
            yield json.dumps(line, ensure_ascii=False, separators=(",", ":"))
