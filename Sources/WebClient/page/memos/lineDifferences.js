/** Lines of two texts that are compared one by one; if more differ, all count as changed. */
const comparedLinesMax = 400;

/**
 * Compares two texts line by line.
 *
 * @returns {{left: {text: string, isChanged: boolean}[],
 *   right: {text: string, isChanged: boolean}[]}} the lines of both, and if the other text has them
 */
export function lineDifferences(left, right) {
  const [lefts, rights] = [left, right].map((text) => text.split(/\r\n|\r|\n/));
  let begin = 0;
  while (begin < Math.min(lefts.length, rights.length) && lefts[begin] === rights[begin]) {
    begin += 1;
  }
  let same = 0;
  while (same < Math.min(lefts.length, rights.length) - begin
    && lefts.at(-1 - same) === rights.at(-1 - same)) same += 1;
  const [inLeft, inRight] = commonLines(
    lefts.slice(begin, lefts.length - same), rights.slice(begin, rights.length - same));
  const marked = (lines, common) => lines.map((text, index) => ({
    text, isChanged: index >= begin && index < lines.length - same && !common.has(index - begin),
  }));
  return { left: marked(lefts, inLeft), right: marked(rights, inRight) };
}

/** Returns the indices, in both, of the lines of a longest common subsequence. */
function commonLines(lefts, rights) {
  const [inLeft, inRight] = [new Set(), new Set()];
  if (Math.max(lefts.length, rights.length) > comparedLinesMax) return [inLeft, inRight];
  const width = rights.length + 1;
  // Length of the longest common subsequence of the rests from both places.
  const lengths = new Uint16Array((lefts.length + 1) * width);
  for (let row = lefts.length - 1; row >= 0; row -= 1) {
    for (let column = rights.length - 1; column >= 0; column -= 1) {
      lengths[row * width + column] = lefts[row] === rights[column]
        ? lengths[(row + 1) * width + column + 1] + 1
        : Math.max(lengths[(row + 1) * width + column], lengths[row * width + column + 1]);
    }
  }
  for (let [row, column] = [0, 0]; row < lefts.length && column < rights.length;) {
    if (lefts[row] === rights[column]) {
      inLeft.add(row);
      inRight.add(column);
      row += 1;
      column += 1;
    } else if (lengths[(row + 1) * width + column] >= lengths[row * width + column + 1]) {
      row += 1;
    } else {
      column += 1;
    }
  }
  return [inLeft, inRight];
}
