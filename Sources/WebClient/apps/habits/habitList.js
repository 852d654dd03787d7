import { integer, member, members } from "../../json/jsonValue.js";
import { MergeRules } from "../../model/mergeRules.js";
import { wholeNumber } from "../../model/mergeParts.js";
import { isName } from "../../model/name.js";

/** Name of the record with the order of the habits. */
export const listName = "list";

/** The newest place of each habit, and for each habit the newest archiving or unarchiving. */
export const listRules = MergeRules.of({ fields: { places: "map", archived: "set" } });

/** Distance between neighbours that are numbered anew: room for twenty moves to one spot. */
const step = 1n << 20n;
/** Greatest magnitude of a place, exact in every JSON number. */
const placeLimit = 1n << 50n;

/**
 * Order of the habits, and the archived ones: one record of the zone. It is merged by a table of
 * rules, so that arranging habits never makes a conflict of a habit, which a person would have to
 * decide.
 *
 *     {"places": {habit: number}, "archived": [habit]}
 */
export class HabitList {
  #places;
  #archived;

  constructor(fields) {
    this.#places = new Map(members(member(fields, "places")));
    this.#archived = new Set(archivedNames(fields));
  }

  /** Undefined for a habit that nobody has moved yet: it comes after the others, by its title.
   * @returns {bigint | undefined} */
  place(habit) {
    const place = wholeNumber(this.#places.get(habit));
    return place !== undefined && place >= -placeLimit && place <= placeLimit ? place : undefined;
  }

  isArchived(habit) { return this.#archived.has(habit); }
}

export function archivedNames(fields) {
  const names = member(fields, "archived");
  return Array.isArray(names) ? names.filter(isName) : [];
}

/**
 * Returns the places that change if a habit moves. Usually that is one, so that moves on two
 * devices at once all count; where there is no room between the neighbours, all are numbered.
 *
 * @param {object} habit
 * @param {number} index its new index, at most the number of the others
 * @param {object[]} others the habits in their order, without the one that moves
 */
export function placesAfterMove(habit, index, others) {
  const place = placeBetween(others[index - 1], others[index]);
  if (place !== undefined) return { [habit.name]: integer(place) };
  const order = [...others.slice(0, index), habit, ...others.slice(index)];
  return Object.fromEntries(
    order.map(({ name }, at) => [name, integer(BigInt(at + 1) * step)]));
}

/** Returns undefined if there is none, or if a neighbour in front has none. */
function placeBetween(previous, next) {
  const [start, end] = [previous?.place, next?.place];
  if (!previous) {
    return end !== undefined && end - step >= -placeLimit ? end - step : undefined;
  }
  if (start === undefined) return undefined;
  if (end === undefined) return start + step <= placeLimit ? start + step : undefined;
  const middle = start + (end - start) / 2n;
  return middle > start && middle < end ? middle : undefined;
}
