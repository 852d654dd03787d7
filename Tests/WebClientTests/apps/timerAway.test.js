import assert from "node:assert/strict";
import test from "node:test";
import { timerApp } from "../../../Sources/WebClient/apps/timer/timerApp.js";
import { settled } from "../client/support/fakeEnvironment.js";
import { Stand } from "../client/support/stand.js";
import { edit, timer } from "../support/conflicts.js";

// An offline page ends countdowns itself, and undoes nothing of other devices by that.

const change = (stand, fields, tag) => ({
  zone: "Timer", name: "current", type: "TimerState", modifiedAt: stand.relayTime, fields,
  device: "other", tag, deleted: false,
});

/** Returns an offline page on which a focus and its break have ended. */
async function away() {
  const stand = await Stand.start({ apps: [timerApp], transports: ["websocket"] });
  await stand.welcome();
  const begunAt = stand.relayTime;
  const focus = {
    ...edit("other", begunAt, "focus", { left: 3_000 }), plan: { autoStart: true, break: 15_000 },
  };
  await stand.say({ op: "changes", since: "a1.0", token: "a1.1", more: false,
    changes: [change(stand, timer(0, focus), 1)] });
  stand.socket.end(1006);
  await stand.environment.advance(20_000);
  assert.equal((await shown(stand)).stateType, "idle");
  assert.equal((await stand.store.load()).outbox.length, 1);
  return { stand, begunAt };
}

const shown = async (stand) => (await stand.store.load()).records[0].record.fields.edits[0];

/** Reconnects the page, which receives the relay's version with the answer to its save. */
async function back(stand, fields) {
  const { socket } = stand;
  socket.open();
  await settled();
  socket.say({ op: "welcome", accountID: "account", deviceID: "page", token: "a1.2",
    keepAlive: 25_000, time: stand.relayTime });
  await settled();
  stand.sayTime();
  await settled();
  const { id } = socket.last("save");
  const server = change(stand, fields, 2);
  await stand.say({ op: "saved", id, since: "a1.1", token: "a1.2",
    results: [{ name: "current", conflict: server }] });
  await stand.say({ op: "changes", since: "a1.1", token: "a1.2", more: false, changes: [server] });
  await stand.environment.advance(2_000);
}

for (const [what, made] of [
  ["begun", (at) => edit("other", at, "focus", { left: 1_500_000 })],
  ["paused", (at) => edit("other", at, "breakTime", { left: 14_000, paused: true })],
]) {
  test(`what was ${what} elsewhere stands when a page comes back`, async () => {
    const { stand, begunAt } = await away();
    const fields = timer(1, made(begunAt + 4_000));
    await back(stand, fields);
    assert.deepEqual(await shown(stand), fields.edits[0]);
    assert.deepEqual((await stand.store.load()).outbox, []);
    assert.equal(stand.status.state, "inSync");
  });
}
