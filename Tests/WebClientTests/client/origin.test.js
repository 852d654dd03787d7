import assert from "node:assert/strict";
import { test } from "node:test";
import { call } from "../../../Sources/WebClient/client/transport/httpCall.js";
import { systemEnvironment } from "../../../Sources/WebClient/client/transport/environment.js";

// A browser reports a relay that does not accept the page's origin like one that is off.

const url = "https://relay.example/v1/time";

/** A browser's page of `origin`. The relay answers, but accepts only pages of its own origin. */
function page(origin, { isOn = true } = {}) {
  const requests = [];
  const fetch = async (address, { mode } = {}) => {
    requests.push(`${mode ?? "cors"} ${address}`);
    if (isOn && mode === "no-cors") return { type: "opaque" };
    throw new TypeError("Failed to fetch");
  };
  return { environment: { ...systemEnvironment(), origin, fetch }, requests };
}

const reasonOf = (environment) =>
  call(environment, { url, milliseconds: 1_000 }).then(assert.fail, (error) => {
    assert.equal(error.kind, "unreachable");
    return error.message;
  });

test("a page of an origin that is not listed learns which option the relay needs", async () => {
  const { environment, requests } = page("https://app.example");
  const reason = await reasonOf(environment);
  assert.match(reason, /start the relay with --origin https:\/\/app\.example$/u);
  assert.deepEqual(requests, [`cors ${url}`, "no-cors https://relay.example/livez"]);
});

test("a page that was opened from a file learns that it needs an origin", async () => {
  assert.match(await reasonOf(page("null").environment), /serve the page over http/u);
});

test("a relay that is off is not taken for one that refuses the page", async () => {
  const { environment } = page("https://app.example", { isOn: false });
  assert.match(await reasonOf(environment), /could not be reached \(Failed to fetch\)/u);
});

test("the relay's own page, and a script, ask no second time", async () => {
  for (const origin of ["https://relay.example", undefined]) {
    const { environment, requests } = page(origin);
    assert.match(await reasonOf(environment), /could not be reached/u);
    assert.equal(requests.length, 1);
  }
});
