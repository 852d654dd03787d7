/** Returns the display name of a device, or "another device" if its name is not known yet. */
export const who = (device, name) => (name === device ? "another device" : name);
