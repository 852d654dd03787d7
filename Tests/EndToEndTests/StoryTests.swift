import Foundation
import Testing

/// The stories of `Stories/*.py`: the real program on loopback, with clients nobody here wrote.
@Suite struct StoryTests {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "Stories")

  /// Every file that is named so tells stories.
  private static var files: [String] {
    get throws {
      try FileManager.default.contentsOfDirectory(atPath: folder.path)
        .filter { $0.hasSuffix("_stories.py") }.sorted()
    }
  }

  @Test(
    .timeLimit(.minutes(10)),
    arguments: try files)
  func storyHolds(_ file: String) throws {
    let script = StoryTests.folder.appending(path: file)
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/python3")
    process.arguments = [script.path]
    process.environment = ProcessInfo.processInfo.environment.merging(
      ["LOCKSTEP_BINARY": try binary(), "PYTHONDONTWRITEBYTECODE": "1"]) { $1 }
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let told = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(file) says:\n\(told)")
    #expect(told.contains("ok    story_"), "\(file) told no story:\n\(told)")
  }

  /// The program that was built along with these tests.
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
    // The runner may be the toolchain's own; the test bundle then stands among its arguments.
    let bundle = try #require(CommandLine.arguments.first { $0.contains(".xctest") })
    return URL(filePath: bundle).deletingLastPathComponent().appending(path: "lockstep").path
  }
}
