/** Failure of the store. `code`: `full` (no room), `deposed` (another tab leads now), `newer` (a
 * later version of the page has written here), `refused` (the browser gives pages none), `closed`,
 * `failed` (anything else). */
export class StoreError extends Error {
  constructor(code, message) {
    super(message);
    this.name = "StoreError";
    this.code = code;
  }
}
