"""The terminal in the language of the person who uses it."""

import json
import os

from story import Home, Relay, folder, main, refused, run, wait_until

# A person whose system is in Japanese; nothing is chosen for this program.
JAPANESE = {"LOCKSTEP_LANG": "", "LC_ALL": "ja_JP.UTF-8", "XDG_CONFIG_HOME": "/nonexistent"}
CHINESE = {"LOCKSTEP_LANG": "zh-Hans"}


def story_a_device_speaks_the_language_of_the_system_and_programs_read_the_same():
    """A person with a Japanese system joins, looks at the status and the devices: all is Japanese,
    and the JSON that a script reads is the same as in English."""
    with folder() as directory, Relay() as relay:
        home = os.path.join(directory, "phone")
        joined = run("agent", "join", "--relay", relay.address, "--new", "--name", "phone",
                     home=home, environment=JAPANESE).stdout
        assert "デバイスになりました" in joined and "データフォルダ" in joined, joined
        status = run("agent", "status", home=home, environment=JAPANESE).stdout
        lines = status.splitlines()
        assert lines[0].startswith("デバイス    phone (") and lines[1].startswith("アカウント "), status
        assert any(line.startswith("同期        同期済み") for line in lines), status
        assert any(line.startswith("鍵 ") for line in lines), status
        devices = run("agent", "devices", home=home, environment=JAPANESE).stdout
        assert devices.startswith("デバイス ") and "（このデバイス）" in devices, devices
        # A device has one name in all languages, and a script the same members and values.
        for words in (["status"], ["devices"]):
            english = json.loads(run("agent", *words, "--json", home=home).stdout)
            japanese = json.loads(
                run("agent", *words, "--json", home=home, environment=JAPANESE).stdout)
            changing = ("lastSync", "clockOffset", "transport")
            for each in (english, japanese):
                for name in changing:
                    each.pop(name, None)
            assert _shape(english) == _shape(japanese), (english, japanese)


def _shape(value):
    """A value without its numbers, which differ from call to call."""
    if isinstance(value, dict):
        return {name: _shape(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_shape(each) for each in value]
    return 0 if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def story_faults_are_told_in_the_persons_language():
    """What went wrong, and the next step, are in the language that is chosen; the exit codes stay."""
    with folder() as directory, Relay() as relay:
        home = Home.new(relay, directory)
        other = os.path.join(directory, "other")
        refused("agent", "status", home=other, environment=CHINESE, says="没有数据目录")
        refused("agent", "staus", environment=CHINESE, code=2, says=["没有命令“staus”", "status"])
        refused("agent", "status", "--lang", "tlh", home=home.path, code=2, says="is none of")
        refused("agent", "join", "--relay", relay.address, "--code", "BBBB-BBBB-BBBB", home=other,
                environment=CHINESE, says="此配对码有误、已使用或已过期")
        # An option comes before the environment.
        told = refused("agent", "revoke", "tv", "--lang", "ja", home=home.path, environment=CHINESE,
                       says="デバイスはありません")
        assert told.startswith("lockstep agent revoke: "), told
        # The relay's commands are English.
        refused("relay", "check", "--store", other, environment=CHINESE, says=other)
        told = run("relay", "check", "--store", other, environment=CHINESE, expect_code=1).stderr
        assert told.isascii(), told


def story_each_person_gets_their_language_from_one_process():
    """An English process holds the home and has lost its relay; who asks in Japanese or Chinese
    reads why, and English is as before."""
    with folder() as directory:
        with Relay() as relay:
            home = Home.new(relay, directory)
            agent = home.start_agent()
        with agent:
            wait_until(lambda: home.status()["state"] == "offline", "the device to be offline")
            wait_until(lambda: "refused" in home.status()["reason"], "the connection to be refused")
            assert "offline" in home.run("status")

            def sync_line(language):
                text = run("agent", "status", "--lang", language, home=home.path).stdout
                return text.splitlines()[3]

            assert sync_line("en").startswith("sync      offline"), sync_line("en")
            assert "Connection refused" in sync_line("en"), sync_line("en")
            assert "オフライン" in sync_line("ja"), sync_line("ja")
            assert "接続が拒否されました" in sync_line("ja"), sync_line("ja")
            assert "离线" in sync_line("zh-Hans") and "连接被拒绝" in sync_line("zh-Hans")
            assert agent.stop() == 0


def story_a_person_chooses_the_language_once():
    """`agent language` keeps a choice for the commands that follow, which each command and session
    may override, until it is given back to the system."""
    with folder() as directory, Relay() as relay:
        home = Home.new(relay, directory)
        own = {**JAPANESE, "XDG_CONFIG_HOME": os.path.join(directory, "settings")}

        def said(*words, **variables):
            return run("agent", *words, environment={**own, **variables}).stdout

        assert said("language") == "ja (日本語)\n"
        assert said("language", "zh-Hans") == "语言现在是简体中文。\n"
        assert said("language") == "zh-Hans (简体中文)\n"
        assert "设备" in said("status", "--home", home.path)
        assert said("status", "--home", home.path, "--lang", "en").startswith("device ")
        assert said("status", "--home", home.path, LOCKSTEP_LANG="ja").startswith("デバイス")
        said("language", "system")
        assert said("language") == "ja (日本語)\n"
        assert said("language", LC_ALL="de_AT.UTF-8") == "en (English)\n"


if __name__ == "__main__":
    main(dict(globals()))
