import assert from "node:assert/strict";
import { test } from "node:test";
import { covers, isSamePlace, knowing, reached, readToken } from
  "../../../Sources/WebClient/client/changeToken.js";
import { limits } from "../../../Sources/WebClient/client/limits.js";
import { advice, interceptedBy, readProblem, refusalOfClose }
  from "../../../Sources/WebClient/client/refusal.js";
import { Backoff } from "../../../Sources/WebClient/client/transport/backoff.js";
import { EventStreamReader } from "../../../Sources/WebClient/client/transport/eventStream.js";
import { TransportSelector }
  from "../../../Sources/WebClient/client/transport/transportSelector.js";
import { RelayClock } from "../../../Sources/WebClient/client/transport/relayClock.js";

test("the backoff is jittered in full, has a ceiling, and never cuts what the relay asked", () => {
  const backoff = new Backoff();
  const ceilings = Array.from({ length: 12 }, () => backoff.next(0.999_999));
  assert.ok(ceilings[0] < limits.backoffFirstMilliseconds);
  assert.ok(ceilings.every((wait) => wait < limits.backoffMilliseconds));
  assert.ok(ceilings[11] > limits.backoffMilliseconds - 2);
  assert.equal(new Backoff().next(0), 0);
  assert.equal(new Backoff().next(0, 7_000), 7_000);
  assert.equal(new Backoff().next(0, 1e12), limits.retryAfterMilliseconds);
  backoff.reset();
  assert.ok(backoff.next(0.999_999) < limits.backoffFirstMilliseconds);
});

/** Returns the greatest number of devices that reconnect within one second. Tries fail until
 * `outage` is over. */
function mostWithinASecond(devices, spread, outage) {
  let state = 7;
  const chance = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const times = Array.from({ length: devices }, () => {
    const backoff = new Backoff();
    let time = backoff.next(chance(), 0, spread);
    while (time < outage) time += 1 + backoff.next(chance(), 0, spread);
    return time;
  }).sort((one, other) => one - other);
  let [most, first] = [0, 0];
  times.forEach((time, index) => {
    while (time - times[first] >= 1_000) first += 1;
    most = Math.max(most, index - first + 1);
  });
  return most;
}

test("of a crowd that lost its relay a fifth at most is back in any second", () => {
  for (const outage of [0, 500, 2_000, 10_000, 60_000]) {
    assert.ok(mostWithinASecond(400, 15_000, outage) <= 80, `400 after ${outage} ms`);
    assert.ok(mostWithinASecond(50_000, 50_000, outage) <= 10_000, `50,000 after ${outage} ms`);
  }
  assert.ok(new Backoff().next(0.999, 0, 0) < 1_000, "a household is back at once");
  assert.ok(new Backoff().next(0.999, 4_000, 60_000) < 5_000, "what the relay drew is kept");
  assert.ok(new Backoff().next(0.999, 0, 1e12) <= limits.reconnectObeyedMilliseconds);
});

test("a transport that fails twice is left; a better one is tried at growing intervals", () => {
  const selector = new TransportSelector(["websocket", "long-poll", "poll"]);
  selector.transportFailed(0);
  assert.equal(selector.transport, "websocket", "one failure may be chance");
  selector.transportServed(0);
  selector.transportFailed(0);
  assert.equal(selector.transport, "websocket");
  selector.transportFailed(0);
  assert.equal(selector.transport, "long-poll");
  assert.ok(selector.canUpgradeToSocket);
  assert.equal(selector.probeAt, limits.probeFirstMilliseconds);
  selector.tryBetter(100_000);
  assert.equal(selector.probeAt, 100_000 + 2 * limits.probeFirstMilliseconds);
  selector.probeSoon(150_000);
  assert.equal(selector.probeAt, 150_000, "a person need not wait");
  selector.upgrade("websocket", 200_000);
  assert.equal(selector.probeAt, null);
  for (let failures = 0; failures < 10; failures += 1) selector.transportFailed(0);
  assert.equal(selector.transport, "poll", "and no further");
  selector.reset();
  assert.equal(selector.transport, "websocket");
});

test("a long-poll that is cut is held for less, and left at last", () => {
  const selector = new TransportSelector(["websocket", "long-poll", "poll"]);
  for (let failures = 0; failures < 2; failures += 1) selector.transportFailed(0);
  const waits = [1, 2, 3].map(() => {
    selector.longPollCut(null, 0);
    return selector.waitMilliseconds;
  });
  assert.deepEqual(waits, [25_000, 12_500, 6_250]);
  selector.longPollCut(null, 0);
  assert.equal(selector.transport, "long-poll");
  selector.longPollCut(null, 0);
  assert.equal(selector.transport, "poll");
  // A transport on trial is left at its first failure, and stays once it has worked.
  selector.tryBetter(0);
  assert.deepEqual([selector.transport, selector.waitMilliseconds], ["long-poll", 6_250]);
  selector.longPollCut(5_000, 0);
  assert.equal(selector.transport, "poll");
  selector.tryBetter(0);
  selector.transportServed(0);
  selector.longPollCut(5_000, 0);
  assert.equal(selector.transport, "long-poll");
  selector.tryBetter(0);
  assert.equal(selector.waitMilliseconds, 6_250, "it is in doubt again");
  selector.transportServed(0);
  selector.tryBetter(0);
  assert.equal(selector.waitMilliseconds, 12_500);
});

test("a long-poll that was cut after a while is held for less than that", () => {
  for (const [held, wait] of [[30_000, 25_000], [10_000, 6_250], [5_000, 6_250]]) {
    const selector = new TransportSelector(["long-poll", "poll"]);
    selector.longPollCut(held, 0);
    assert.deepEqual([selector.transport, selector.waitMilliseconds], ["long-poll", wait]);
  }
});

test("relay time is the best of several round trips", () => {
  const clock = new RelayClock();
  const offset = (monotonic) => clock.reading({ wall: monotonic, monotonic }).offset;
  assert.equal(clock.reading({ wall: 5, monotonic: 0 }).isTrusted, false);
  clock.add({ sent: 0, received: 1_000, relayTime: 50_900 });
  assert.ok(Math.abs(offset(1_000) - 50_000) <= 500);
  clock.add({ sent: 2_000, received: 2_010, relayTime: 52_005 });
  assert.equal(offset(2_010), 50_000);
  clock.add({ sent: 3_000, received: 4_000, relayTime: 53_100 });
  assert.equal(offset(4_000), 50_000, "a worse way does not move it");
  clock.add({ sent: 5_000, received: 5_010, relayTime: Number.NaN });
  clock.add({ sent: 5_000, received: 5_010, relayTime: -1 });
  assert.equal(offset(5_010), 50_000, "nor what no relay may say");
});

test("a wall clock that is set moves nothing, and is trusted once the relay was asked", () => {
  const clock = new RelayClock();
  clock.observe({ wall: 1_000_000, monotonic: 0 });
  clock.add({ sent: 0, received: 10, relayTime: 2_000_000 });
  const before = clock.reading({ wall: 1_000_100, monotonic: 100 });
  assert.equal(before.isTrusted, true);
  clock.observe({ wall: 4_600_100, monotonic: 100 });
  const after = clock.reading({ wall: 4_600_100, monotonic: 100 });
  assert.equal(after.relayTime, before.relayTime);
  assert.equal(after.isTrusted, false);
  assert.equal(after.wallSteps, 3_600_000);
  clock.add({ sent: 100, received: 110, relayTime: 2_000_105 });
  assert.equal(clock.reading({ wall: 4_600_110, monotonic: 110 }).isTrusted, true);
  const late = { wall: 4_600_110 + limits.clockTrustMilliseconds,
    monotonic: 110 + limits.clockTrustMilliseconds };
  assert.equal(clock.reading(late).isTrusted, false, "and not for ever");
});

test("events are read alike whole, byte by byte, and with any line's end", () => {
  const text = ": keep\n\nid: a1.7\nevent: changes\ndata: {\"a\":\ndata: 1}\n\n"
    + "data:x\n\nevent: z\n\n";
  const expected = [{ event: "changes", data: "{\"a\":\n1}" }, { event: "message", data: "x" }];
  for (const end of ["\n", "\r\n", "\r"]) {
    const sent = text.replaceAll("\n", end);
    // A carriage return at the very end may be half of a line break.
    const whole = new EventStreamReader().read(`${sent}:`);
    const reader = new EventStreamReader();
    const pieces = [...`${sent}:`].flatMap((letter) => reader.read(letter));
    assert.deepEqual([whole, pieces], [expected, expected], JSON.stringify(end));
  }
});

test("an event that does not end is not kept for ever", () => {
  const reader = new EventStreamReader();
  const piece = `data: ${"x".repeat(1 << 20)}\n`;
  assert.throws(() => {
    for (let pieces = 0; pieces < 10; pieces += 1) reader.read(piece);
  }, { name: "WireError" });
});

test("places in the order of saves are read as the relay writes them", () => {
  assert.deepEqual(readToken("5c1f09aa.17.p20.h30"),
    { generation: "5c1f09aa", sequence: 17, zone: null, pinned: 20, horizon: 30 });
  for (const text of ["", "5c1f09aa", "x.1", "a.1.q2", "a.99999999999999999", null, 7]) {
    assert.equal(readToken(text), null);
  }
  assert.ok(isSamePlace("a.5", "a.5.h9"));
  assert.ok(!isSamePlace("a.5", "b.5"));
  assert.ok(!isSamePlace("a.5", "a.5.p7"));
  assert.ok(covers("a.5", "a.5") && covers("a.6", "a.5") && !covers("a.5", "a.6"));
  assert.ok(!covers("b.9", "a.5"));
  assert.equal(reached("a.7", "a.5.h9"), "a.7.h9");
  assert.equal(reached("a.9", "a.5.h9"), "a.9");
  assert.equal(reached("a.7.h8", "a.5.h9"), "a.7.h9");
  assert.equal(reached("b.7", "a.5.h9"), "b.7");
});

test("what a proxy says is not taken for the relay's word", () => {
  const told = { status: 401, contentType: "application/problem+json", retryAfter: "7",
    text: JSON.stringify({ code: "badToken", detail: "unknown" }) };
  const refusal = readProblem(told);
  assert.deepEqual([refusal.code, advice(refusal), refusal.retryAfterMilliseconds],
    ["badToken", "askPerson", 7_000]);
  for (const other of [{ contentType: "text/html" }, { contentType: null },
    { contentType: "application/json" }, { text: "<html>sign in</html>" }, { text: "{}" },
    { text: '{"type":"about:blank"}' }, { text: "" }]) {
    assert.equal(readProblem({ ...told, ...other }), null, JSON.stringify(other));
  }
  for (const status of [200, 400, 401, 403, 404, 410, 413, 451, 500, 502, 511]) {
    const lost = interceptedBy({ ...told, status });
    assert.equal(advice(lost), "retry", "nothing is given up for it");
    assert.equal(lost.retryAfterMilliseconds, 7_000);
    assert.equal(lost.isTooLarge, status === 413);
  }
  assert.equal(refusalOfClose(4501, "").code, "badToken");
  assert.equal(refusalOfClose(1001, ""), null);
});

test("what was told beyond a place is shown with it", () => {
  assert.equal(knowing("a1.5", 5), "a1.5");
  assert.equal(knowing("a1.5", 9), "a1.5.h9");
  assert.equal(knowing("a1.5.h7", 6), "a1.5.h7");
  assert.equal(knowing("a1.5.p6.h7", 9), "a1.5.p6.h9");
  assert.ok(isSamePlace(knowing("a1.5", 9), "a1.5"));
});
