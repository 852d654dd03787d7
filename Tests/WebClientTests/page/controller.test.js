import assert from "node:assert/strict";
import test from "node:test";
import { AppController } from "../../../Sources/WebClient/page/appController.js";

/** Returns the number of requests for the list of devices, after changes by a device that is not in
 * the list. */
async function requestsOf(scope) {
  const listeners = [];
  let requests = 0;
  let now = 0;
  const lockstep = {
    status: { state: "inSync", accountID: "account", deviceID: "page", scope, asking: [] },
    get now() { return now; },
    subscribe: (listener) => listeners.push(listener),
    knownDevices: async () => [],
    devices: async () => {
      requests += 1;
      return [{ deviceID: "page", deviceName: "page", platform: "web" }];
    },
  };
  const browser = { setTimer: (act) => act(), clearTimer: () => {}, minutesAhead: () => 0 };
  const controller = new AppController(lockstep, browser);
  await controller.refreshDevices();
  for (let count = 0; count < 3; count += 1) {
    now += 60_000;
    for (const listener of listeners) listener({ kind: "changed", records: [{ device: "other" }] });
    await Promise.resolve();
  }
  return requests;
}

test("a browser for a part of the account does not ask again for names that it never gets",
  async () => {
    assert.equal(await requestsOf(null), 4);
    assert.equal(await requestsOf({ zones: ["Memos"], access: "read" }), 1);
  });
