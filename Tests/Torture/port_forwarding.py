"""TCP ports of one network that lead to ports of another: the listeners are made before the calling
process changes to the other network (`namespaces.isolate_process`), and connect from there."""

import asyncio
import random
import socket
import threading

CHUNK_BYTES = 65_536
CONNECT_SECONDS = 10


class PortForwarding:
    """`count`: number of ports of 127.0.0.1."""

    def __init__(self, count, first=0):
        self.listeners = [socket.create_server(("127.0.0.1", first if number == 0 else 0))
                          for number in range(count)]
        self.ports = [each.getsockname()[1] for each in self.listeners]

    def start(self, targets):
        """Forwards each port to one of its targets, a list of ports; to another one if that
        refuses. Ends with the process."""
        threading.Thread(
            target=lambda: asyncio.run(self.forward(targets)), daemon=True).start()

    async def forward(self, targets):
        servers = [
            await asyncio.start_server(
                lambda reader, writer, ports=ports: accept(reader, writer, ports), sock=listener)
            for listener, ports in zip(self.listeners, targets)]
        await asyncio.gather(*(server.serve_forever() for server in servers))


async def accept(reader, writer, ports):
    for port in random.sample(ports, len(ports)):
        try:
            far_reader, far_writer = await asyncio.wait_for(
                asyncio.open_connection("127.0.0.1", port), CONNECT_SECONDS)
        except (OSError, asyncio.TimeoutError):
            continue
        await asyncio.gather(pump(reader, far_writer), pump(far_reader, writer))
        return
    writer.close()


async def pump(reader, writer):
    try:
        while data := await reader.read(CHUNK_BYTES):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()
