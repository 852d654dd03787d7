"""Transfer of the vault's key to a person's devices, and never to the relay."""

import base64
import concurrent.futures
import contextlib
import hashlib
import json
import os
import pty
import socket
import stat
import subprocess

from proxy import Proxy
from story import LOCKSTEP, PATIENCE, Home, Relay, folder, main, refused, run

KEY = hashlib.sha256(b"the key of a vault").digest()[:16]
OTHER = hashlib.sha256(b"another key").digest()[:16]


def phrase(key):
    """The key as proquints, as in the proquint paper, with a check word."""
    def word(number):
        consonants, vowels = "bdfghjklmnprstvz", "aiou"
        return (consonants[number >> 12] + vowels[number >> 10 & 3] + consonants[number >> 6 & 15]
                + vowels[number >> 4 & 3] + consonants[number & 15])
    check = hashlib.sha256(b"lockstep vault phrase" + key).digest()[:2]
    whole = key + check
    return " ".join(word(whole[at] << 8 | whole[at + 1]) for at in range(0, len(whole), 2))


@contextlib.contextmanager
def phone_with_key():
    """A relay, and a device that has the vault's key."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory, "phone", "--plain")
        restore(phone)
        yield relay, directory, phone


def restore(home, key=KEY):
    return run("agent", "vault", "restore", home=home.path, input=phrase(key) + "\n").stdout


def key_of(home):
    """The key's bytes in a home; None if it has none."""
    path = os.path.join(home.path, "vault.key")
    if not os.path.exists(path):
        return None
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    with open(path) as file:
        return bytes.fromhex(file.read())


def join(relay, directory, name, code, expect_code=0, words=()):
    home = Home(os.path.join(directory, name))
    done = run("agent", "join", *words, "--code", "-", "--name", name, home=home.path,
               input=code + "\n", expect_code=expect_code)
    return home, done


def offer(home, *words):
    return json.loads(home.run("pair", *words, "--json"))


def vault(person):
    """The live records of the vault by name."""
    changes = person.call("GET", "/v1/changes?zone=Vault").json["changes"]
    return {each["name"]: each["fields"] for each in changes if not each["deleted"]}


def story_a_code_of_two_halves_brings_the_key_along():
    """By the code and by the link; afterwards the wrapped key is removed from the relay."""
    with phone_with_key() as (relay, directory, phone):
        told = offer(phone)
        assert len(told["code"]) == 29 and told["opensVault"], told
        laptop, done = join(relay, directory, "laptop", told["code"].lower().replace("-", " "),
                            words=["--relay", relay.address])
        assert key_of(laptop) == KEY and "has the key of its vault" in done.stdout, done
        told = offer(phone)
        # The browser link loads the relay's page, so it contains nothing of the code's second half.
        assert told["link"] == f"{relay.address}/#code={told['code'][:14]}", told
        assert told["deviceLink"] == f"lockstep+{relay.address}/#code={told['code']}", told
        tablet, _ = join(relay, directory, "tablet", told["deviceLink"])
        assert key_of(tablet) == KEY
        assert [*vault(phone.person(relay))] == ["key"]
        text = phone.run("pair")
        assert "/#code=" in text and "--code -" in text, text
        code = text.splitlines()[0]
        pages = [line for line in text.splitlines() if line.strip().startswith("http")]
        assert pages == [f"  {relay.address}/#code={code[:14]}"], text
        told = offer(phone, "--no-vault")
        assert len(told["code"]) == 14 and not told["opensVault"], told
        shelf, _ = join(relay, directory, "shelf", told["link"])
        assert key_of(shelf) is None


def story_a_device_that_joined_before_gets_the_key_by_unlock():
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory, "phone", "--plain")
        laptop = phone.pair(relay, directory)
        assert len(phone.code()) == 14
        laptop.refuses("vault", "phrase", "--show", says=["does not have", "vault unlock"])
        restore(phone)
        code = phone.code()
        refused("agent", "vault", "unlock", home=laptop.path, input=code[:14] + "\n",
                says="relay's half alone")
        assert "opens the vault" in run(
            "agent", "vault", "unlock", "--code", "-", home=laptop.path, input=code + "\n").stdout
        assert key_of(laptop) == KEY
        # A code works for one device only.
        refused("agent", "vault", "unlock", home=laptop.path, input=code, says="agent pair")


def story_a_process_that_runs_uses_the_key_when_it_comes():
    """It first reports the missing key for a sealed file; with the key it opens what it can."""
    with phone_with_key() as (relay, directory, phone):
        laptop, _ = join(relay, directory, "laptop", offer(phone, "--no-vault")["link"])
        person = laptop.person(relay)
        fields = {"sealed": "AAAA", "key": vault(person)["key"]["key"], "chunks": []}
        person.save({"name": "forged", "type": "VaultFile", "fields": fields, "modifiedAt": 1},
                    zone="Vault")
        with laptop.start_agent():
            laptop.run("sync")
            told = vault_answer(laptop, {"show": "files"})
            assert told["view"]["others"][0]["trouble"] == "noKey", told
            assert "vault unlock" in told["lines"][0], told
            run("agent", "vault", "unlock", home=laptop.path, input=phone.code())
            told = vault_answer(laptop, {"show": "files"})
            assert told["view"]["others"][0]["trouble"] == "unreadable", told


def vault_answer(home, question):
    """Answer about the vault from the process that holds the home."""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(PATIENCE)
        asking.connect(os.path.join(home.path, "agent.sock"))
        request = {"verb": "show", "app": "vault", "question": question}
        asking.sendall(json.dumps(request).encode() + b"\n")
        return json.loads(asking.makefile().readline())["answer"]


def story_a_wrong_secret_is_refused_and_nothing_is_lost():
    """The device has not joined: a relay could keep back what the second half opens. The key still
    waits for the correct one."""
    with phone_with_key() as (relay, directory, phone):
        code = phone.code()
        last = "0" if code[-1] != "0" else "1"
        laptop, done = join(relay, directory, "laptop", code[:-1] + last, expect_code=1,
                            words=["--relay", relay.address])
        assert "second half" in done.stderr and "has not joined" in done.stderr, done
        assert key_of(laptop) is None and len(phone.json("devices")["devices"]) == 1
        laptop = phone.pair(relay, directory)
        run("agent", "vault", "unlock", home=laptop.path, input=code + "\n")
        assert key_of(laptop) == KEY
        # A code that is too long for a relay's code, but not a complete one, is not sent at all.
        for typed in [code[:-1], code + "X", code[:15] + "U" + code[16:]]:
            tablet = Home(os.path.join(directory, "tablet"))
            refused("agent", "join", "--relay", relay.address, "--code", "-", home=tablet.path,
                    input=typed, says=["mistyped", "nothing was sent"])
        refused("agent", "join", "--code", "-", home=tablet.path, input="AAAA-BBBB-CCCC", code=2,
                says="--relay")
        refused("agent", "join", "--relay", "http://127.0.0.1:1", "--code", "-", home=tablet.path,
                input=offer(phone)["link"], code=2, says="give one of them")


def story_a_phrase_brings_the_key_back_when_all_devices_are_gone():
    """Shown on a terminal, or with --show; a typing error is named."""
    with phone_with_key() as (relay, directory, phone):
        phone.refuses("vault", "phrase", says=["secret", "--show"])
        main_end, terminal = pty.openpty()
        try:
            subprocess.run([LOCKSTEP, "agent", "vault", "phrase", "--home", phone.path],
                           stdin=subprocess.DEVNULL, stdout=terminal, check=True, timeout=PATIENCE)
            seen = os.read(main_end, 4096).decode()
        finally:
            os.close(main_end)
            os.close(terminal)
        assert seen.startswith(phrase(KEY)) and "Write these 9 words down" in seen, seen
        written = json.loads(phone.run("vault", "phrase", "--show", "--json"))["phrase"]
        assert written == phrase(KEY)
        # The last device with the key does not delete it without --force.
        phone.refuses("leave", says=["last device", "vault phrase", "--force"])
        assert key_of(phone) == KEY
        # All devices are lost except one that never had the key.
        tablet, _ = join(relay, directory, "tablet", offer(phone, "--no-vault")["link"])
        phone.run("leave")
        assert not [name for name in os.listdir(phone.path) if name.startswith("vault")]
        words = written.split()
        for text, says in [("", "has 0"), (" ".join(words[1:]), "has 40"),
                           (" ".join(words[:2] + ["bocan"] + words[3:]), "word 3"),
                           (" ".join(words[:1:-1] + words[:2]), "checksum"),
                           (phrase(OTHER), "another vault")]:
            refused("agent", "vault", "restore", home=tablet.path, input=text, says=says)
        assert key_of(tablet) is None
        refused("agent", "vault", "restore", "--phrase", written, home=tablet.path, code=2,
                says="standard input")
        answer = run("agent", "vault", "restore", "--phrase", "-", "--json", home=tablet.path,
                     input="\n".join(words).upper()).stdout
        assert key_of(tablet) == KEY and json.loads(answer)["key"] == vault(
            tablet.person(relay))["key"]["key"]


def story_a_file_is_read_again_from_nothing_but_the_phrase():
    """The key is created with the first file, whose name and bytes never appear at the relay; after
    the device is lost, a new one recovers both."""
    with folder() as directory, Relay("--log-level", "trace") as relay:
        phone = Home.new(relay, directory, "phone", "--plain")
        tablet = phone.pair(relay, directory, "tablet")
        path = os.path.join(directory, "secret-diary.txt")
        text = "".join(f"line {number} of what nobody else shall read\n" for number in range(9999))
        with open(path, "w") as file:
            file.write(text)
        assert "synced" in phone.run("vault", "add", path)
        refused("agent", "vault", "add", path, home=tablet.path, says="has a key already")
        written = json.loads(phone.run("vault", "phrase", "--show", "--json"))["phrase"]
        seen = stored(relay) + relay.text().encode()
        secrets = ["secret-diary", "what nobody else shall", hashlib.sha256(text.encode()).hexdigest()]
        assert not [each for each in secrets if each.encode() in seen]
        [name] = [each for each in vault(phone.person(relay)) if each != "key"]
        assert name.encode() in seen
        phone.run("leave")
        assert "sealed" in tablet.run("vault", "list")
        run("agent", "vault", "restore", home=tablet.path, input=written)
        assert "secret-diary.txt" in tablet.run("vault", "list")
        back = os.path.join(directory, "back")
        os.mkdir(back)
        tablet.run("vault", "add", os.path.join(back, "secret-diary.txt"))
        with open(os.path.join(back, "secret-diary.txt")) as file:
            assert file.read() == text


def story_a_planted_record_does_not_open_a_file():
    """Anyone who can write to the account, such as the relay, saves an unencrypted record under the
    name of a future file: no part of the file is sent unencrypted because of it."""
    with phone_with_key() as (relay, directory, phone):
        planted = {"file": "vault.db", "size": 0, "sha256": hashlib.sha256(b"").hexdigest(),
                   "chunks": []}
        phone.person(relay).save(
            {"name": "vault.db", "type": "VaultFile", "fields": planted, "modifiedAt": 1},
            zone="Vault")
        path = os.path.join(directory, "vault.db")
        with open(path, "w") as file:
            file.write("what shall be sealed")
        phone.refuses("vault", "add", path, says=["not sealed", "--plain"])
        assert b"what shall be sealed" not in stored(relay)
        phone.run("vault", "add", path, "--name", "mine.db")
        assert b"what shall be sealed" not in stored(relay)
        assert "[not sealed]" in phone.run("vault", "list")


def story_a_key_that_nobody_has_is_replaced_by_who_says_so():
    """Anyone who can write to the account claims first that its vault has a key. The person is
    informed, confirms that no device has it, and continues."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory, "phone", "--plain")
        stranger = phone.pair(relay, directory, "stranger").person(relay)
        for fields, id in [({"key": "0123456789abcdef"}, "0123456789abcdef"), ({}, "unreadable")]:
            standing = [each for each in stranger.call("GET", "/v1/changes?zone=Vault").json["changes"]
                        if each["name"] == "key"]
            stranger.save({"name": "key", "type": "VaultKey", "fields": fields, "modifiedAt": 1,
                           "baseTag": standing[0]["tag"] if standing else 0}, zone="Vault")
            path = os.path.join(directory, f"{id}.txt")
            with open(path, "w") as file:
                file.write("what is sealed")
            if not key_of(phone):
                phone.refuses("vault", "add", path, says=[f"new-key --instead-of {id}"])
            phone.refuses("vault", "new-key", "--instead-of", "ffffffffffffffff", says=[id])
            phone.run("vault", "new-key", "--instead-of", id)
            assert "synced" in phone.run("vault", "add", path)
            laptop, _ = join(relay, directory, f"laptop-{id}", phone.code(),
                             words=["--relay", relay.address])
            assert key_of(laptop) == key_of(phone) is not None
            assert f"{id}.txt" in laptop.run("vault", "list")
        # A device that lacks a key with which files are sealed does not replace it without --force.
        tablet, _ = join(relay, directory, "tablet", offer(phone, "--no-vault")["link"])
        id = vault(phone.person(relay))["key"]["key"]
        tablet.refuses("vault", "new-key", "--instead-of", id, says=["2 files are sealed", "--force"])
        assert key_of(tablet) is None


def story_two_first_devices_at_once_make_one_key():
    """Both at the same moment; the later one learns how to get the other's key."""
    for _ in range(5):
        with folder() as directory, Relay() as relay:
            phone = Home.new(relay, directory, "phone", "--plain")
            homes = [phone, phone.pair(relay, directory)]

            def make(home, key):
                return subprocess.run(
                    [LOCKSTEP, "agent", "vault", "restore", "--home", home.path],
                    input=phrase(key), text=True, capture_output=True, timeout=PATIENCE)

            with concurrent.futures.ThreadPoolExecutor() as both:
                ends = list(both.map(make, homes, [KEY, OTHER]))
            assert sorted(each.returncode for each in ends) == [0, 1], ends
            winner = 0 if ends[0].returncode == 0 else 1
            assert "another vault" in ends[1 - winner].stderr, ends
            assert key_of(homes[winner]) == [KEY, OTHER][winner]
            assert key_of(homes[1 - winner]) is None
            run("agent", "vault", "unlock", home=homes[1 - winner].path,
                input=homes[winner].code())
            assert key_of(homes[0]) == key_of(homes[1])


def story_the_secret_is_nowhere_at_the_relay():
    """Not on the wire, not in its store, not in its log: neither the code's second half, nor the
    key, nor the phrase. The first half is there, which proves that the search works."""
    with folder() as directory, Relay("--log-level", "trace") as relay, Proxy(relay) as proxy:
        phone = Home(os.path.join(directory, "phone"))
        run("agent", "join", "--relay", proxy.address, "--new", "--plain", home=phone.path)
        restore(phone)
        codes = [phone.code()]
        laptop, _ = join(relay, directory, "laptop", codes[0], words=["--relay", proxy.address])
        tablet, _ = join(relay, directory, "tablet", offer(laptop, "--no-vault")["link"])
        codes.append(laptop.code())
        # Also while it waits there.
        seen = [stored(relay)]
        run("agent", "vault", "unlock", home=tablet.path, input=codes[1])
        assert [key_of(each) for each in (phone, laptop, tablet)] == [KEY] * 3
        seen += [stored(relay), relay.text().encode(), wire(proxy)]
        for code in codes:
            secret = code[15:]
            for text in [secret, secret.replace("-", ""), secret.lower(),
                         secret.lower().replace("-", "")]:
                assert not any(text.encode() in each for each in seen), text
        secrets = [KEY, KEY.hex().encode(), base64.b64encode(KEY).rstrip(b"="),
                   *[word.encode() for word in phrase(KEY).split()[:8]]]
        for secret in secrets:
            assert not any(secret in each for each in seen), secret
        assert codes[0][:14].encode() in seen[-1]
        assert b"wrapped" in seen[-1] and b"wrapped" in seen[0]


def story_what_the_relay_says_of_keys_is_not_believed():
    """The relay returns arbitrary data: none of it becomes a key, or makes the device unusable."""
    with folder() as directory, Relay() as relay, Proxy(relay) as proxy:
        phone = Home(os.path.join(directory, "phone"))
        run("agent", "join", "--relay", proxy.address, "--new", "--plain", home=phone.path)
        laptop, _ = join(relay, directory, "laptop", phone.code(),
                         words=["--relay", proxy.address])
        restore(phone)
        code = phone.code()
        changes = {"n": 1 << 40, "p": 1 << 30, "wrapped": "AAAA"}

        for name, value in changes.items():
            def lie(request):
                if request.method != "GET" or "/records/code" not in request.path:
                    return None
                status, fields, body = proxy.forward("GET", request.path, b"", request.headers)
                body["fields"][name] = value
                return status, fields, body

            proxy.on_request = lie
            refused("agent", "vault", "unlock", home=laptop.path, input=code,
                    says="no vault's key")

        def lie_about_the_key(request):
            if not request.path.endswith("/records/key"):
                return None
            status, fields, body = proxy.forward("GET", request.path, b"", request.headers)
            body["fields"]["key"] = "0011223344556677"
            return status, fields, body

        proxy.on_request = lie_about_the_key
        refused("agent", "vault", "unlock", home=laptop.path, input=code, says="another vault")
        assert key_of(laptop) is None
        proxy.on_request = None
        run("agent", "vault", "unlock", home=laptop.path, input=code)
        assert key_of(laptop) == KEY


def stored(relay):
    """All bytes of the relay's store."""
    found = []
    for directory, _, names in os.walk(relay.store):
        for name in names:
            path = os.path.join(directory, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    found.append(file.read())
    return b"\n".join(found)


def wire(proxy):
    """Everything that was sent."""
    return "\n".join(
        f"{each.method} {each.path} {each.headers} {json.dumps(each.message)}"
        for each in list(proxy.events)).encode()


if __name__ == "__main__":
    main(globals(), at_once=4)
