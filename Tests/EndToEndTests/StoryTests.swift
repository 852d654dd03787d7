import Foundation
import Testing

/// End-to-end tests of `Stories/*.py`: the real program on loopback, with third-party clients.
/// `scripts/test` runs them separately, beside the other tests.
@Suite struct StoryTests {
  @Test(.timeLimit(.minutes(30)))
  func storiesHold() async throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let process = Process()
    process.executableURL = root.appending(path: "scripts/stories")
    process.arguments = ["--binary", try binary()]
    process.standardInput = FileHandle.nullDevice
    try await withCheckedThrowingContinuation { (ended: CheckedContinuation<Void, any Error>) in
      process.terminationHandler = { _ in ended.resume() }
      do { try process.run() } catch { ended.resume(throwing: error) }
    }
    #expect(process.terminationStatus == 0, "a story failed; see above")
  }

  /// Returns the path of the program that was built along with these tests.
  private func binary() throws -> String {
    if let named = ProcessInfo.processInfo.environment["LOCKSTEP_BINARY"] { return named }
    let program = URL(
      filePath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
    var folder = program.deletingLastPathComponent()
    for _ in 0..<4 {
      let candidate = folder.appending(path: "lockstep")
      var isFolder: ObjCBool = false
      if FileManager.default.fileExists(atPath: candidate.path, isDirectory: &isFolder),
        !isFolder.boolValue
      {
        return candidate.path
      }
      folder = folder.deletingLastPathComponent()
    }
    // The runner may be the toolchain's own; the test bundle is then one of its arguments.
    let bundle = try #require(CommandLine.arguments.first { $0.contains(".xctest") })
    return URL(filePath: bundle).deletingLastPathComponent().appending(path: "lockstep").path
  }
}
