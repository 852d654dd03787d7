"""`lockstep setup`: settings, certificate and first accounts of a relay, asked for at a terminal or
given as options. (Packages and their service: scripts/packages-check.)"""

import fcntl
import grp
import json
import os
import pwd
import re
import shlex
import shutil
import socket
import stat
import subprocess

from story import LOCKSTEP, PATIENCE, Relay, folder, main, new_id, refused, run, wait_until
from terminal_stories import Screen

URL = "https://sync.example.org"
OWNERS = "127.0.0.1:5626"


class Place:
    """A file of settings and a store for a relay, in a folder."""

    def __init__(self, directory):
        self.directory = directory
        self.settings = os.path.join(directory, "etc", "relay.conf")
        self.store = os.path.join(directory, "store")
        self.words = ["setup", "--settings", self.settings, "--store", self.store]

    def run(self, *words, **options):
        return run(*self.words, *words, **options)

    def json(self, *words):
        return json.loads(self.run("--json", *words).stdout)

    def all_lines(self):
        """The settings that are no comments."""
        with open(self.settings) as file:
            lines = file.read().splitlines()
        return dict(line.split(" = ") for line in lines if line and not line.startswith("#"))

    def lines(self):
        """The same, without the address for the owner: another program of this machine may use that
        port."""
        lines = self.all_lines()
        if lines.get("admin-listen") == OWNERS:
            del lines["admin-listen"]
        return lines


class Dialog(Screen):
    """A setup at a terminal of 80 columns."""

    shows_errors = True

    def __init__(self, place):
        super().__init__(None, *place.words, columns=80, rows=60)

    def command(self, home, words):
        return words


def story_a_relay_is_set_up_without_a_question():
    """The settings are those of a relay behind a proxy. Each person gets a link that works once the
    relay runs; whoever has an account gets none, and the file stays as it is."""
    with folder() as directory:
        place = Place(directory)
        told = place.json("--public-url", URL, "--tls", "proxy", "--account", "mum",
                          "--account", "dad")
        assert place.lines() == {
            "public-url": URL, "listen": "127.0.0.1:5625", "trust-proxy": "127.0.0.0/8,::1",
            "store": place.store}, place.lines()
        assert stat.S_IMODE(os.stat(place.settings).st_mode) == 0o644
        assert [each["name"] for each in told["accounts"]] == ["mum", "dad"], told
        assert (told["isRunning"], told["isReached"]) == (False, None), told
        for each in told["accounts"]:
            assert each["link"] == f"{URL}/#code={each['code']}", each
        with open(place.settings) as file:
            before = file.read()
        again = place.json("--account", "mum")
        assert (again["accounts"], again["formerAccounts"]) == ([], ["mum"]), again
        with open(place.settings) as file:
            assert file.read() == before
        checked = run("relay", "--config", place.settings, "--check", "--json")
        assert json.loads(checked.stdout)["faults"] == [], checked
        with Relay("--config", place.settings, "--admin-listen", "127.0.0.1:0", store=place.store,
                   is_open=False) as relay:
            phone = os.path.join(directory, "phone")
            run("agent", "join", "--relay", relay.address, "--code", told["accounts"][0]["code"],
                home=phone)
            offer = json.loads(run("agent", "pair", "--json", home=phone).stdout)
            assert offer["link"].startswith(f"{URL}/#code="), offer


def listens(listener):
    """True once it has the port of the owner's address."""
    try:
        listener.bind(("127.0.0.1", 5626))
        listener.listen()
    except OSError:
        return False
    return True


def story_the_owners_page_has_an_address():
    """Setup turns it on for this machine, and says how to open it; but not on a port that another
    program or the relay itself uses, and an address that was chosen stays."""
    admin = "To manage the relay in a browser:\n  "

    def is_set(directory):
        place = Place(os.path.join(directory, new_id()))
        os.mkdir(place.directory)
        text = place.run("--yes", "--public-url", URL, "--tls", "proxy").stdout
        if "admin-listen" not in place.all_lines():
            assert admin not in text, text
            return False
        # `sudo` is for whoever came by it, and not for root.
        assert text.endswith(f"{admin}lockstep relay admin --store {place.store}\n"), text
        if os.geteuid() == 0:
            text = place.run("--yes", environment={"SUDO_USER": "mum"}).stdout
            assert f"{admin}sudo lockstep relay admin" in text, text
        return place.all_lines()["admin-listen"] == OWNERS

    with folder() as directory, socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Other stories look at the port, too, each for a moment.
        wait_until(lambda: is_set(directory), "an address for the owner")
        wait_until(lambda: listens(other), "a listener")
        assert not is_set(directory)
    with folder() as directory:
        place = Place(directory)
        place.run("--yes", "--public-url", "http://10.1.2.3:5626")
        assert "admin-listen" not in place.all_lines()
        with open(place.settings, "a") as file:
            file.write("admin-listen = 127.0.0.1:9625\n")
        assert admin in place.run("--yes").stdout
        assert place.all_lines()["admin-listen"] == "127.0.0.1:9625"


def story_a_relay_without_encryption_is_warned_of():
    """Without a question and without an address, setup takes http:// in this network, and says what
    that means; not for a relay that only this machine reaches, nor for one with a certificate."""
    with folder() as directory:
        for words, is_warned in [
            (["--public-url", "http://10.1.2.3:5625"], True),
            (["--public-url", "http://127.0.0.1:5625"], False),
            (["--public-url", URL, "--tls", "proxy"], False),
        ]:
            place = Place(os.path.join(directory, new_id()))
            os.mkdir(place.directory)
            told = place.run("--yes", *words).stderr
            assert ("warning: " in told and "not encrypted" in told) == is_warned, (words, told)


def story_what_was_chosen_before_stays():
    """Neither a person who is added later nor another address changes the listener and the proxy of
    the file: the proxy still connects there."""
    with folder() as directory:
        place = Place(directory)
        place.run("--yes", "--public-url", URL, "--tls", "proxy", "--listen", "127.0.0.1:9000")
        with open(place.settings) as file:
            text = file.read().replace("127.0.0.0/8,::1", "172.17.0.0/16")
        with open(place.settings, "w") as file:
            file.write(text)
        place.run("--yes", "--account", "mum")
        lines = place.lines()
        assert (lines["listen"], lines["trust-proxy"]) == ("127.0.0.1:9000", "172.17.0.0/16"), lines
        place.run("--yes", "--public-url", "https://sync.example.net")
        lines = place.lines()
        assert (lines["listen"], lines["trust-proxy"]) == ("127.0.0.1:9000", "172.17.0.0/16"), lines


def story_a_proxy_in_another_container():
    """Its network is trusted, and the relay listens where the proxy can connect; the settings stay
    so."""
    with folder() as directory:
        place = Place(directory)
        place.run(
            "--yes", "--public-url", URL, "--tls", "proxy", "--proxy-network", "172.16.0.0/12")
        for words in ([], ["--account", "mum"]):
            lines = place.lines()
            assert lines["listen"] in ("[::]:5625", "0.0.0.0:5625"), lines
            assert lines["trust-proxy"] == "172.16.0.0/12", lines
            place.run("--yes", *words)
        for network, says in (("caddy", "is not an address or network"), ("none", "no network")):
            refused(*place.words, "--yes", "--tls", "proxy", "--proxy-network", network, code=2,
                    says=says)
        refused(*place.words, "--yes", "--tls", "acme", "--acme-agree", "--proxy-network", "::1",
                code=2, says="needs --tls proxy")
        assert place.lines()["trust-proxy"] == "172.16.0.0/12"


def story_a_link_without_a_running_relay_has_the_address_of_the_settings():
    """`account create` and `pair` take it from the file of the same store; what is given goes
    before it. A file that cannot be used is reported before anything is made."""
    with folder() as directory:
        place = Place(directory)
        place.run("--yes", "--public-url", URL, "--tls", "proxy", "--account", "mum")

        def account(*words, store=place.store):
            told = run("account", *words, "--store", store, "--settings", place.settings, "--json")
            return json.loads(told.stdout)

        for words in (["create", "dad"], ["pair", "mum"]):
            made = account(*words)
            assert made["relay"] == URL and made["link"].startswith(URL + "/#code="), made
        given = account("pair", "mum", "--public-url", "https://other.example")
        assert given["relay"] == "https://other.example", given
        other = account("create", "mum", store=os.path.join(directory, "other"))
        assert "link" not in other, other
        # The usual file of a user.
        home = os.path.join(directory, "home")
        os.makedirs(os.path.join(home, "lockstep"))
        os.rename(place.settings, os.path.join(home, "lockstep", "relay.conf"))
        if os.geteuid() != 0:
            text = run("account", "pair", "mum", "--store", place.store,
                       environment={"XDG_CONFIG_HOME": home}).stdout
            assert URL + "/#code=" in text, text
        os.mkfifo(place.settings)
        for says, prepare in (
                ("no regular file", lambda: None),
                ("cannot be read", lambda: os.remove(place.settings)),
                ("line 1", lambda: open(place.settings, "w").write("nonsense\n"))):
            prepare()
            refused("account", "create", "aunt", "--store", place.store, "--settings",
                    place.settings, says=says)
        listed = run("account", "list", "--store", place.store, "--json").stdout
        assert "aunt" not in listed, listed


def story_a_pipe_in_the_place_of_the_settings_is_refused():
    """It is not waited for."""
    with folder() as directory:
        place = Place(directory)
        os.mkdir(os.path.dirname(place.settings))
        os.mkfifo(place.settings)
        refused(*place.words, "--yes", "--public-url", "http://10.0.0.1", "--tls", "none",
                says="is no regular file")
        assert os.listdir(os.path.dirname(place.settings)) == ["relay.conf"]


def story_a_name_with_a_space_is_quoted_in_the_next_command():
    """What setup prints for a person who has an account already works as it stands."""
    with folder() as directory:
        place = Place(directory)
        words = ["--yes", "--public-url", "http://10.0.0.1", "--tls", "none", "--account"]
        place.run(*words, "Ada's phone", "--account", "Zoë")
        text = place.run(*words, "ADA's phone", "--account", "Zoë").stdout
        commands = re.findall("device: (lockstep .*)", text)
        assert [shlex.split(command)[:4] for command in commands] == [
            ["lockstep", "account", "pair", name] for name in ("ADA's phone", "Zoë")], text
        for command in commands:
            run(*shlex.split(command)[1:])


def story_who_may_not_become_the_service_keeps_its_groups():
    """Setup asks as the relay's user whether it can read the key. Without the right to become that
    user, it continues as it was: the settings do not get that user's group."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        return
    with folder() as directory:
        place = Place(directory)
        user = pwd.getpwnam("nobody")
        os.mkdir(place.store)
        os.chown(place.store, user.pw_uid, user.pw_gid)
        for name in ("cert", "key"):
            open(os.path.join(directory, name), "w").close()
        words = ["--yes", "--public-url", URL, "--tls", "files", "--no-start",
                 "--tls-cert", os.path.join(directory, "cert"),
                 "--tls-key", os.path.join(directory, "key")]
        subprocess.run(
            ["setpriv", "--bounding-set=-setuid", "--inh-caps=-setuid", LOCKSTEP, *place.words,
             *words], capture_output=True, timeout=PATIENCE, check=True)
        assert os.stat(place.settings).st_gid == 0


def story_setup_says_where_its_links_work_and_how_the_relay_is_started():
    """A link to this machine is no link for a phone; a store of another user needs a relay of that
    user."""
    with folder() as directory:
        place = Place(directory)
        text = place.run("--yes", "--public-url", "http://localhost:5625", "--account", "mum").stdout
        assert "mum: open this link in a browser of this machine, within a day:" in text, text
        start = "Start the relay, again if it runs:\n  "
        assert f"{start}lockstep relay --config {place.settings}\n" in text, text
        text = place.run("--yes", "--public-url", "http://10.1.2.3:5625", "--account", "dad").stdout
        assert "dad: open this link on the first phone or computer, within a day:" in text, text
        if os.geteuid() == 0:
            user = pwd.getpwnam("nobody")
            os.chown(place.store, user.pw_uid, user.pw_gid)
            text = place.run("--yes").stdout
            group = grp.getgrgid(user.pw_gid).gr_name
            assert f"{start}setpriv --reuid nobody --regid {group} --init-groups \\\n" in text, text


def story_a_person_answers_at_a_terminal():
    """What cannot be used is explained and asked for again; nothing is written before the last
    answer."""
    with folder() as directory:
        place = Place(directory)
        with Dialog(place) as screen:
            screen.shows(r"Address \[http://[0-9.]+:5625\]: ")
            screen.type("sync.example.org\n")
            screen.shows("is no address of a relay")
            screen.type(URL + "\n")
            screen.shows(r"acme, proxy or files \[acme\]: ")
            screen.type("caddy\n")
            screen.shows("none of acme, proxy, files")
            screen.type("proxy\n")
            screen.shows(r"networks of the proxy \[127.0.0.0/8,::1\]: ")
            screen.type("caddy\n")
            screen.shows("is not an address or network")
            screen.type("\n")
            screen.shows(r"make an account \[no\]: ")
            screen.type("\n")
            assert not os.path.exists(place.settings)
            screen.shows(r"separated by commas \[none\]: ")
            screen.type("mum, dad\n")
            screen.shows("dad: open this link(?s:.*)#code=")
            assert screen.process.wait() == 0
            screen.read()
            lines = [it for it in screen.text.splitlines() if not it.startswith('  "')]
            assert max(map(len, lines)) <= 80, screen.text
        assert place.lines()["public-url"] == URL
        listed = run("account", "list", "--store", place.store, "--json").stdout.splitlines()
        assert sorted(json.loads(line)["label"] for line in listed) == ["dad", "mum"]


def story_a_file_with_comments_keeps_them():
    """The settings take the places of their comments, and those that a person has set stay. What is
    chosen another time is a comment again."""
    with folder() as directory:
        place = Place(directory)
        os.mkdir(os.path.dirname(place.settings))
        example = os.path.join(os.path.dirname(__file__), "../../../docs/relay.conf")
        with open(example) as file:
            text = file.read() + "quota = 5G\n"
        with open(place.settings, "w") as file:
            file.write(text)
        os.chmod(place.settings, 0o640)
        place.run("--yes", "--public-url", URL, "--tls", "acme", "--acme-agree", "--acme-email",
                  "me@example.org")
        lines = place.lines()
        assert lines.pop("listen") in ("[::]:443", "0.0.0.0:443")
        assert lines == {
            "public-url": URL, "acme": "true", "acme-agree": "true", "acme-email": "me@example.org",
            "store": place.store, "quota": "5G"}, lines
        assert stat.S_IMODE(os.stat(place.settings).st_mode) == 0o640
        place.run("--yes", "--public-url", "http://192.168.1.5:5625", "--tls", "none", "--open")
        lines = place.lines()
        assert lines.pop("listen") in ("[::]:5625", "0.0.0.0:5625")
        assert lines == {
            "public-url": "http://192.168.1.5:5625", "open": "true", "store": place.store,
            "quota": "5G"}, lines
        with open(place.settings) as file:
            assert len(file.read().splitlines()) == len(text.splitlines())


def story_what_does_not_fit_together_changes_nothing():
    """An address without a certificate, a certificate without an address, no consent, no terminal,
    a file that is no file of settings."""
    with folder() as directory:
        place = Place(directory)
        for words, says in (
                (["--yes", "--public-url", URL, "--tls", "none"], "needs a certificate"),
                (["--yes", "--public-url", "http://10.0.0.1", "--tls", "proxy"], "begins with http:"),
                (["--yes", "--public-url", URL, "--tls", "acme"], "--acme-agree"),
                (["--yes", "--public-url", URL, "--tls", "files"], "--tls-key FILE"),
                ([], "add --yes"),
                (["--yes", "--public-url", "sync.example.org"], "is no address of a relay")):
            refused(*place.words, *words, code=2, says=[says])
        assert os.listdir(directory) == []
        os.mkdir(os.path.dirname(place.settings))
        with open(place.settings, "w") as file:
            file.write("lisen = 3\n")
        refused(*place.words, "--yes", code=1, says=["line 1", "did you mean listen?"])


def story_a_setup_given_again_keeps_what_a_person_has_set():
    """The address to listen on, the proxies and comments behind values stay; an address that no
    person has chosen follows the new URL. A file of another system keeps its lines."""
    with folder() as directory:
        place = Place(directory)
        os.mkdir(os.path.dirname(place.settings))

        def after(text, *words):
            with open(place.settings, "w", newline="") as file:
                file.write(text)
            place.run("--yes", *words)
            with open(place.settings, newline="") as file:
                text = file.read().replace(f"store = {place.store}", "")
            return text.replace(f"admin-listen = {OWNERS}", "").rstrip()

        own = (f"public-url = {URL}\nlisten = 10.9.0.2:5625  # in the tunnel\n"
               "trust-proxy = 10.9.0.0/16\nopen = true")
        assert after(own + "\n", "--account", "mum") == own
        assert after(own.replace("true", "yes") + "\n") == own
        changed = after(own + "\n", "--public-url", "https://other.example.org")
        assert changed == own.replace(URL, "https://other.example.org"), changed
        lan = "public-url = http://10.0.0.1:5625\nlisten = 127.0.0.1:5625"
        assert after(lan) == lan
        usual = "public-url = http://10.0.0.1:5625\nlisten = 0.0.0.0:5625"
        moved = after(usual, "--public-url", "http://10.0.0.1:7000")
        assert ":7000" in moved.split("listen = ")[1], moved
        crlf = "quota = 5G\r\nlisten = 127.0.0.1:5625\r\n"
        assert after(crlf, "--public-url", URL, "--tls", "proxy").startswith(crlf)
        assert place.lines()["quota"] == "5G"
        mark = "\ufeff# Mine.\nquota = 5G\n"
        assert after(mark).startswith(mark)


def story_settings_that_no_relay_would_take_are_not_written():
    """An authority gives no certificate for an address in the local network. Values that would be
    other settings in the file are refused, and so is a file without a place."""
    with folder() as directory:
        place = Place(directory)
        for words, says in (
                (["--public-url", "https://192.168.1.5", "--tls", "acme", "--acme-agree"],
                 "a host name"),
                (["--public-url", "https://relay.local", "--tls", "acme", "--acme-agree"],
                 "no public authority"),
                (["--public-url", "https://a.example\nopen = true", "--tls", "proxy"],
                 "is no address of a relay"),
                (["--public-url", URL, "--tls", "files", "--tls-cert", "/a\nopen = true",
                  "--tls-key", "/b"], "cannot have this value of tls-cert")):
            refused(*place.words, "--yes", *words, code=2, says=says)
        assert os.listdir(directory) == []
        os.mkdir(os.path.dirname(place.settings))
        with open(place.settings, "w") as file:
            file.write(f"public-url = {URL}\nacme = on\nacme-agree = on\nhttp-listen = [::]:80\n")
        place.run("--yes", "--tls", "proxy")
        assert "http-listen" not in place.lines() and "acme" not in place.lines()
        # Root's own place does not depend on HOME.
        if os.geteuid() != 0:
            refused("setup", "--yes", code=2, says="--settings FILE",
                    environment={"HOME": "", "XDG_CONFIG_HOME": ""})


def story_the_file_is_replaced_with_care():
    """A link stays one, a new file of root can be read by its service, and two setups at a time do
    not mix their lines."""
    with folder() as directory:
        place = Place(directory)
        os.mkdir(os.path.dirname(place.settings))
        real = os.path.join(directory, "real.conf")
        with open(real, "w") as file:
            file.write("quota = 5G\n")
        os.symlink(real, place.settings)
        place.run("--yes", "--public-url", URL, "--tls", "proxy")
        assert os.path.islink(place.settings) and place.lines()["public-url"] == URL
        assert sorted(os.listdir(os.path.dirname(place.settings))) == ["relay.conf"]
        if os.geteuid() == 0:
            place.settings = os.path.join(directory, "fresh", "lockstep", "relay.conf")
            place.words[2] = place.settings
            before = os.umask(0o077)
            try:
                place.run("--yes", "--public-url", URL, "--tls", "proxy")
            finally:
                os.umask(before)
            assert stat.S_IMODE(os.stat(place.settings).st_mode) == 0o644
            assert stat.S_IMODE(os.stat(os.path.dirname(place.settings)).st_mode) == 0o755
        # Another setup that is writing.
        with open(place.settings + ".new", "w") as draft:
            fcntl.flock(draft, fcntl.LOCK_EX)
            refused(*place.words, "--yes", "--public-url", "http://10.0.0.1", "--tls", "none",
                    says="give the command again")
        assert place.lines()["public-url"] == URL
        # The remains of an interruption, and what others have put in their place.
        other = os.path.join(directory, "other")
        for number, remain in enumerate((
                lambda path: os.symlink(other, path), os.mkfifo, lambda path: open(path, "w"),
                lambda path: os.link(real, path))):
            os.remove(place.settings + ".new") if number == 0 else None
            remain(place.settings + ".new")
            url = f"http://10.0.0.{number + 1}:5625"
            place.run("--yes", "--public-url", url, "--tls", "none")
            assert place.lines()["public-url"] == url
            assert os.listdir(os.path.dirname(place.settings)) == ["relay.conf"]
        assert not os.path.exists(other)
        with open(real) as file:
            assert URL in file.read()


if __name__ == "__main__":
    main(globals())
