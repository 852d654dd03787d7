import Foundation
import LockstepCommandLine
import LockstepModel
import Testing

@testable import LockstepCommand

/// The version is written down once, in the program; documents that name it must agree.
struct VersionTests {
  private func text(_ path: String) throws -> String {
    let root = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL
    return try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  @Test func theChangelogBeginsWithIt() throws {
    let headings = try text("CHANGELOG.md").split(separator: "\n").filter { $0.hasPrefix("## [") }
    let released = headings.first { !$0.contains("Unreleased") }
    #expect(released?.hasPrefix("## [\(LockstepVersion.current)] ") == true, "\(headings)")
    #expect(released?.hasSuffix(" \(LockstepVersion.day)") == true, "\(headings)")
  }

  @Test func theFirstStartInstallsIt() throws {
    let page = try text("docs/relay/first-start.md")
    #expect(page.contains("lockstep-\(LockstepVersion.current)-linux-"))
  }
}
