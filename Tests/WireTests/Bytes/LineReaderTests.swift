import LockstepWire
import Testing

struct LineReaderTests {
  private func lines(_ text: String, chunks: Int, max: Int = 5) -> [LineReader.Line] {
    var reader = LineReader(bytesMax: max)
    var lines: [LineReader.Line] = []
    let bytes = Array(text.utf8)
    for start in stride(from: 0, to: bytes.count, by: chunks) {
      reader.receive(bytes[start..<min(start + chunks, bytes.count)])
      while let line = reader.next() { lines.append(line) }
    }
    if let line = reader.rest() { lines.append(line) }
    return lines
  }

  private func text(_ text: String) -> LineReader.Line { .text(Array(text.utf8)) }

  @Test func linesAreTheSameInWhateverChunksTheyCome() {
    for chunks in 1...12 {
      #expect(lines("", chunks: chunks) == [])
      #expect(lines("ab\n\ncd", chunks: chunks) == [text("ab"), text(""), text("cd")])
      #expect(lines("\n\n", chunks: chunks) == [text(""), text("")])
    }
  }

  @Test func longLinesArePassedOverAndCounted() {
    for chunks in 1...12 {
      #expect(
        lines("abcdefgh\nab\nabcde\nabcdef", chunks: chunks)
          == [.tooLong, text("ab"), text("abcde"), .tooLong], "\(chunks)")
    }
  }
}
