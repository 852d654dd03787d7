import { limits } from "../../changes/limits.js";
import { button, field, form } from "../components/controls.js";
import { confirmed, opened } from "../components/dialog.js";
import { element, show } from "../components/element.js";
import { problemWords } from "../words/problem.js";

/** Opens a form for a habit's title and goal per day. `habit` is null for a new one. */
export function openHabitForm(habit, { save, remove }) {
  const title = element("input", { type: "text", value: habit?.title ?? "", autocomplete: "off",
    maxlength: limits.habitTitle });
  const times = element("input", { type: "number", min: 1, max: limits.habitCount, step: 1,
    inputmode: "numeric", value: habit?.kind === "count" ? habit.target : 1 });
  const problem = element("p", { class: "problem", role: "alert", hidden: true });
  const saved = async () => {
    const target = Number(times.value);
    // A counted habit stays counted, also with a goal of one.
    const kind = target === 1 && habit?.kind !== "count" ? "checkbox" : "count";
    try {
      await save({ title: title.value, kind, target });
      dialog.close();
    } catch (error) {
      problem.textContent = problemWords(error);
      show(problem, true);
    }
  };
  const removed = async () => {
    dialog.close();
    const words = "It goes from all of your devices. Its days come back if it does.";
    if (await confirmed({ title: `Delete “${habit.title}”?`, words, yes: "Delete" })) remove();
  };
  const dialog = opened(habit ? "Edit the habit" : "New habit", [
    form({ class: "stack" }, saved,
      field("What you want to do", title), field("Times a day", times), problem,
      element("div", { class: "actions" },
        habit && button("Delete", removed, { kind: "danger", class: "button danger apart" }),
        button("Cancel", () => dialog.close()),
        element("button", { type: "submit", class: "button primary" }, "Save"))),
  ]);
  dialog.addEventListener("close", () => dialog.remove());
  title.focus();
}
