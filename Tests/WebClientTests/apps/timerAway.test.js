import assert from "node:assert/strict";
import test from "node:test";
import { timerApp } from "../../../Sources/WebClient/apps/timer/timerApp.js";
import { settled } from "../client/support/fakeEnvironment.js";
import { TestDevice } from "../client/support/testDevice.js";
import { edit, timer } from "../support/conflicts.js";

// An offline page ends countdowns itself, and undoes nothing of other devices by that.

const change = (device, fields, tag) => ({
  zone: "Timer", name: "current", type: "TimerState", modifiedAt: device.relayTime, fields,
  device: "other", tag, deleted: false,
});

/** Returns an offline page on which a focus and its break have ended. */
async function away() {
  const device = await TestDevice.start({ apps: [timerApp], transports: ["websocket"] });
  await device.welcome();
  const begunAt = device.relayTime;
  const focus = {
    ...edit("other", begunAt, "focus", { left: 3_000 }), plan: { autoStart: true, break: 15_000 },
  };
  await device.receive({ op: "changes", since: "a1.0", token: "a1.1", more: false,
    changes: [change(device, timer(0, focus), 1)] });
  device.socket.end(1006);
  await device.environment.advance(20_000);
  assert.equal((await shown(device)).stateType, "idle");
  // The end of the focus, and the focus among those of its day.
  const { outbox } = await device.store.load();
  assert.deepEqual(outbox.map(({ type }) => type), ["TimerState", "FocusDay"]);
  return { device, begunAt };
}

const shown = async (device) => (await device.store.load()).records
  .find(({ record }) => record.name === "current").record.fields.edits[0];

/** Reconnects the page, which receives the relay's version with the answer to its save. */
async function back(device, fields) {
  const { socket } = device;
  socket.open();
  await settled();
  socket.receive({ op: "welcome", accountID: "account", deviceID: "page", token: "a1.2",
    keepAlive: 25_000, time: device.relayTime });
  await settled();
  device.answerTimeRequests();
  await settled();
  const { id, records } = socket.last("save");
  const server = change(device, fields, 2);
  await device.receive({ op: "saved", id, since: "a1.1", token: "a1.3",
    results: records.map(({ name }) =>
      (name === "current" ? { name, conflict: server } : { name, tag: 3 })) });
  const day = records.find(({ name }) => name !== "current");
  await device.receive({ op: "changes", since: "a1.1", token: "a1.3", more: false,
    changes: [server, { ...day, zone: "Timer", device: "page", tag: 3, deleted: false }] });
  await device.environment.advance(2_000);
}

for (const [what, made] of [
  ["begun", (at) => edit("other", at, "focus", { left: 1_500_000 })],
  ["paused", (at) => edit("other", at, "breakTime", { left: 14_000, paused: true })],
]) {
  test(`what was ${what} elsewhere stands when a page comes back`, async () => {
    const { device, begunAt } = await away();
    const fields = timer(1, made(begunAt + 4_000));
    await back(device, fields);
    assert.deepEqual(await shown(device), fields.edits[0]);
    assert.deepEqual((await device.store.load()).outbox, []);
    assert.equal(device.status.state, "inSync");
  });
}
