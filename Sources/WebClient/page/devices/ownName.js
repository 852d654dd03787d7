import { limits } from "../limits.js";
import { freeName } from "./devicesModel.js";

/**
 * Gives this device, which has just joined with its default name, a name that no device before it
 * has. Of devices that join at once, the later one of the account's list gives way.
 *
 * @param {import("../../lockstep.js").Lockstep} lockstep
 * @param {string} name the default one
 */
export async function takeFreeName(lockstep, name) {
  for (let tries = 0; tries < limits.nameTries; tries += 1) {
    const devices = await lockstep.devices();
    const place = devices.findIndex(({ deviceID }) => deviceID === lockstep.status.deviceID);
    const own = devices[place]?.deviceName;
    const isTaken = devices.slice(0, Math.max(0, place)).some((it) => it.deviceName === own);
    if (!isTaken) return;
    const others = devices.filter((_, index) => index !== place);
    await lockstep.rename(devices[place].deviceID,
      freeName(name, others.map(({ deviceName }) => deviceName)));
  }
}
