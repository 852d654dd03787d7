import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "../../../Sources/WebClient/client/limits.js";
import { OrderReceiver, OrderSender } from "../../../Sources/WebClient/client/tabs/orders.js";
import { Device } from "./support/device.js";
import { FakeEnvironment, settled } from "./support/fakeEnvironment.js";

test("an order that is asked twice while it is carried out is carried out once", async () => {
  const posted = [];
  let finish;
  let count = 0;
  const receiver = new OrderReceiver({ post: (message) => posted.push(message),
    perform: () => new Promise((resolve) => {
      count += 1;
      finish = resolve;
    }) });
  receiver.handleOrder({ id: "one" });
  receiver.handleOrder({ id: "one" });
  finish("done");
  await settled();
  assert.equal(count, 1);
  assert.deepEqual(posted.map(({ kind }) => kind), ["accepted", "accepted", "answer"]);
});

test("an order without an answer is asked again, the lead is sought, and then it is given up",
  async () => {
    const environment = new FakeEnvironment();
    const asked = [];
    let silences = 0;
    const sender = new OrderSender({ environment, post: ({ order }) => asked.push(order.id),
      onSilence: () => { silences += 1; } });
    const sent = sender.send({ id: "one" });
    const refused = assert.rejects(sent, { code: "silent" });
    await environment.advance(limits.orderMilliseconds * (limits.silencesToLead - 1));
    assert.equal(silences, 0);
    await environment.advance(limits.orderMilliseconds * limits.orderTries);
    await refused;
    assert.deepEqual(asked, Array(limits.orderTries).fill("one"));
    assert.ok(silences > 0);
  });

test("while a long-poll is held, an answer does not move the cursor that it was asked with", () => {
  const device = new Device("phone");
  const { engine } = device;
  const next = () => engine.next();
  engine.online("long-poll", null);
  const { since } = next();
  assert.equal(since, null);
  engine.page({ since: null, token: "a1.0", more: false, changes: [] }, "fetch");
  const apply = next();
  engine.finished({ offered: apply.bounds !== null, ...device.step(apply.job) });
  assert.deepEqual(next(), { do: "wait", since: "a1.0" });
  device.change({ name: "n", type: "Set", fields: { items: [] } });
  const take = next();
  const offer = { id: "batch", ...take.bounds };
  engine.finished({ offered: true, ...device.step({ ...take.job, offer }) });
  assert.equal(next().do, "save");
  engine.saved("batch", { since: "a1.0", token: "a1.1", results: [{ name: "n", tag: 1 }] });
  const [answer] = next().job.arrivals;
  assert.equal(answer.isLink, false);
});
