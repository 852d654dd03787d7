import Foundation
import LockstepModel
import Testing

/// docs/protocol.md contains the table of all codes, generated from `RefusalCode`.
@Suite struct RefusalTableTests {
  @Test func protocolDocumentHasTheTableOfTheCode() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
    let document = try String(
      contentsOf: root.appending(path: "docs/protocol.md"), encoding: .utf8)
    let parts = document.split(separator: "<!-- refusal codes -->\n", maxSplits: 1)
    let table = try #require(
      parts.last?.split(separator: "<!-- end of refusal codes -->", maxSplits: 1).first)
    let isCurrent = table == Self.table
    #expect(
      isCurrent,
      "docs/protocol.md is behind the code; between its two marks must stand:\n\(Self.table)")
  }

  static var table: Substring {
    var lines = [
      "", "| code | status | close code | what it means | what a device does |",
      "| --- | --- | --- | --- | --- |",
    ]
    for code in RefusalCode.allCases {
      let close = code.closeCode.map(String.init) ?? ""
      lines.append(
        "| `\(code.rawValue)` | \(code.status) | \(close) | \(code.title) | \(code.advice.rawValue) |"
      )
    }
    return (lines.joined(separator: "\n") + "\n\n")[...]
  }
}
