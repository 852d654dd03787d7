import { isNumber, member, numberText, text } from "../../json/jsonValue.js";
import { EditRefusal } from "../edit.js";

/** Sounds for the end of a countdown; `none` is silence. */
export const timerSounds = Object.freeze(["bell", "chime", "marimba", "none"]);

const volumes = Object.freeze({ least: 0, greatest: 100 });

/**
 * Sound at the end of a countdown: fields `sound` and `volume` (percent) of the record `settings`.
 * A missing field, or a value that this version does not know, has its default. Versions that do
 * not know the fields keep them.
 */
export class TimerSound {
  sound = "bell";
  volume = 60;

  constructor(fields) {
    const sound = text(fields, "sound");
    const volume = volumeOf(member(fields, "volume"));
    if (timerSounds.includes(sound)) this.sound = sound;
    if (volume !== undefined) this.volume = volume;
  }
}

/** Returns a volume in percent; undefined if the value is none. */
function volumeOf(value) {
  if (!isNumber(value)) return undefined;
  const volume = Number(typeof value === "number" ? value : numberText(value));
  return volume >= volumes.least && volume <= volumes.greatest ? volume : undefined;
}

/** Checks the changes that a person requests, and returns them as fields.
 * @throws {EditRefusal} */
export function soundChanges({ sound, volume }) {
  if (sound !== undefined && !timerSounds.includes(sound)) {
    throw new EditRefusal(`there is no sound “${sound}”; there are ${timerSounds.join(", ")}`);
  }
  if (volume !== undefined && volumeOf(volume) === undefined) {
    throw new EditRefusal(`a volume is a number from ${volumes.least} to ${volumes.greatest}`);
  }
  if (sound === undefined && volume === undefined) throw new EditRefusal("say what is to change");
  return { ...sound !== undefined && { sound }, ...volume !== undefined && { volume } };
}
