// A to-do list in the terminal, on the installed package. The device's data is in the file HOME.
//
//   node list.mjs HOME RELAY join CODE NAME | add TITLE | done TITLE | count TITLE N | tag TITLE TAG
//     | untag TITLE TAG | rename TITLE NEW | delete TITLE | wait N | sync | json

import { readFile } from "node:fs/promises";
import { counterAdded, counterValue, fileStore, Lockstep } from "lockstep";

const [home, relay, command, ...words] = process.argv.slice(2);
const rules = JSON.parse(await readFile(new URL("todos.json", import.meta.url), "utf8"));
const lockstep = await Lockstep.open({ relay, rules, store: fileStore(home) });

/** Changes the to-dos of a title. */
async function change(title, make) {
  for (const { name, fields } of lockstep.records("Todos", "Todo")) {
    if (fields.title === title) await lockstep.update("Todos", name, make);
  }
}

/** The list as JSON, as the to-do apps of all languages print it. */
function json() {
  const rows = lockstep.records("Todos", "Todo").map(({ name, fields }) => ({
    done: fields.done ?? false,
    id: name,
    minutes: counterValue(fields.minutes),
    tags: [...fields.tags ?? []].sort(),
    title: fields.title,
  }));
  return JSON.stringify(rows.sort((left, right) => (left.id < right.id ? -1 : 1)));
}

const commands = {
  join: ([code, deviceName]) => lockstep.join(code, { deviceName }),
  add: ([title]) => lockstep.save("Todos", "Todo", { title, done: false }),
  done: ([title]) => change(title, (todo) => ({ ...todo, done: true })),
  count: ([title, minutes]) => change(title, (todo, { device }) =>
    ({ ...todo, minutes: counterAdded(todo.minutes, device, Number(minutes)) })),
  tag: ([title, tag]) => change(title, (todo) => ({ ...todo, tags: [...todo.tags ?? [], tag] })),
  untag: ([title, tag]) => change(title, (todo) =>
    ({ ...todo, tags: (todo.tags ?? []).filter((each) => each !== tag) })),
  rename: ([title, to]) => change(title, (todo) => ({ ...todo, title: to })),
  async delete([title]) {
    for (const { name, fields } of lockstep.records("Todos", "Todo")) {
      if (fields.title === title) await lockstep.delete("Todos", name);
    }
  },
  async wait([count]) {
    for await (const todos of lockstep.live("Todos", "Todo")) {
      if (todos.length === Number(count)) break;
    }
  },
  sync: async () => console.log((await lockstep.syncNow()).state),
  json: () => console.log(json()),
};
try {
  await commands[command](words);
} finally {
  await lockstep.close();
}
