import assert from "node:assert/strict";
import test from "node:test";
import { RelayAvailability } from "../../../Sources/WebClient/status/relayAvailability.js";

// Texts of the status page about a relay that answers, does not answer, and returns.

const availability = () => new RelayAvailability((wall) => `${wall} o'clock`);

test("a relay that answers is live, whenever that was", () => {
  const relay = availability();
  assert.equal(relay.state, "asking");
  for (const wall of [1, 2, 3]) {
    relay.answered(wall);
    assert.deepEqual([relay.state, relay.words], ["answers", "Live"]);
  }
});

test("a silent one is told once: since when, and of when the figures are", () => {
  const relay = availability();
  relay.answered(5);
  relay.failed(6);
  const words = relay.words;
  assert.equal(words, "No answer since 6 o'clock; figures are of 5 o'clock");
  for (const wall of [7, 8, 9]) relay.failed(wall);
  assert.equal(relay.words, words);
  relay.answered(10);
  assert.deepEqual([relay.isSilent, relay.words], [false, "Live"]);
  relay.failed(11);
  assert.match(relay.words, /since 11/);
});

test("one that never answered has no figures to be of any time", () => {
  const relay = availability();
  relay.failed(3);
  assert.equal(relay.words, "No answer since 3 o'clock");
});

test("a paused page says of when its figures are, and is honest again when it goes on", () => {
  const relay = availability();
  relay.answered(5);
  relay.isPaused = true;
  assert.deepEqual([relay.state, relay.words], ["paused", "Paused; figures are of 5 o'clock"]);
  relay.failed(6);
  relay.isPaused = false;
  assert.equal(relay.state, "silent");
});
