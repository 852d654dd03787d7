import { t } from "../../language/language.js";

/**
 * Sounds for the end of a countdown, as notes for a synthesiser: no recordings, so nothing is
 * loaded. A note: `at`, its beginning in seconds; `hertz`; `level`, its share of the full volume;
 * `seconds`, its length, in which it fades away. At no moment do the levels add up to more than 1.
 */
const melodies = Object.freeze({
  bell: [...bell(0, 660), ...bell(0.7, 660)],
  chime: [523.25, 659.25, 783.99].flatMap((hertz, index) => chime(index * 0.35, hertz)),
  marimba: [392, 392, 587.33, 392, 392, 587.33].flatMap((hertz, index) =>
    marimba(index * 0.19 + (index < 3 ? 0 : 0.35), hertz)),
});

/** Names for a person, in the order in which they are offered. */
export const soundNames = Object.freeze({
  bell: () => t("Bell"), chime: () => t("Chime"), marimba: () => t("Marimba"),
  none: () => t("Silent"),
});

/** The partials of a bell are not harmonic, and the higher fade first. */
function bell(at, hertz) {
  return [[1, 0.26, 1.6], [2.01, 0.1, 1.1], [2.76, 0.06, 0.7], [5.4, 0.02, 0.3]]
    .map(([ratio, level, seconds]) => ({ at, hertz: hertz * ratio, level, seconds }));
}

function chime(at, hertz) {
  return [{ at, hertz, level: 0.24, seconds: 1.2 },
    { at, hertz: hertz * 3, level: 0.03, seconds: 0.5 }];
}

function marimba(at, hertz) {
  return [{ at, hertz, level: 0.4, seconds: 0.35 },
    { at, hertz: hertz * 4, level: 0.08, seconds: 0.12 }];
}

/**
 * Returns the notes of a sound with a gain from 0 to 1 each; none for silence.
 *
 * @param {number} volume percent; heard loudness grows with the square, so that the middle of the
 *   slider is half as loud to a person
 */
export function notesOf(sound, volume) {
  const full = (volume / 100) ** 2;
  const notes = Object.hasOwn(melodies, sound) ? melodies[sound] : [];
  return full === 0 ? [] : notes.map(({ level, ...note }) => ({ ...note, gain: level * full }));
}
