/** An app says that an action makes no sense now; nothing is changed. */
export class EditRefusal extends Error {
  name = "EditRefusal";

  /** @param {string} reason one sentence for the person, with the next step */
  constructor(reason) {
    super(reason);
  }
}
