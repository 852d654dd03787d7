/** What a person calls a device; one whose name nobody knows yet is another device. */
export const who = (device, name) => (name === device ? "another device" : name);
