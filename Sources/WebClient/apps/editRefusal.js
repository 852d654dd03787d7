/** Error of an app for an action that is not valid in the present state; nothing is changed. */
export class EditRefusal extends Error {
  name = "EditRefusal";

  /** @param {string} reason one sentence for the person, with the next step */
  constructor(reason) {
    super(reason);
  }
}
