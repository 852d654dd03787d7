"""Reads a QR code that a terminal shows: ISO/IEC 18004, byte mode, level M, versions 1 to 10. It
corrects no errors, since a terminal makes none."""

import re

# By version: data codewords of each block (table 9), and centres of the alignment patterns
# (annex E).
BLOCKS = [[16], [28], [44], [32] * 2, [43] * 2, [27] * 4, [31] * 4, [38] * 2 + [39] * 2,
          [36] * 3 + [37] * 2, [43] * 4 + [44]]
CENTRES = [[], [6, 18], [6, 22], [6, 26], [6, 30], [6, 34], [6, 22, 38], [6, 24, 42], [6, 26, 46],
           [6, 28, 50]]
MASKS = [
    lambda row, column: (row + column) % 2, lambda row, column: row % 2,
    lambda row, column: column % 3, lambda row, column: (row + column) % 3,
    lambda row, column: (row // 2 + column // 3) % 2,
    lambda row, column: row * column % 2 + row * column % 3,
    lambda row, column: (row * column % 2 + row * column % 3) % 2,
    lambda row, column: ((row + column) % 2 + row * column % 3) % 2]
MARGIN = 4
LINE = re.compile("\x1b\\[38;5;16;48;5;231m([ █▀▄]+)\x1b\\[0m")


def modules(text):
    """The code's rows in a terminal's text, True for dark, without the light margin; None if there
    is no code."""
    rows = []
    for line in LINE.findall(text):
        rows += [[sign in "█▀" for sign in line], [sign in "█▄" for sign in line]]
    if not rows:
        return None
    size = len(rows[0]) - 2 * MARGIN
    inner = [row[MARGIN:-MARGIN] for row in rows[MARGIN:MARGIN + size]]
    dark = sum(map(sum, rows))
    assert dark == sum(map(sum, inner)), "the margin is light"
    return inner


def is_pattern(row, column, version):
    """True if the module has no data."""
    size = 17 + 4 * version
    if row == 6 or column == 6:
        return True
    if row <= 8 and (column <= 8 or column >= size - 8) or row >= size - 8 and column <= 8:
        return True
    centres = CENTRES[version - 1]
    corners = [(6, 6)] + [(6, each) for each in centres[-1:]] + [(each, 6) for each in centres[-1:]]
    if any(abs(row - top) <= 2 and abs(column - left) <= 2 for top in centres for left in centres
           if (top, left) not in corners):
        return True
    return version >= 7 and any(a < 6 and size - 11 <= b < size - 8
                                for a, b in ((row, column), (column, row)))


def text_of(rows):
    """The text in a code."""
    size = len(rows)
    version = (size - 17) // 4
    bits = [rows[8][column] for column in (0, 1, 2, 3, 4, 5, 7, 8)]
    form = sum(bit << 14 - place for place, bit in enumerate(bits)) ^ 0x5412
    assert form >> 13 == 0, "the code has level M"
    mask = MASKS[form >> 10 & 7]
    found, columns, is_up = [], [*range(size - 1, 6, -2), 5, 3, 1], True
    for right in columns:
        for row in range(size - 1, -1, -1) if is_up else range(size):
            found += [rows[row][column] != (mask(row, column) == 0) for column in (right, right - 1)
                      if not is_pattern(row, column, version)]
        is_up = not is_up
    words = [sum(bit << 7 - place for place, bit in enumerate(found[start:start + 8]))
             for start in range(0, len(found) - 7, 8)]
    blocks = [[] for _ in BLOCKS[version - 1]]
    next_word = iter(words)
    for place in range(max(BLOCKS[version - 1])):
        for block, count in zip(blocks, BLOCKS[version - 1]):
            if place < count:
                block.append(next(next_word))
    digits = "".join(f"{word:08b}" for block in blocks for word in block)
    length_bits = 8 if version < 10 else 16
    assert digits[:4] == "0100", "byte mode"
    start = 4 + length_bits
    count = int(digits[4:start], 2)
    return bytes(int(digits[at:at + 8], 2)
                 for at in range(start, start + 8 * count, 8)).decode()
