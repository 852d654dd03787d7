import { createHash, randomBytes } from "node:crypto";
import { connect } from "node:net";

/** A minimal WebSocket of a browser over node:net: text frames, a masked client, no extensions. */
export class TestWebSocket {
  readyState = 0;
  onopen = null;
  onmessage = null;
  onclose = null;
  onerror = null;
  #socket;
  #bytes = Buffer.alloc(0);
  #fragments = [];
  #key = randomBytes(16).toString("base64");
  #close = { code: 1006, reason: "" };

  constructor(url, protocols) {
    const { hostname, port, pathname } = new URL(url);
    this.#socket = connect(Number(port), hostname);
    this.#socket.on("connect", () => {
      this.#socket.write([
        `GET ${pathname} HTTP/1.1`, `Host: ${hostname}:${port}`, "Upgrade: websocket",
        "Connection: Upgrade", `Sec-WebSocket-Key: ${this.#key}`, "Sec-WebSocket-Version: 13",
        `Sec-WebSocket-Protocol: ${protocols.join(", ")}`, "", "",
      ].join("\r\n"));
    });
    this.#socket.on("data", (data) => this.#received(data));
    this.#socket.on("error", () => this.onerror?.({}));
    this.#socket.on("close", () => {
      if (this.readyState === 3) return;
      this.readyState = 3;
      this.onclose?.(this.#close);
    });
  }

  send(text) { this.#write(1, Buffer.from(text)); }

  close(code = 1000, reason = "") {
    if (this.readyState >= 2) return;
    const isOpen = this.readyState === 1;
    this.readyState = 2;
    if (!isOpen) {
      this.#socket.destroy();
      return;
    }
    const head = Buffer.alloc(2);
    head.writeUInt16BE(code);
    this.#write(8, Buffer.concat([head, Buffer.from(reason)]));
    this.#socket.end();
  }

  /** Breaks the connection without a close frame. */
  cut() { this.#socket.destroy(); }

  #write(opcode, payload) {
    const { length } = payload;
    const head = length < 126 ? Buffer.from([0x80 | opcode, 0x80 | length])
      : length < 1 << 16 ? Buffer.from([0x80 | opcode, 0xfe, length >> 8, length & 255])
        : Buffer.alloc(10);
    if (length >= 1 << 16) {
      head.set([0x80 | opcode, 0xff]);
      head.writeBigUInt64BE(BigInt(length), 2);
    }
    const mask = randomBytes(4);
    this.#socket.write(Buffer.concat([head, mask, payload.map((byte, at) => byte ^ mask[at & 3])]));
  }

  #received(data) {
    this.#bytes = Buffer.concat([this.#bytes, data]);
    if (this.readyState === 0 && !this.#readHead()) return;
    while (this.readyState < 3 && this.#readFrame());
  }

  #readHead() {
    const end = this.#bytes.indexOf("\r\n\r\n");
    if (end < 0) return false;
    const head = this.#bytes.subarray(0, end).toString();
    this.#bytes = this.#bytes.subarray(end + 4);
    const accept = createHash("sha1")
      .update(`${this.#key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
    if (!head.startsWith("HTTP/1.1 101 ") || !head.includes(accept)) {
      this.#socket.destroy();
      return false;
    }
    this.readyState = 1;
    this.onopen?.({});
    return true;
  }

  #readFrame() {
    const bytes = this.#bytes;
    if (bytes.length < 2) return false;
    let length = bytes[1] & 0x7f;
    let at = 2;
    if (length === 126) [length, at] = [bytes.length < 4 ? Infinity : bytes.readUInt16BE(2), 4];
    if (length === 127) {
      [length, at] = [bytes.length < 10 ? Infinity : Number(bytes.readBigUInt64BE(2)), 10];
    }
    if (bytes.length < at + length) return false;
    const payload = bytes.subarray(at, at + length);
    this.#bytes = bytes.subarray(at + length);
    this.#readPayload(bytes[0] & 0x0f, payload, (bytes[0] & 0x80) !== 0);
    return true;
  }

  #readPayload(opcode, payload, isLast) {
    if (opcode === 9) this.#write(10, payload);
    if (opcode === 8) {
      this.#close = { code: payload.length >= 2 ? payload.readUInt16BE() : 1005,
        reason: payload.subarray(2).toString() };
      this.#socket.end();
    }
    if (opcode > 2) return;
    this.#fragments.push(payload);
    if (!isLast) return;
    const data = Buffer.concat(this.#fragments).toString();
    this.#fragments = [];
    this.onmessage?.({ data });
  }
}
