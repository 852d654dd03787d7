import assert from "node:assert/strict";
import test from "node:test";
import { OwnerCalls } from "../../../Sources/WebClient/admin/ownerCalls.js";
import { faultText } from "../../../Sources/WebClient/admin/ownerFault.js";

/** A browser whose relay gives the answers of a list, each a function or a response. */
function stage(...answers) {
  const asked = [];
  let token = "t1";
  const browser = {
    now: () => 1_000_000,
    timeout: () => AbortSignal.timeout(60_000),
    keeper: { read: () => token, write: (value) => { token = value; } },
    fetch: async (path, request) => {
      asked.push({ path, ...request });
      const answer = answers.shift();
      return typeof answer === "function" ? answer() : answer;
    },
  };
  return { calls: new OwnerCalls(browser), asked, kept: () => token };
}

const json = (value, status = 200) => new Response(JSON.stringify(value), { status });
const refusal = (status, code, detail, headers = {}) =>
  new Response(JSON.stringify({ code, detail }),
    { status, headers: { "Content-Type": "application/problem+json", ...headers } });
const lost = () => { throw new TypeError("the connection is closed"); };

test("a link gives a session, which ends the former one", async () => {
  const { calls, asked, kept } = stage(json({ token: "t2", expiresAt: 1 }, 201),
    new Response(null, { status: 204 }));
  await calls.signIn("a code");
  assert.equal(kept(), "t2");
  assert.equal(asked[0].headers.Authorization, undefined);
  assert.equal(asked[0].body, '{"code":"a code"}');
  assert.equal(asked[1].headers.Authorization, "Bearer t1");
  assert.equal(asked[1].method, "DELETE");
});

test("a used link leaves the former session", async () => {
  const { calls, kept } = stage(refusal(401, "badToken", "used"));
  let ends = 0;
  calls.onEnd = () => { ends += 1; };
  await assert.rejects(calls.signIn("a code"), { code: "badToken" });
  assert.equal(kept(), "t1");
  assert.equal(ends, 0);
});

test("an ended session is noticed once, whatever was asked", async () => {
  const { calls, asked, kept } = stage(refusal(401, "badToken", ""), refusal(401, "badToken", ""));
  let ends = 0;
  calls.onEnd = () => { ends += 1; };
  const both = await Promise.allSettled([calls.store(), calls.account("01")]);
  assert.deepEqual(both.map(({ reason }) => reason.code), ["signedOut", "signedOut"]);
  assert.equal(ends, 1);
  assert.equal(kept(), null);
  await assert.rejects(calls.store(), { code: "signedOut" });
  assert.equal(asked.length, 2);
});

test("a late answer to a former session does not end the new one", async () => {
  let answer;
  const late = () => new Promise((resolve) => { answer = resolve; });
  const { calls, kept } = stage(late, json({ token: "t2", expiresAt: 1 }, 201),
    new Response(null, { status: 204 }));
  const former = calls.store();
  await calls.signIn("a code");
  answer(refusal(401, "badToken", ""));
  await assert.rejects(former, { code: "signedOut" });
  assert.equal(kept(), "t2");
});

test("all accounts are read, page by page", async () => {
  const { calls, asked } = stage(
    json({ accounts: [{ accountID: "01" }, { accountID: "02" }], more: true }),
    json({ accounts: [{ accountID: "03" }], more: false }));
  const { accounts, isComplete } = await calls.accounts();
  assert.deepEqual(accounts.map(({ accountID }) => accountID), ["01", "02", "03"]);
  assert.equal(isComplete, true);
  assert.equal(asked[1].path, "/v1/admin/accounts?limit=1000&after=02");
});

test("a relay that says more for ever is believed up to a limit", async () => {
  const page = () => json({ accounts: Array.from({ length: 1_000 }, (_, index) =>
    ({ accountID: String(index) })), more: true });
  const { calls, asked } = stage(...Array.from({ length: 40 }, () => page));
  const { accounts, isComplete } = await calls.accounts();
  assert.equal(accounts.length, 20_000);
  assert.equal(isComplete, false);
  assert.equal(asked.length, 20);
});

test("a name that is no id goes into no path", async () => {
  const { calls, asked } = stage();
  for (const id of ["../../metrics", "..", "", "x?y#z", "01/02"]) {
    await assert.rejects(calls.account(id), { code: "notFound" }, id);
    await assert.rejects(async () => calls.revoke("01", id), { code: "notFound" }, id);
    await assert.rejects(async () => calls.remove(id), { code: "notFound" }, id);
  }
  assert.equal(asked.length, 0);
});

test("a person reads what failed, and what to do next", async () => {
  const told = async (answer, act) => {
    try {
      await act(stage(answer).calls);
    } catch (error) {
      return faultText(error);
    }
    return null;
  };
  assert.match(await told(lost, (calls) => calls.store()), /tunnel.*try again\.$/);
  assert.match(await told(lost, (calls) => calls.createAccount("mum", 600)),
    /not known if the relay did/);
  assert.match(await told(refusal(429, "tooManyRequests", "", { "Retry-After": "30" }),
    (calls) => calls.store()), /in 30 seconds/);
  assert.equal(await told(refusal(400, "badRequest", "the label is too long"),
    (calls) => calls.createAccount("mum", 600)), "The label is too long.");
  assert.match(await told(new Response("<html>", { status: 502 }), (calls) => calls.store()),
    /status 502.*proxy/);
  assert.match(await told(new Response("<html>"), (calls) => calls.store()), /proxy/);
});

test("a clock that is wrong by minutes is compared with the relay's", async () => {
  const dated = (milliseconds) => new Response("{}",
    { headers: { Date: new Date(milliseconds).toUTCString() } });
  const { calls } = stage(dated(1_600_000), dated(1_004_000), new Response("{}"));
  await calls.store();
  assert.equal(calls.clockAhead, 600_000);
  await calls.store();
  assert.equal(calls.clockAhead, 0);
  await calls.store();
  assert.equal(calls.clockAhead, 0);
});

test("signing out ends the session here, also without a relay", async () => {
  const { calls, kept } = stage(lost);
  await assert.rejects(calls.signOut(), { code: "noAnswer" });
  assert.equal(kept(), null);
  assert.equal(calls.isSignedIn, false);
});
