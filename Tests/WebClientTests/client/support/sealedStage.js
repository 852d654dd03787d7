import { note } from "./deskApp.js";
import { KeylessRelay, sealedDevice } from "./keylessRelay.js";

// Devices with a sealed zone, and a relay that has no key: it stores what they save, and does what
// it likes with it.

/** Returns a relay, and two devices that have the keys. */
export function pair() {
  return { relay: new KeylessRelay(), desk: sealedDevice(1), phone: sealedDevice(2) };
}

/** Sends all that waits, at most ten batches. */
export function send(relay, device) {
  for (let batches = 0; batches < 10; batches += 1) {
    const batch = device.nextBatch();
    if (!batch) return;
    device.answer(batch, relay.save(batch, device.id));
  }
  throw new Error("the device sends for ever");
}

export function read(relay, device) {
  device.read(relay.changes(device.id));
  const { changedNames, outcome } = device;
  device.bringBack();
  return { changedNames, changed: outcome.changed };
}

export function write(relay, device, name, text) {
  device.edit(note(name, text));
  send(relay, device);
}

/** A device writes a note, and another reads it. */
export function shared(text = "a secret") {
  const stage = pair();
  write(stage.relay, stage.desk, "diary", text);
  read(stage.relay, stage.phone);
  return stage;
}

/** Makes the relay put a version in its place that no device can read. */
export function spoil(relay, record, fields = {}) { relay.put({ ...record, fields }); }

/** Returns the batch that the device would send, and the number of its waiting changes. */
export const waits = (device) => [device.nextBatch(), device.summary.unsent];
