import { penalty } from "./qrPenalty.js";

/** Centres of the alignment patterns, by version (ISO/IEC 18004, annex E). */
const alignments = [
  [], [6, 18], [6, 22], [6, 26], [6, 30], [6, 34], [6, 22, 38], [6, 24, 42], [6, 26, 46],
  [6, 28, 50],
];

/** Conditions of the masks, by row and column: true if the mask inverts the module (table 10). */
const masks = [
  (row, column) => (row + column) % 2 === 0,
  (row) => row % 2 === 0,
  (row, column) => column % 3 === 0,
  (row, column) => (row + column) % 3 === 0,
  (row, column) => (Math.floor(row / 2) + Math.floor(column / 3)) % 2 === 0,
  (row, column) => ((row * column) % 2) + ((row * column) % 3) === 0,
  (row, column) => (((row * column) % 2) + ((row * column) % 3)) % 2 === 0,
  (row, column) => (((row + column) % 2) + ((row * column) % 3)) % 2 === 0,
];

/** Draws the codewords with the mask of the lowest penalty, the first if there are several. */
export function bestMatrix(version, codewords) {
  const drawn = masks.map((_, mask) => matrix(version, codewords, mask));
  const penalties = drawn.map(penalty);
  return drawn[penalties.indexOf(Math.min(...penalties))];
}

function matrix(version, codewords, mask) {
  const size = 17 + 4 * version;
  // null: free for data.
  const rows = Array.from({ length: size }, () => new Array(size).fill(null));
  drawFinders(rows);
  drawAlignments(rows, alignments[version - 1]);
  drawTiming(rows);
  drawFormat(rows, mask);
  if (version >= 7) drawVersion(rows, version);
  drawData(rows, codewords, masks[mask]);
  return rows;
}

/** Draws the three large squares, each with its light frame. */
function drawFinders(rows) {
  const last = rows.length - 7;
  for (const [top, left] of [[0, 0], [0, last], [last, 0]]) {
    for (let row = -1; row <= 7; row += 1) {
      for (let column = -1; column <= 7; column += 1) {
        const ring = Math.max(Math.abs(row - 3), Math.abs(column - 3));
        put(rows, top + row, left + column, ring !== 2 && ring !== 4);
      }
    }
  }
}

function put(rows, row, column, isDark) {
  if (rows[row]?.[column] !== undefined) rows[row][column] = isDark;
}

function drawAlignments(rows, centres) {
  const last = centres.at(-1);
  for (const top of centres) {
    for (const left of centres) {
      const isFinder = (top === 6 && left === 6) || (top === 6 && left === last)
        || (top === last && left === 6);
      if (isFinder) continue;
      for (let row = -2; row <= 2; row += 1) {
        for (let column = -2; column <= 2; column += 1) {
          const ring = Math.max(Math.abs(row), Math.abs(column));
          rows[top + row][left + column] = ring !== 1;
        }
      }
    }
  }
}

function drawTiming(rows) {
  for (let place = 8; place < rows.length - 8; place += 1) {
    rows[6][place] = place % 2 === 0;
    rows[place][6] = place % 2 === 0;
  }
}

/** Returns `bits` followed by the remainder of their division by `divisor`, for error
 * correction. */
function withRest(bits, divisor, count) {
  let rest = bits << count;
  for (let place = 31 - Math.clz32(rest); place >= count; place = 31 - Math.clz32(rest)) {
    rest ^= divisor << (place - count);
  }
  return (bits << count) | rest;
}

/** Draws level M and the mask, twice. */
function drawFormat(rows, mask) {
  const size = rows.length;
  const bits = withRest(mask, 0x537, 10) ^ 0x5412;
  for (let place = 0; place < 15; place += 1) {
    const isDark = ((bits >> place) & 1) === 1;
    if (place < 6) rows[place][8] = isDark;
    else if (place < 8) rows[place + 1][8] = isDark;
    else if (place === 8) rows[8][7] = isDark;
    else rows[8][14 - place] = isDark;
    if (place < 8) rows[8][size - 1 - place] = isDark;
    else rows[size - 15 + place][8] = isDark;
  }
  rows[size - 8][8] = true;
}

function drawVersion(rows, version) {
  const bits = withRest(version, 0x1f25, 12);
  for (let place = 0; place < 18; place += 1) {
    const isDark = ((bits >> place) & 1) === 1;
    const [along, across] = [Math.floor(place / 3), rows.length - 11 + (place % 3)];
    rows[along][across] = isDark;
    rows[across][along] = isDark;
  }
}

/** Draws the data in columns of two from the right, alternating up and down; skips the timing
 * column. */
function drawData(rows, codewords, isTurned) {
  const size = rows.length;
  let bit = 0;
  let isUp = true;
  for (let right = size - 1; right > 0; right -= 2) {
    if (right === 6) right -= 1;
    for (let step = 0; step < size; step += 1) {
      const row = isUp ? size - 1 - step : step;
      for (const column of [right, right - 1]) {
        if (rows[row][column] !== null) continue;
        const isDark = ((codewords[bit >> 3] ?? 0) >> (7 - (bit & 7))) & 1;
        rows[row][column] = (isDark === 1) !== isTurned(row, column);
        bit += 1;
      }
    }
    isUp = !isUp;
  }
}
