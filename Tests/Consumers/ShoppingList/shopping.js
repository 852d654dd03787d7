// A shopping list that is the same on all devices, also after changes without a connection. It is
// a file of its own, because the policy of `lockstep relay --pages` allows no script in a page.

const relay = document.querySelector("meta[name=relay]").content || location.origin;
const { counterAdded, counterValue, Lockstep } = await import(`${relay}/lockstep-0.2.0.js`)
  .catch((error) => {
    document.getElementById("status").textContent = `The relay ${relay} does not give this page `
      + `the package: check that it runs, with --origin ${location.origin}`;
    throw error;
  });

const rules = {
  zone: "Shopping", types: { Item: { fields: { bought: "or", amount: "counter" } } },
};
const lockstep = await Lockstep.open({ relay, rules, name: "shopping" });
const device = { deviceName: "Browser" };
const [line, welcome, join, create, invite, code, add, list] =
  ["status", "welcome", "join", "create", "invite", "code", "add", "items"]
    .map((id) => document.getElementById(id));

/** Calls `act` for an event, and shows the reason if it fails. */
function on(node, event, act) {
  node.addEventListener(event, async (happened) => {
    happened.preventDefault();
    try {
      await act();
    } catch (error) {
      line.textContent = error.message;
    }
  });
}

on(join, "submit", () => lockstep.join(join.elements.code.value, device));
on(create, "click", () => lockstep.createAccount(device));
on(invite, "click", async () => { code.textContent = (await lockstep.issueCode()).code; });
on(add, "submit", async () => {
  await lockstep.save("Shopping", "Item", { text: add.elements.text.value, bought: false });
  add.reset();
});

const input = (properties) => Object.assign(document.createElement("input"), properties);

/** Row of an item, which stays the same while the item changes. */
function rowOf(id) {
  const row = document.createElement("li");
  const box = input({ type: "checkbox", ariaLabel: "Bought" });
  const text = input({ ariaLabel: "Text" });
  const amount = document.createElement("output");
  const [more, remove] = ["One more", "Remove"].map((words) =>
    Object.assign(document.createElement("button"), { textContent: words }));
  const update = (make) => lockstep.update("Shopping", id, make);
  on(box, "change", () => update((item) => ({ ...item, bought: box.checked })));
  on(text, "change", () => update((item) => ({ ...item, text: text.value })));
  on(more, "click", () => update((item, context) =>
    ({ ...item, amount: counterAdded(item.amount, context.device, 1) })));
  on(remove, "click", () => lockstep.delete("Shopping", id));
  row.append(box, text, " × ", amount, more, remove);
  row.show = (item) => {
    box.checked = item.bought;
    if (document.activeElement !== text) text.value = item.text;
    amount.textContent = 1 + counterValue(item.amount);
  };
  return row;
}

async function showItems() {
  let rows = new Map();
  for await (const items of lockstep.live("Shopping", "Item", { sortBy: "text" })) {
    rows = new Map(items.map((item) => [item.id, rows.get(item.id) ?? rowOf(item.id)]));
    for (const item of items) rows.get(item.id).show(item);
    const isSame = list.children.length === rows.size
      && [...rows.values()].every((row, index) => row === list.children[index]);
    if (!isSame) list.replaceChildren(...rows.values());
  }
}

async function showStatus() {
  for await (const { state, reason, waiting } of lockstep.statusUpdates) {
    line.textContent = [state, reason, waiting && `${waiting} waiting`].filter(Boolean).join(": ");
    welcome.hidden = state !== "needsPairing";
    invite.hidden = !welcome.hidden;
  }
}

await Promise.all([showItems(), showStatus()]);
