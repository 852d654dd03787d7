/** What looks like a finder to a reader, where four light modules stand beside it. */
const finderLike = [true, false, true, true, true, false, true];

/** How hard a matrix is to read (ISO/IEC 18004, 7.8.3): the mask with the least is drawn. */
export function penalty(rows) {
  const columns = rows.map((_, place) => rows.map((row) => row[place]));
  const lines = [...rows, ...columns];
  const ofLines = lines.reduce((sum, line) => sum + ofRuns(line) + ofFinders(line), 0);
  return ofLines + ofBlocks(rows) + ofBalance(rows);
}

/** Five of one colour in a row cost 3, each more 1. */
function ofRuns(line) {
  let sum = 0;
  for (let start = 0, end; start < line.length; start = end) {
    end = start + 1;
    while (end < line.length && line[end] === line[start]) end += 1;
    if (end - start >= 5) sum += end - start - 2;
  }
  return sum;
}

/** Beyond the edge all is light. */
function ofFinders(line) {
  const isLight = (from, to) => !line.slice(Math.max(0, from), to).includes(true);
  let sum = 0;
  for (let start = 0; start + 7 <= line.length; start += 1) {
    const isLike = finderLike.every((isDark, place) => line[start + place] === isDark);
    if (isLike && (isLight(start - 4, start) || isLight(start + 7, start + 11))) sum += 40;
  }
  return sum;
}

/** Each square of two by two of one colour costs 3. */
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

/** Each full 5 % that dark modules are away from a half cost 10. */
function ofBalance(rows) {
  const dark = rows.flat().filter((isDark) => isDark).length;
  const part = (100 * dark) / (rows.length * rows.length);
  return 10 * Math.floor(Math.abs(part - 50) / 5);
}
