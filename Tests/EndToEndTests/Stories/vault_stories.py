"""Files that are the same on every device: real agents and a real relay."""

import contextlib
import hashlib
import json
import os
import random
import signal
import stat
import subprocess
import time

from story import LOCKSTEP, PATIENCE, Home, Relay, SmallDisk, folder, main, refused, run, wait_until
from terminal_stories import Screen


class Device:
    """A home, and the folder of its files."""

    def __init__(self, home, files):
        self.home, self.files = home, files
        os.makedirs(files, exist_ok=True)

    def path(self, name="vault.db"):
        return os.path.join(self.files, name)

    def write(self, data, name="vault.db"):
        with open(self.path(name), "wb") as file:
            file.write(data)

    def read(self, name="vault.db"):
        try:
            with open(self.path(name), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def all(self):
        return {name: self.read(name) for name in os.listdir(self.files)}

    def add(self, name="vault.db", *options):
        return self.home.run("vault", "add", self.path(name), *options)

    def status(self):
        # Its exit code is 1 if a file is in error.
        done = subprocess.run(
            [LOCKSTEP, "agent", "vault", "status", "--json", "--home", self.home.path],
            capture_output=True, timeout=PATIENCE)
        assert done.returncode in (0, 1), done
        answer = json.loads(done.stdout)
        return {file["name"]: file for file in answer["files"]}

    def state(self, name="vault.db"):
        return self.status().get(name, {}).get("state")

    def history(self):
        return json.loads(self.home.run("vault", "history", "--json"))


@contextlib.contextmanager
def devices(count=2, *options, joins=()):
    """A relay, and devices of one account with a folder each. `joins`: options of the first join."""
    with folder() as directory, Relay(*options) as relay:
        phone = Home.new(relay, directory, "phone", *joins)
        # The first file creates the vault's key, which pairing codes then transfer.
        first = os.path.join(directory, "first")
        with open(first, "w") as file:
            file.write("first")
        phone.run("vault", "add", first)
        phone.run("vault", "forget", "first")
        os.remove(os.path.join(phone.path, "vault-history.jsonl"))
        homes = [phone] + [phone.pair(relay, directory, f"device{n}") for n in range(1, count)]
        yield relay, *[
            Device(home, os.path.join(directory, f"files{n}")) for n, home in enumerate(homes)]


@contextlib.contextmanager
def running_agents(*devices):
    """`agent run` for each of the homes."""
    with contextlib.ExitStack() as stack:
        for device in devices:
            agent = stack.enter_context(device.home.start_agent())
            stack.callback(lambda agent=agent: agent.process.poll() is None and agent.stop())
        yield


def wait_same(*devices, what):
    """Waits until all devices have these files."""
    wait_until(lambda: all(device.all() == what for device in devices),
               lambda: f"{what.keys()} on {[list(device.all()) for device in devices]}")


def wait_alike(*devices, count):
    wait_until(
        lambda: len(devices[0].all()) == count
        and all(device.all() == devices[0].all() for device in devices),
        lambda: f"{count} files on {[sorted(device.all()) for device in devices]}")
    return devices[0].all()


def random_bytes(count, seed=1):
    return random.Random(seed).randbytes(count)


def size(directory):
    """Size of all files in it; some may disappear meanwhile."""
    bytes = 0
    for root, _, names in os.walk(directory):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                bytes += os.path.getsize(os.path.join(root, name))
    return bytes


def stored_bytes(relay):
    """Number of bytes of chunks at the relay."""
    return size(os.path.join(relay.store, "chunks"))


def story_a_file_is_added_and_arrives():
    """Each command holds the home while it runs; then agents keep both in sync."""
    with devices() as (_, phone, laptop):
        phone.write(b"first")
        assert "vault.db is synced" in phone.add()
        assert "synced" in laptop.add()
        assert laptop.read() == b"first"
        assert stat.S_IMODE(os.stat(laptop.path()).st_mode) == 0o600
        with running_agents(phone, laptop):
            laptop.write(b"second")
            wait_same(phone, laptop, what={"vault.db": b"second"})
            wait_until(lambda: phone.state() == "synced", "the file to be synced")
        assert [event["what"] for event in phone.history()] == ["sent", "received"]
        assert "from device1" in phone.home.run("vault", "history")
        # A change made while no process watched is sent by the next command that syncs.
        phone.write(b"third")

        def is_synced():
            # A command waits two seconds for the files, which may be too short on a busy machine.
            phone.home.run("sync")
            laptop.home.run("sync")
            return laptop.read() == b"third"

        wait_until(is_synced, "the change to be sent by a command")


def story_an_editor_writes_beside_it_and_renames():
    """Like vim, sed -i and most others; also with a backup that is renamed. Permissions are
    kept."""
    with devices() as (_, phone, laptop):
        phone.write(b"one\n")
        phone.add()
        laptop.add()
        os.chmod(laptop.path(), 0o640)
        with running_agents(phone, laptop):
            subprocess.run(["sed", "-i", "s/one/two/", phone.path()], check=True)
            wait_same(phone, laptop, what={"vault.db": b"two\n"})
            os.rename(phone.path(), phone.path("vault.db~"))
            phone.write(b"three\n")
            os.remove(phone.path("vault.db~"))
            wait_same(phone, laptop, what={"vault.db": b"three\n"})
            for number in range(20):
                phone.write(b"%d\n" % number, ".vault.db.swp")
                os.rename(phone.path(".vault.db.swp"), phone.path())
            wait_same(phone, laptop, what={"vault.db": b"19\n"})
        assert stat.S_IMODE(os.stat(laptop.path()).st_mode) == 0o640
        assert not [event for event in laptop.history() if event["what"] != "received"]


def story_a_file_that_is_deleted_and_made_again_was_never_gone():
    """A delete reaches all devices; one that is undone within a moment is not sent."""
    with devices() as (_, phone, laptop):
        phone.write(b"one")
        phone.add()
        laptop.add()
        with running_agents(phone, laptop):
            os.remove(phone.path())
            phone.write(b"two")
            wait_same(phone, laptop, what={"vault.db": b"two"})
            assert "deleted" not in [event["what"] for event in phone.history()]
            os.remove(phone.path())
            wait_same(phone, laptop, what={})
            laptop.write(b"three")
            wait_same(phone, laptop, what={"vault.db": b"three"})


def story_a_byte_at_the_front_of_a_large_file_sends_under_a_megabyte():
    with devices() as (relay, phone, laptop):
        data = random_bytes(50_000_000)
        phone.write(data)
        phone.add()
        before = stored_bytes(relay)
        laptop.add()
        assert laptop.read() == data
        with running_agents(phone, laptop):
            phone.write(b"!" + data)
            wait_until(lambda: laptop.read() == b"!" + data, "the change to arrive")
        sent = stored_bytes(relay) - before
        assert 0 < sent < 1_000_000, sent


def story_both_write_offline_and_both_versions_are_kept():
    """The newer version keeps the name; the other is kept as a copy; both devices have the same
    bytes."""
    with devices() as (relay, phone, laptop):
        phone.write(b"base")
        phone.add()
        laptop.add()
        relay.stop()
        with running_agents(phone, laptop):
            phone.write(b"of the phone")
            wait_until(lambda: len(phone.history()) == 2, "the phone's change to be noticed")
            laptop.write(b"of the laptop")
            wait_until(lambda: len(laptop.history()) == 2, "the laptop's change to be noticed")
            relay.start()
            found = wait_alike(phone, laptop, count=2)
            assert found["vault.db"] == b"of the laptop", found
            [copy] = [name for name in found if "_conflict_" in name]
            assert found[copy] == b"of the phone" and copy.endswith("Z.db"), found
            # A deleted copy is deleted on all devices.
            os.remove(laptop.path(copy))
            wait_same(phone, laptop, what={"vault.db": b"of the laptop"})


def story_copies_that_are_the_same_are_cleaned():
    with devices() as (_, phone, laptop):
        phone.write(b"of the phone")
        phone.add()
        laptop.write(b"of the laptop")
        laptop.add()
        with running_agents(phone, laptop):
            found = wait_alike(phone, laptop, count=2)
            [copy] = [name for name in found if "_conflict_" in name]
            assert copy in phone.home.run("vault", "conflicts")
            phone.home.run("vault", "conflicts", "clean")
            assert len(phone.all()) == 2
            phone.write(found[copy])
            wait_same(phone, laptop, what={"vault.db": found[copy], copy: found[copy]})
            wait_until(lambda: laptop.state() == "synced", "the laptop to be in step")
            laptop.home.run("vault", "conflicts", "clean")
            wait_same(phone, laptop, what={"vault.db": found[copy]})


def story_a_killed_transfer_goes_on_where_it_was():
    """The agent is killed in the middle of an upload and of a download."""
    with devices() as (relay, phone, laptop):
        data = random_bytes(40_000_000)
        phone.write(data)
        with phone.home.start_agent() as agent:
            phone.home.background("vault", "add", phone.path())
            wait_until(lambda: stored_bytes(relay) > 4_000_000, "some of it to go up")
            agent.stop(signal.SIGKILL)
        phone.add()
        assert stored_bytes(relay) < len(data) + 2_000_000, stored_bytes(relay)
        chunks = os.path.join(laptop.home.path, "chunks")

        def fetched():
            return size(chunks)

        with laptop.home.start_agent() as agent:
            laptop.home.run("sync")
            laptop.home.background("vault", "add", laptop.path())
            # On a very slow machine, it may have arrived completely between two checks.
            wait_until(lambda: fetched() > 4_000_000 or laptop.read(),
                       lambda: f"some of it to come down ({fetched()}; {laptop.state()})")
            agent.stop(signal.SIGKILL)
        assert laptop.read() is None or laptop.read() == data
        laptop.add()
        assert laptop.all() == {"vault.db": data}


def story_a_full_disk_loses_nothing():
    """It is reported, no partial file is left, and the transfer continues once there is space."""
    with SmallDisk(3_000) as disk, devices() as (_, phone, laptop):
        if not disk.mounted:
            print("no disk can be mounted here: the story of the full disk is not told")
            return
        data = random_bytes(5_000_000)
        phone.write(b"small")
        phone.add()
        laptop.files = disk.path
        laptop.add()
        with running_agents(phone, laptop):
            phone.write(data)
            wait_until(lambda: laptop.state() == "error", "the disk to be full")
            assert "free disk space" in laptop.status()["vault.db"]["reason"], laptop.status()
            assert laptop.all() == {"vault.db": b"small"}
            disk.grow(20_000)
            wait_same(phone, laptop, what={"vault.db": data})


def story_what_cannot_be_kept_is_refused():
    with devices() as (_, phone, laptop):
        phone.home.refuses("vault", "add", phone.path("none"), says="there is no file")
        phone.home.refuses("vault", "add", phone.files, says="is a folder")
        phone.home.refuses("vault", "add", phone.path("none/none"), says="create it")
        os.mkfifo(phone.path("pipe"))
        phone.home.refuses("vault", "add", phone.path("pipe"), says="not a regular file")
        os.remove(phone.path("pipe"))
        phone.home.refuses("vault", "forget", "none", says="vault status")
        refused("agent", "vault", "conflicts", "dance", home=phone.home.path, says="clean", code=2)
        with open(phone.path("huge"), "wb") as file:
            file.truncate((4 << 30) + 1)
        phone.home.refuses("vault", "add", phone.path("huge"), says="the limit is 4.0 GiB")
        assert "add one" in phone.home.run("vault", "status")
        assert "nothing has happened yet" in phone.home.run("vault", "history")


def story_a_file_that_may_not_be_read_is_told_and_tried_again():
    """As a user other than the superuser, who can read everything."""
    if os.geteuid() == 0 and not os.path.exists("/usr/bin/setpriv"):
        print("no other user can be had here: the story of the unreadable file is not told")
        return
    wrapper = ["/usr/bin/setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    wrapper = wrapper if os.geteuid() == 0 else []
    with devices() as (_, phone, _laptop):
        phone.write(b"secret")
        os.chmod(phone.path(), 0o000)
        if wrapper:
            top = os.path.dirname(phone.home.path)
            for root, folders, names in os.walk(top):
                for name in [root] + [os.path.join(root, each) for each in folders + names]:
                    os.chown(name, 65534, 65534)
        refused("agent", "vault", "add", phone.path(), home=phone.home.path, wrapper=wrapper,
                says="cannot be read: Permission denied")
        os.chmod(phone.path(), 0o600)
        run("agent", "vault", "add", phone.path(), home=phone.home.path, wrapper=wrapper)
        command = [*wrapper, LOCKSTEP, "agent", "run", "--home", phone.home.path]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as kept:
            try:
                os.chmod(phone.path(), 0o000)
                os.utime(phone.path())

                def reason():
                    words = ["agent", "vault", "status", "--home", phone.home.path]
                    return subprocess.run(
                        [*wrapper, LOCKSTEP, *words], capture_output=True, text=True,
                        timeout=PATIENCE).stdout

                wait_until(lambda: "Permission denied" in reason(), "the file to be unreadable")
                os.chmod(phone.path(), 0o600)
                wait_until(lambda: "synced" in reason(), "the file to be readable again")
            finally:
                kept.terminate()


def story_a_forgotten_file_stays():
    with devices() as (_, phone, laptop):
        phone.write(b"one")
        phone.add()
        laptop.add()
        assert "no longer synced" in laptop.home.run("vault", "forget", "vault.db")
        with running_agents(phone, laptop):
            phone.write(b"two")
            wait_until(lambda: len(phone.history()) == 2, "the change to be sent")
            phone.home.run("sync")
            laptop.home.run("sync")
            assert laptop.read() == b"one" and laptop.status() == {}
        # Added again after it changed on one side only, which is not known: both versions are kept.
        laptop.add()
        assert b"two" in laptop.all().values() and b"one" in laptop.all().values()


def story_a_vault_is_written_out_as_the_files_that_it_is():
    """By a device that has the key; one without the key writes its chunks."""
    with devices(joins=["--plain"]) as (_, phone, laptop):
        phone.write(random_bytes(700_000))
        phone.add()
        laptop.add()
        folder_ = phone.path("out")
        told = json.loads(phone.home.run("export", folder_, "--json"))
        # The first file of the account is one of them.
        assert (told["files"], told["chunks"]) == (2, 0), told
        with open(os.path.join(folder_, "vault", "vault.db"), "rb") as file:
            assert file.read() == random_bytes(700_000)
        [record] = [each for each in json.load(open(os.path.join(folder_, "vault.json")))
                    if each.get("file") == "vault.db"]
        assert "sealed" in record["fields"], record
        os.remove(os.path.join(laptop.home.path, "vault.key"))
        told = json.loads(laptop.home.run("export", laptop.path("out"), "--json"))
        assert told["files"] == 0 and told["chunks"] > 2, told
        assert os.listdir(laptop.path("out/vault")) == []


def story_three_devices_come_to_the_same():
    """Files are written on all of them, also while one cannot reach the others."""
    with devices(3) as (_, *all):
        choice = random.Random(7)
        for number, device in enumerate(all):
            device.write(b"%d" % number, f"{number}.txt")
            device.add(f"{number}.txt")
        for device in all:
            for number in range(3):
                device.add(f"{number}.txt")
        with running_agents(*all):
            for step in range(30):
                device = choice.choice(all)
                name = f"{choice.randrange(3)}.txt"
                device.write(random_bytes(choice.randrange(1, 300_000), step), name)
            wait_until(
                lambda: len({json.dumps({name: hashlib.sha256(data).hexdigest()
                                         for name, data in sorted(device.all().items())
                                         if not name.startswith(".")})
                             for device in all}) == 1
                and all_synced(all), "all to be the same", 60)


def story_agents_that_are_killed_lose_nothing():
    """Both devices write, and both agents are killed at random moments, repeatedly: the last
    version of each device exists in the end, on both."""
    with devices() as (_, phone, laptop):
        choice = random.Random(11)
        phone.write(random_bytes(400_000))
        phone.add()
        laptop.add()
        written = {}
        for turn in range(10):
            with phone.home.start_agent() as one, laptop.home.start_agent() as other:
                for device in choice.choice([[phone], [laptop], [phone, laptop]]):
                    written[device] = random_bytes(choice.randrange(1, 800_000), 100 + turn)
                    written[device] += device.home.path.encode()
                    device.write(written[device], ".writing")
                    os.rename(device.path(".writing"), device.path())
                deadline = time.monotonic() + choice.random()
                wait_until(lambda: time.monotonic() > deadline, "the moment to come")
                one.stop(signal.SIGKILL)
                other.stop(signal.SIGKILL)
            # A version that is no longer the newest may have been replaced by the other device's.
            newest = {device: device.read() for device in (phone, laptop)}
        with running_agents(phone, laptop):
            wait_until(lambda: phone.all() == laptop.all() and all_synced([phone, laptop]),
                       lambda: f"{sorted(phone.all())} and {sorted(laptop.all())} to be alike")
            found = list(phone.all().values())
            for data in newest.values():
                assert data in found, sorted(phone.all())
            assert not [name for name in phone.all() if "lockstep" in name], sorted(phone.all())


def story_a_chunk_that_the_relays_disk_lost_is_uploaded_again():
    """The chunk's file is gone, or truncated: the device that needs it reports that it waits, and
    the device that has it uploads it when it next asks for missing chunks."""
    for size in [None, 1_000]:
        with devices() as (relay, phone, laptop):
            phone.write(random_bytes(60_000))
            phone.add()
            # Chunk boundaries depend on the account's key: the file has one chunk, or a few.
            root = os.path.join(relay.store, "chunks")
            spoilt = [os.path.join(folder_, name) for folder_, _, names in os.walk(root)
                      for name in names if os.path.getsize(os.path.join(folder_, name)) > 1_000]
            assert spoilt
            for place in spoilt:
                os.remove(place) if size is None else os.truncate(place, size)
            with running_agents(phone, laptop):
                laptop.add()
                wait_until(lambda: "not at the relay" in (
                    laptop.status().get("vault.db", {}).get("reason") or ""),
                    lambda: f"the chunk to be missed: {laptop.status()}")
                phone.home.run("sync")
                wait_until(lambda: laptop.read() == random_bytes(60_000), "the file to come")
                wait_until(lambda: laptop.state() == "synced", "the file to be in step")


def story_what_is_on_its_way_is_seen():
    """On the screen one row for each file, elsewhere one JSON line for each change."""
    with devices() as (_, phone, laptop):
        phone.write(random_bytes(3_000_000))
        with running_agents(phone), laptop.home.background("vault", "watch") as lines, \
                Screen(phone.home, "vault", "watch", columns=80) as screen:
            screen.shows("no file is synced")
            phone.add()
            screen.shows(r"vault\.db +synced +2\.8 MiB")
            laptop.add()
            states = []
            while "synced" not in states:
                for file in json.loads(lines.line())["files"]:
                    states.append(file["state"])
            assert states[0] == "unknown" and "downloading" in states, states
            screen.type("q")
            screen.process.wait(timeout=PATIENCE)


def story_each_person_of_a_home_reads_the_states_in_their_language():
    """The process that holds the home has English; one person reads Japanese, another Chinese."""
    with folder() as directory, Relay() as relay:
        device = Device(Home.new(relay, directory), os.path.join(directory, "files"))
        home = device.home.path
        device.write(b"the plan", "plan.txt")

        def told(language, *words, code=0):
            done = run("agent", *words, home=home, expect_code=code,
                       environment={"LOCKSTEP_LANG": language})
            return done.stdout + done.stderr

        with device.home.start_agent("--lang", "en"):
            assert told("ja", "memo", "add", "Milk").startswith("追加しました：Milk\n")
            assert told("zh-Hans", "clipboard", "list").startswith("还没有拷贝的内容\n")
            assert "「plan.txt」は同期済みです（8 B）" in told("ja", "vault", "add", device.path("plan.txt"))
            os.rename(device.files, device.files + ".moved")
            wait_until(lambda: device.state("plan.txt") == "error", "the folder to be missed")
            for language, says in [
                    ("en", f"the folder {device.files} is not there; restore it"),
                    ("ja", f"フォルダ {device.files} がありません。"),
                    ("zh-Hans", f"文件夹 {device.files} 不存在；")]:
                table = told(language, "vault", "status", code=1)
                assert f"plan.txt: {says}" in table, table
                answer = json.loads(told(language, "vault", "status", "--json", code=1))
                assert answer["files"] == [device.status()["plan.txt"]], answer
                assert " is not there; restore it" in answer["files"][0]["reason"], answer
            none = told("ja", "vault", "add", os.path.join(directory, "none"), code=1)
            assert "アカウントにも「none」という名前のファイルはありません" in none, none
            assert "failed: the folder " in told("en", "vault", "history")


def all_synced(devices):
    return all(file["state"] == "synced"
               for device in devices for file in device.status().values())


if __name__ == "__main__":
    main(globals(), at_once=2)
