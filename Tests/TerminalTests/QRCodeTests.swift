import Foundation
import LockstepJSON
import Testing

@testable import LockstepTerminal

struct QRCodeTests {
  /// The page's encoder has the same vectors, made with another one.
  @Test func aCodeIsWhatAnotherEncoderDraws() throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
    let data = try Data(contentsOf: folder.appending(path: "../WebClientTests/page/qrVectors.json"))
    let vectors = try #require(try JSONValue(parsing: [UInt8](data)).array)
    #expect(vectors.count >= 8)
    for vector in vectors {
      let text = try #require(vector["text"]?.string)
      let code = try #require(QRCode(text))
      #expect(code.rows.count == Int(try #require(vector["size"]?.int64)), "\(text)")
      #expect(packed(code.rows) == vector["modules"]?.string, "\(text)")
    }
  }

  /// ISO/IEC 18004, annex I: "01234567" in numeric mode, version 1, level M.
  @Test func theExampleOfTheStandardIsCorrected() {
    let filler: [UInt8] = [0xEC, 0x11, 0xEC, 0x11, 0xEC, 0x11, 0xEC, 0x11, 0xEC, 0x11]
    let data: [UInt8] = [0x10, 0x20, 0x0C, 0x56, 0x61, 0x80] + filler
    #expect(
      ReedSolomon(10).correction(of: data)
        == [0xA5, 0x24, 0xD4, 0xC1, 0xED, 0x36, 0xC7, 0x87, 0x2C, 0x55])
  }

  @Test func aCodeGrowsWithItsTextUpToItsLimit() {
    let sizes = [14, 15, 26, 27, 42, 43, 180, 181, 213].map { count in
      QRCode(String(repeating: "x", count: count))?.rows.count
    }
    #expect(sizes == [21, 25, 25, 29, 29, 33, 53, 57, 57])
    #expect(QRCode.bytesMost == 213)
    #expect(QRCode(String(repeating: "x", count: 214)) == nil)
    #expect(QRCode(String(repeating: "ü", count: 107)) == nil)
  }

  @Test func theLinesOfATerminalShowEachModuleAndAMargin() throws {
    let code = try #require(QRCode("lockstep"))
    let lines = code.lines
    #expect(lines.count == (code.rows.count + 8 + 1) / 2)
    let shown = lines.map { line in
      line.replacing("\u{1B}[38;5;16;48;5;231m", with: "").replacing("\u{1B}[0m", with: "")
    }
    #expect(shown.allSatisfy { $0.count == code.columns })
    #expect(shown.prefix(2).allSatisfy { $0.allSatisfy { $0 == " " } }, "the margin")
    // The first two rows of the code: a finder at each side.
    #expect(shown[2].hasPrefix("    █▀▀▀▀▀█ ") && shown[2].hasSuffix(" █▀▀▀▀▀█    "))
  }

  /// Returns the modules in the format of the vectors: one hexadecimal number, row by row.
  private func packed(_ rows: [[Bool]]) -> String {
    var bits = Array(rows.joined())
    while !bits.count.isMultiple(of: 4) { bits.append(false) }
    return stride(from: 0, to: bits.count, by: 4).map { start in
      String(bits[start..<start + 4].reduce(0) { $0 * 2 + ($1 ? 1 : 0) }, radix: 16)
    }.joined()
  }
}
