/**
 * Tests of an app without a network, a clock or a browser: a relay in memory, and devices that run
 * the client's own replica. All is synchronous, and the same each time.
 *
 *     const world = new World({ rules });
 *     const [phone, laptop] = [world.device("phone"), world.device("laptop")];
 *     phone.save("Todos", "Todo", { title: "milk" }, { id: "1" });
 *     world.settle();
 *     world.cut(phone);
 *     phone.update("Todos", "1", (todo) => ({ ...todo, done: true }));
 *     laptop.update("Todos", "1", (todo) => ({ ...todo, title: "tea" }));
 *     world.heal(phone);
 *     world.settle();
 *     assert.deepEqual(phone.records("Todos", "Todo"), laptop.records("Todos", "Todo"));
 */
export { World } from "./testing/world.js";
export { EditError } from "./client/replica/editing.js";
