import { newID } from "../components/controls.js";
import { element, setText, show } from "../components/element.js";
import { t } from "../language/language.js";

/** Time that is offered first. */
const firstTime = "20:00";

const obstacleTexts = {
  insecure: () => t("This page came over plain http, and may not show notifications: it reminds "
    + "only in the page."),
  unsupported: () => t("This browser shows no notifications: it reminds only in the page."),
  blocked: () => t("This browser blocks notifications of this page: it reminds only in the page. "
    + "Allow them in its settings for this site."),
  leftOpen: () => t("The browser was not allowed to show notifications: it reminds only in the "
    + "page. Set the reminder again to be asked once more."),
};

/** Returns the text about notifications; empty if nothing stands in their way. */
export const obstacleText = (obstacle) => obstacleTexts[obstacle]?.() ?? "";

/** Card with the reminder of a habit in this browser. */
export class ReminderField {
  #reminders;
  #habit = null;
  #isOn = element("input", { type: "checkbox", on: { change: () => this.#set() } });
  #time = element("input", { type: "time", required: true,
    "aria-label": t("Time of the reminder"),
    on: { change: () => this.#set() } });
  #problem = element("p", { class: "muted small", role: "status" });
  node;

  /** @param {import("./habitReminders.js").HabitReminders} reminders */
  constructor(reminders) {
    this.#reminders = reminders;
    const id = newID("reminder");
    this.node = element("section", { class: "card stack-small", "aria-labelledby": id },
      element("h3", { id }, t("Reminder")),
      element("div", { class: "reminder" },
        element("label", { class: "check" }, this.#isOn, t("Remind me in this browser at")),
        this.#time),
      element("p", { class: "muted small" }, t("On a day on which it is not done yet, and only "
        + "while Lockstep is open here, also in the background. A closed page has no clock: what "
        + "wakes it are changes of your other devices. If Lockstep is opened later that day, it "
        + "reminds then.")),
      this.#problem);
  }

  show(habit) {
    const time = this.#reminders.time(habit);
    const isOther = habit !== this.#habit;
    this.#habit = habit;
    this.#isOn.checked = time !== null;
    // A time that is being typed stays.
    if (isOther || (time !== null && document.activeElement !== this.#time)) {
      this.#time.value = time ?? firstTime;
    }
    const text = time === null ? "" : obstacleText(this.#reminders.obstacle);
    setText(this.#problem, text);
    show(this.#problem, text !== "");
  }

  async #set() {
    const time = this.#isOn.checked && this.#time.value !== "" ? this.#time.value : null;
    await this.#reminders.set(this.#habit, time);
    this.show(this.#habit);
  }
}
