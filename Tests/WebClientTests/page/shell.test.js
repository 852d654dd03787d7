import assert from "node:assert/strict";
import test from "node:test";
import { ShellUpdates } from "../../../Sources/WebClient/page/shell/shellUpdates.js";

test("a newer version is told of, also where it came before anybody could be told", () => {
  const container = new EventTarget();
  const says = (kind) =>
    container.dispatchEvent(Object.assign(new Event("message"), { data: { kind } }));
  const news = new ShellUpdates(container);
  says("something else");
  says("shellUpdated");
  let told = 0;
  news.subscribe(() => { told += 1; });
  assert.equal(told, 1);
  says("shellUpdated");
  assert.equal(told, 2);
  // Over plain http there is no container.
  new ShellUpdates(undefined).subscribe(() => assert.fail());
});
