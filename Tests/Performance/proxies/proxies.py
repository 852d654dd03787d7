"""Proxies in front of relays, with the exact configuration of docs/relay/proxies.md."""

import os
import re

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
# Address of the relay in that configuration.
RELAY = "127.0.0.1:5625"


def snippet(language, port):
    """Configuration of a proxy that listens on this loopback port and forwards to `RELAY`."""
    with open(os.path.join(ROOT, "docs", "relay", "proxies.md")) as file:
        blocks = re.findall(rf"^```{language}\n(.*?)^```$", file.read(), re.M | re.S)
    assert len(blocks) == 1, f"docs/relay/proxies.md has {len(blocks)} blocks of {language}"
    front, here = {"nginx": ("listen 80;", f"listen 127.0.0.1:{port};"),
                   "haproxy": ("bind :80", f"bind 127.0.0.1:{port}"),
                   "caddy": ("sync.example {", f"http://127.0.0.1:{port} {{")}[language]
    text, = blocks
    assert text.count(front) == 1, text
    return text.replace(front, here)


def command(name, program, folder, text):
    """Writes the configuration, and returns the command that runs the proxy with it."""
    path = os.path.join(folder, f"{name}.conf")
    if name == "nginx":
        temporary = "".join(
            f"{kind}_temp_path {folder}/{kind};\n"
            for kind in ["client_body", "proxy", "fastcgi", "scgi", "uwsgi"])
        # Without this, nginx's workers run as nobody, who cannot open the folder.
        user = "user root;\n" if os.getuid() == 0 else ""
        text = (f"{user}daemon off;\npid {folder}/nginx.pid;\nerror_log stderr;\n"
                "events { worker_connections 20000; }\n"
                f"http {{\naccess_log off;\n{temporary}{text}\n}}\n")
        words = [program, "-p", folder, "-c", path]
    elif name == "haproxy":
        words = [program, "-db", "-f", path]
    else:
        text = "{\n  admin off\n  auto_https off\n}\n" + text
        words = [program, "run", "--adapter", "caddyfile", "--config", path]
    with open(path, "w") as file:
        file.write(text)
    return words
