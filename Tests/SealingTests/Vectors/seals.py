"""Formats of sealed zones, written once more with the package cryptography, and the cases of
Seals.jsonl. scripts/sealing-check compares Lockstep with both."""

import base64
import hashlib
import json
import re
import struct

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes, hmac
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

CONSONANTS, VOWELS = "bdfghjklmnprstvz", "aiou"
NAME_BYTES = 255
NUMBER_MOST, ENTRIES_MOST = 2 ** 53 - 1, 64


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


def vector_of(entries, floor=0):
    """The bytes of a version vector: its floor, then each device with its number. They stand in
    a plaintext with the number of entries in between."""
    return struct.pack(">q", floor) + b"".join(
        bytes.fromhex(device) + struct.pack(">q", number) for device, number in entries)


def entries_of(vector):
    """Floor and entries of a version vector; None if it breaks a rule."""
    if len(vector) < 24 or len(vector) % 16 != 8 or len(vector) > 8 + 16 * ENTRIES_MOST:
        return None
    floor, = struct.unpack_from(">q", vector)
    entries = [(device.hex(), number)
               for device, number in struct.iter_unpack(">8sq", vector[8:])]
    devices = [device for device, _ in entries]
    if (floor < 0 or devices != sorted(set(devices))
            or not all(floor < number <= NUMBER_MOST for _, number in entries)):
        return None
    return floor, entries


def content(name, kind, vector, fields):
    """A record's plaintext without its padding; `vector` are the bytes of its version vector."""
    head = bytes([1 if fields is not None else 2])
    head += vector[:8] + bytes([(len(vector) - 8) // 16]) + vector[8:]
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


def wrapped_key(letters, salt, name_secret, secret, record_name):
    """The keys for a new device, under the letters of a code's second half."""
    sealing_key = Scrypt(salt=salt, length=64, n=65_536, r=8, p=1).derive(letters.encode())
    data = b"lockstep account key " + record_name.encode()
    return AESSIV(sealing_key).encrypt(name_secret + secret, [data])


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

    def seal(self, name, kind, shown, device, modified_at, chunks, vector, fields):
        """Name, type and fields at the relay."""
        relay_name, relay_type = self.name(name), kind if shown else "Sealed"
        data = associated_data(self.zone, relay_name, relay_type, device, modified_at, chunks)
        plaintext = padded(content(name, kind, vector, fields))
        return relay_name, relay_type, self.seal_plaintext(plaintext, data)

    def open(self, name, kind, device, modified_at, chunks, fields, tag=1):
        """Name, type, version vector and fields of a record of the relay."""
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
        if device not in dict(entries_of(inner[2])[1]):
            raise Fault("malformed")
        return inner

    @staticmethod
    def record(plaintext):
        inside = plaintext.rstrip(b"\0")
        if not inside.endswith(b"\x80") or padded(inside[:-1]) != plaintext:
            raise Fault("malformed")
        rest = inside[:-1]
        if len(rest) < 10 or rest[0] not in (1, 2) or len(rest) < 10 + 16 * rest[9]:
            raise Fault("malformed")
        is_live, end = rest[0] == 1, 10 + 16 * rest[9]
        vector, rest = rest[1:9] + rest[10:end], rest[end:]
        if entries_of(vector) is None:
            raise Fault("malformed")
        names = []
        for _ in range(2):
            if not rest or len(rest) <= rest[0] or not is_name(rest[1:1 + rest[0]]):
                raise Fault("malformed")
            names.append(rest[1:1 + rest[0]].decode())
            rest = rest[1 + rest[0]:]
        if json_object(rest) is None if is_live else rest != b"":
            raise Fault("malformed")
        return *names, vector, rest if is_live else None

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


def wrap_cases():
    for number, letters in enumerate(["C4VH1EZB83NW", "000000000000"]):
        name_secret, secret = secret_number(100 + number), secret_number(number)
        salt, record_name = hash_number(number)[:16], f"code/{hash_number(9).hex()[:32]}"
        wrapped = wrapped_key(letters, salt, name_secret, secret, record_name)
        yield "wrap", None, {
            "letters": letters, "salt": salt.hex(), "nameSecret": name_secret.hex(),
            "secret": secret.hex(), "recordName": record_name}, {"wrapped": wrapped.hex()}


def name_cases():
    name_secret = secret_number(100)
    for zone in "Todos", "Habits":
        for name in "a", "018f7c2e-7a1b-4c3d-9e8f-001122334455", "\u00e9", "e\u0301", "n" * 255:
            yield "name", None, {
                "nameSecret": name_secret.hex(), "zone": zone, "name": name}, {
                "name": Zone(zone, name_secret, secret_number(0)).name(name)}


DEVICE, STAMP = "00a1b2c3d4e5f607", 1_790_000_000_000


def vector_text(vector):
    floor, entries = entries_of(vector)
    return {"floor": floor, "entries": [
        {"device": device, "number": number} for device, number in entries]}


def many_entries(count, first=1):
    """Entries of so many devices; the last one is `DEVICE`."""
    return [*((f"{number:016x}", number + first) for number in range(count - 1)),
            (DEVICE, STAMP)]


def record_case(note=None, zone="Todos", name="018f7c2e-7a1b", kind="Todo", shown=False,
                device=DEVICE, modified_at=STAMP, chunks=(), entries=None, floor=0,
                fields='{"done":false,"title":"milk"}', keys=0):
    name_secret, secret = secret_number(100 + keys), secret_number(keys)
    vector = vector_of(entries or [(device, max(modified_at, 1))], floor)
    data = None if fields is None else text_of(fields).encode()
    relay_name, relay_type, sealed = Zone(zone, name_secret, secret).seal(
        name, kind, shown, device, modified_at, b"".join(chunks), vector, data)
    expect = {"name": relay_name, "type": relay_type}
    if len(sealed) > LONG:
        expect["length"] = len(sealed)
        expect["fieldsHash"] = hashlib.sha256(sealed).hexdigest()
    else:
        expect["fields"] = sealed.decode()
    return "record", note, {
        "nameSecret": name_secret.hex(), "secret": secret.hex(), "zone": zone, "name": name,
        "type": kind, "shown": shown, "device": device, "modifiedAt": modified_at,
        "chunks": [it.hex() for it in chunks], "vector": vector_text(vector),
        "fields": fields}, expect


def record_cases():
    yield record_case()
    yield record_case("no field", fields="{}")
    yield record_case("a deleted record", fields=None)
    yield record_case("another generation and account", keys=1)
    # Fixed parts, one entry, a name of one byte, a type of one and the 0x80 take 31 bytes.
    for size in 31, 32, 33, 34, 57, 992, 993, 994, 1_057, 1_058, 1_024, 2_017, 2_018:
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
    yield record_case("a version made on those of two other devices", entries=[
        ("0000000000000000", 1), (DEVICE, STAMP + 1), ("ffffffffffffffff", STAMP)])
    yield record_case("a vector of 64 entries", entries=many_entries(64))
    yield record_case("a vector of 64 entries and a floor", entries=many_entries(64, 2 ** 32 + 1),
                      floor=2 ** 32)
    yield record_case("the greatest numbers of a vector", entries=[(DEVICE, NUMBER_MOST)],
                      floor=NUMBER_MOST - 1)
    yield record_case("a deleted record made on another device's version", fields=None, entries=[
        (DEVICE, STAMP), ("8000000000000000", 2)])
    for stamp in 0, 1, -1, 2 ** 32 - 1, 2 ** 32, -2 ** 32, 2 ** 53 - 1, 1 - 2 ** 53:
        yield record_case(f"the stamp {stamp}", modified_at=stamp)
    for device in "0000000000000000", "ffffffffffffffff":
        yield record_case(f"the device {device}", device=device)


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


VECTORS = [
    ("a vector of 64 entries", many_entries(64), 0),
    ("the greatest number of a vector", [(DEVICE, NUMBER_MOST)], 0),
    ("the greatest floor of a vector", [(DEVICE, NUMBER_MOST)], NUMBER_MOST - 1),
    ("the least number of a vector", [(DEVICE, 1)], 0),
    ("devices in the order of unsigned numbers",
     [(DEVICE, 1), ("7fffffffffffffff", 1), ("8000000000000000", 1), ("ffffffffffffffff", 1)], 0),
]


def vector_plaintexts():
    """Plaintexts whose version vector breaks one rule, with notes."""
    def of(entries, floor=0):
        return padded(content("n", "T", vector_of(entries, floor), b"{}"))

    yield "no version", of([])
    yield "65 versions", of(many_entries(65))
    yield "255 versions", of(many_entries(255))
    yield "versions of other devices alone", of([("0000000000000000", 1), ("f" * 16, 1)])
    yield "a floor of -1", of([(DEVICE, STAMP)], -1)
    yield "the least floor", of([(DEVICE, STAMP)], -2 ** 63)
    yield "a floor that is the number of an entry", of([(DEVICE, 7), ("f" * 16, 8)], 7)
    yield "a floor above the number of an entry", of([(DEVICE, 9), ("f" * 16, 7)], 8)
    yield "a floor above 2^53", of([(DEVICE, 2 ** 53 + 2)], 2 ** 53 + 1)
    yield "the number 0", of([(DEVICE, 1), ("f" * 16, 0)])
    yield "the number -1", of([(DEVICE, 1), ("f" * 16, -1)])
    yield "the number 2^53", of([(DEVICE, 2 ** 53)])
    yield "the number 2^53 + 1 of another device", of([(DEVICE, 1), ("f" * 16, 2 ** 53 + 1)])
    yield "the number 2^63 - 1", of([(DEVICE, 2 ** 63 - 1)])
    yield "a device twice", of([(DEVICE, 7), (DEVICE, 7)])
    yield "a device twice, with two numbers", of([(DEVICE, 7), (DEVICE, 8)])
    yield "devices in another order", of([("f" * 16, 8), (DEVICE, 7)])
    yield "devices in the order of signed numbers", of([("8" + "0" * 15, 8), (DEVICE, 7)])
    own = vector_of([(DEVICE, STAMP)])
    yield "a byte alone", padded(b"\1")
    yield "a floor alone", padded(b"\1" + own[:8])
    yield "an entry beyond the end", padded(b"\1" + own[:8] + b"\2" + own[8:] + b"\1n\1T{}")
    yield "an entry cut off", padded(b"\1" + own[:8] + b"\1" + own[8:-1])
    yield "an entry alone", padded(b"\1" + own[:8] + b"\1" + own[8:])


def plaintexts():
    """Plaintexts that are not those of a record named "n", with notes."""
    own = vector_of([(DEVICE, STAMP)])
    head = b"\1" + own[:8] + b"\1" + own[8:]
    right = content("n", "T", own, b"{}")

    def of(*parts):
        """A live record with these bytes behind its vector."""
        return padded(b"".join([head, *parts]))

    yield "no bytes inside of the padding", padded(b"")
    yield "zeros alone", bytes(32)
    yield "not padded", right
    yield "another byte before the zeros", (right + b"\x81").ljust(64, b"\0")
    yield "a byte after the zeros", padded(right)[:-1] + b"\1"
    yield "padded by 32 bytes more", padded(right) + bytes(32)
    yield "padded to 48 bytes", (right + b"\x80").ljust(48, b"\0")
    long = content("n", "T", own, long_text({
        "head": '{"text":"', "unit": "x", "count": 1_200, "tail": '"}'}).encode())
    yield "padded to a multiple of 32 above 1,024", (long + b"\x80").ljust(1_248, b"\0")
    yield "first byte 0", padded(b"\0" + right[1:])
    yield "first byte 3", padded(b"\3" + right[1:])
    yield from vector_plaintexts()
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
    yield "another name", padded(content("m", "T", own, b"{}"))
    yield "the name with a byte order mark", padded(content("\ufeffn", "T", own, b"{}"))
    yield "no fields", padded(content("n", "T", own, b""))
    yield "a deleted record with fields", padded(b"\2" + right[1:])
    for fields in (b"[]", b"null", b"{", b"{} x", b'{"a":}', b'{"a":"\xff"}', b'{"a":NaN}',
                   b'{"a":1,"a":2}', b'{"a":"\\ud800"}', b"\xef\xbb\xbf{}"):
        yield f"fields {fields.decode(errors='replace')!a}", padded(content("n", "T", own, fields))


def fault_cases():
    """Records of the relay that are refused. The first has no fault but is the others' origin."""
    name_secret, secret = secret_number(100), secret_number(0)
    zone = Zone("Todos", name_secret, secret)
    device, stamp, chunks = DEVICE, STAMP, hash_number(0) + hash_number(1)
    inside = '{"done":false,"tags":[],"title":"milk"}'
    own = vector_of([(device, stamp)])
    name, kind, sealed = zone.seal("n", "T", False, device, stamp, chunks, own, inside.encode())
    outer = json.loads(sealed)
    right = {"zone": "Todos", "name": name, "type": kind, "device": device, "modifiedAt": stamp,
             "tag": 1, "chunks": [chunks[:32].hex(), chunks[32:].hex()], "fields": sealed.decode()}

    def case(note, fault, vector=own, **changes):
        expect = {"fault": fault} if fault else {
            "name": "n", "type": "T", "vector": vector_text(vector), "fields": inside}
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
    for note, entries, floor in VECTORS:
        vector = vector_of(entries, floor)
        plaintext = padded(content("n", "T", vector, inside.encode()))
        yield case(note, None, vector, fields=zone.seal_plaintext(plaintext, data).decode())
    for note, plaintext in plaintexts():
        yield case(note, "malformed", fields=zone.seal_plaintext(plaintext, data).decode())
    data = associated_data("Todos", name, "U", device, stamp, chunks)
    fields = zone.seal_plaintext(padded(content("n", "T", own, b"{}")), data).decode()
    yield case("a type at the relay that is not the one inside", "malformed", type="U",
               fields=fields)


def lines():
    """The lines of Seals.jsonl."""
    for cases in (key_cases, phrase_cases, wrap_cases, name_cases, record_cases, chunk_cases,
                  fault_cases):
        for kind, note, case, expect in cases():
            line = {"kind": kind, **({"note": note} if note else {}), "case": case,
                    "expect": expect}
            yield json.dumps(line, ensure_ascii=False, separators=(",", ":"))
