"""Mozilla's push service as Firefox knows it: a WebSocket to the browser, on which it subscribes
and gets its pushes, and a resource over TLS for each subscription, to which an application server
pushes (RFC 8030).

The messages are those of autopush: `hello`, `register`, `unregister`, `notification`, `ack`, `nack`
and an empty object as a ping. Broadcasts, which only the browser itself uses, are not answered.
"""

import asyncio
import base64
import json
import queue
import threading
import uuid

import websockets

from push_service import PATIENCE_SECONDS, PushService

DELIVERED = 100


class Subscription:
    def __init__(self, browser, channel, key):
        self.browser = browser
        self.channel = channel
        # The application server's key, without which nobody may push.
        self.key = key
        # Messages that the browser has not acknowledged, by version.
        self.messages = {}


class Autopush(PushService):
    """`pushes`: the headers of each push that was accepted. `acknowledged`: the code of each that a
    browser has handled. `faults`: all that an application server or a browser did wrong."""

    def __init__(self, folder):
        super().__init__(folder)
        self.acknowledged = queue.Queue()
        self.faults = []
        self.subscriptions = {}
        self.sockets = {}
        self.holds = False
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.listener = self._on_loop(self._listen())
        port = self.listener.sockets[0].getsockname()[1]
        self.url = f"ws://127.0.0.1:{port}/"

    async def _listen(self):
        # Browsers answer the messages of the protocol, and no pings of WebSocket in time on a busy
        # machine.
        return await websockets.serve(
            self._serve, "127.0.0.1", 0, subprotocols=["push-notification"], ping_interval=None)

    def _on_loop(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(PATIENCE_SECONDS)

    def close(self):
        super().close()
        self._on_loop(self._stop())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(PATIENCE_SECONDS)
        self.loop.close()

    async def _stop(self):
        self.listener.close()
        await self.listener.wait_closed()

    # From here on what a test does.

    def keeps_pushes_back(self):
        """Accepts pushes, and delivers none."""
        self.holds = True

    def delivers_again(self):
        self._on_loop(self._deliver_all())

    async def _deliver_all(self):
        self.holds = False
        for browser in list(self.sockets):
            await self._deliver(browser)

    def forgets_its_browsers(self):
        """Ends all subscriptions, as a service that has lost its data does."""
        self._on_loop(self._forget())

    async def _forget(self):
        self.subscriptions.clear()
        for socket in list(self.sockets.values()):
            await socket.close()

    def gets_push(self):
        """Waits for the next push of the application server."""
        return self.pushes.get(timeout=PATIENCE_SECONDS)

    def has_delivered(self):
        """Waits until the browser has handled one more push."""
        code = self.acknowledged.get(timeout=PATIENCE_SECONDS)
        if code != DELIVERED:
            raise AssertionError(f"the browser did not deliver a push: it answered {code}")

    # The application server's side.

    def accept(self, path, headers, body):
        return self._on_loop(self._accept(path, headers, body))

    async def _accept(self, path, headers, body):
        subscription = self.subscriptions.get(path)
        if not subscription:
            return 404
        if fault := self._fault(subscription, headers):
            self.faults.append(fault)
            return 400
        # A push replaces an undelivered one of the same topic.
        topic = headers.get("Topic")
        for version, (other, _) in list(subscription.messages.items()):
            if topic and other == topic:
                del subscription.messages[version]
        data = base64.urlsafe_b64encode(body).decode()
        subscription.messages[uuid.uuid4().hex] = (topic, data)
        self.pushes.put(headers)
        await self._deliver(subscription.browser)
        return 201

    @staticmethod
    def _fault(subscription, headers):
        if not headers.get("TTL", "").isdigit():
            return "a push without TTL"
        if headers.get("Content-Encoding") != "aes128gcm":
            return "a push with another encoding"
        scheme, _, fields = headers.get("Authorization", "").partition(" ")
        parameters = dict(field.strip().split("=", 1) for field in fields.split(",") if field)
        if scheme != "vapid" or parameters.get("k", "") != subscription.key:
            return "a push with another key than that of the subscription"
        return None

    # The browser's side.

    async def _serve(self, socket, *_):
        browser = None
        try:
            async for text in socket:
                message = json.loads(text)
                kind = message.get("messageType", "ping")
                if kind == "hello":
                    browser = self._known(message.get("uaid")) or uuid.uuid4().hex
                    self.sockets[browser] = socket
                    await self._send(socket, kind, status=200, uaid=browser, use_webpush=True,
                                     broadcasts={})
                    await self._deliver(browser)
                elif kind == "register":
                    await self._register(socket, browser, message)
                elif kind == "unregister":
                    self._remove(message["channelID"])
                    await self._send(socket, kind, status=200, channelID=message["channelID"])
                elif kind == "ack":
                    self._acknowledge(message["updates"])
                elif kind == "nack":
                    self.faults.append(f"the worker failed at a push: {message['code']}")
                elif kind == "ping":
                    await socket.send("{}")
                elif kind != "broadcast_subscribe":
                    self.faults.append(f"the browser sent “{kind}”")
        except websockets.ConnectionClosed:
            pass
        finally:
            if self.sockets.get(browser) is socket:
                del self.sockets[browser]

    @staticmethod
    async def _send(socket, kind, **fields):
        await socket.send(json.dumps({"messageType": kind, **fields}))

    def _known(self, browser):
        return browser if any(
            it.browser == browser for it in self.subscriptions.values()) else None

    async def _register(self, socket, browser, message):
        path = f"/wpush/v2/{uuid.uuid4().hex}"
        channel = message["channelID"]
        self.subscriptions[path] = Subscription(
            browser, channel, message.get("key", "").rstrip("="))
        await self._send(socket, "register", status=200, channelID=channel,
                         pushEndpoint=f"https://{self.host}{path}")

    def _remove(self, channel):
        self.subscriptions = {path: it for path, it in self.subscriptions.items()
                              if it.channel != channel}

    def _acknowledge(self, updates):
        for update in updates:
            for it in self.subscriptions.values():
                it.messages.pop(update["version"], None)
            self.acknowledged.put(update["code"])

    async def _deliver(self, browser):
        socket = self.sockets.get(browser)
        if self.holds or not socket:
            return
        for it in list(self.subscriptions.values()):
            if it.browser != browser:
                continue
            for version, (_, data) in list(it.messages.items()):
                await self._send(socket, "notification", channelID=it.channel, version=version,
                                 data=data, headers={"encoding": "aes128gcm"})
