/** Pattern that a reader may mistake for a finder if four light modules are next to it. */
const finderLike = [true, false, true, true, true, false, true];

/** Returns the penalty of a matrix (ISO/IEC 18004, 7.8.3): the mask with the lowest is drawn. */
export function penalty(rows) {
  const columns = rows.map((_, place) => rows.map((row) => row[place]));
  const lines = [...rows, ...columns];
  const ofLines = lines.reduce((sum, line) => sum + ofRuns(line) + ofFinders(line), 0);
  return ofLines + ofBlocks(rows) + ofBalance(rows);
}

/** Five modules of one colour in a row cost 3, each further one costs 1. */
function ofRuns(line) {
  let sum = 0;
  for (let start = 0, end; start < line.length; start = end) {
    end = start + 1;
    while (end < line.length && line[end] === line[start]) end += 1;
    if (end - start >= 5) sum += end - start - 2;
  }
  return sum;
}

/** Modules beyond the edge count as light. */
function ofFinders(line) {
  const isLight = (from, to) => !line.slice(Math.max(0, from), to).includes(true);
  let sum = 0;
  for (let start = 0; start + 7 <= line.length; start += 1) {
    const isLike = finderLike.every((isDark, place) => line[start + place] === isDark);
    if (isLike && (isLight(start - 4, start) || isLight(start + 7, start + 11))) sum += 40;
  }
  return sum;
}

/** Each square of two by two modules of one colour costs 3. */
function ofBlocks(rows) {
  let sum = 0;
  for (let row = 1; row < rows.length; row += 1) {
    for (let column = 1; column < rows.length; column += 1) {
      const corner = rows[row][column];
      const isBlock = rows[row - 1][column] === corner && rows[row][column - 1] === corner
        && rows[row - 1][column - 1] === corner;
      if (isBlock) sum += 3;
    }
  }
  return sum;
}

/** Each full 5 % by which the share of dark modules differs from a half costs 10. */
function ofBalance(rows) {
  const dark = rows.flat().filter((isDark) => isDark).length;
  const part = (100 * dark) / (rows.length * rows.length);
  return 10 * Math.floor(Math.abs(part - 50) / 5);
}
