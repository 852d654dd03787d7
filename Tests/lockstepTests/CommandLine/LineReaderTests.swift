import LockstepCommand
import Testing

struct LineReaderTests {
  private func lines(_ text: String, pieces: Int, max: Int = 5) -> [LineReader.Line] {
    var reader = LineReader(bytesMax: max)
    var lines: [LineReader.Line] = []
    let bytes = Array(text.utf8)
    for start in stride(from: 0, to: bytes.count, by: pieces) {
      reader.receive(bytes[start..<min(start + pieces, bytes.count)])
      while let line = reader.next() { lines.append(line) }
    }
    if let line = reader.rest() { lines.append(line) }
    return lines
  }

  private func text(_ text: String) -> LineReader.Line { .text(Array(text.utf8)) }

  @Test func linesAreTheSameInWhateverPiecesTheyCome() {
    for pieces in 1...12 {
      #expect(lines("", pieces: pieces) == [])
      #expect(lines("ab\n\ncd", pieces: pieces) == [text("ab"), text(""), text("cd")])
      #expect(lines("\n\n", pieces: pieces) == [text(""), text("")])
    }
  }

  @Test func longLinesArePassedOverAndCounted() {
    for pieces in 1...12 {
      #expect(
        lines("abcdefgh\nab\nabcde\nabcdef", pieces: pieces)
          == [.tooLong, text("ab"), text("abcde"), .tooLong], "\(pieces)")
    }
  }
}
