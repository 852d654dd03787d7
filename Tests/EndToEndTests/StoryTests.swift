import Foundation
import Testing

/// The stories of `Stories/*.py`: the real program on loopback, with clients nobody here wrote.
@Suite struct StoryTests {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "Stories")

  /// Every file that is named so tells stories. The longest first, so that none runs alone in the
  /// end.
  private static var files: [String] {
    get throws {
      let keys: [URLResourceKey] = [.fileSizeKey]
      return try FileManager.default.contentsOfDirectory(
        at: folder, includingPropertiesForKeys: keys
      )
      .filter { $0.lastPathComponent.hasSuffix("_stories.py") }
      .map {
        (name: $0.lastPathComponent, size: try $0.resourceValues(forKeys: Set(keys)).fileSize ?? 0)
      }
      .sorted { ($0.size, $0.name) > ($1.size, $1.name) }.map(\.name)
    }
  }

  private static let places = Places(5)

  @Test(
    .timeLimit(.minutes(15)),
    arguments: try files)
  func storyHolds(_ file: String) async throws {
    await Self.places.take()
    let result: Result<(status: Int32, told: String), any Error>
    do { result = .success(try await tell(file)) } catch { result = .failure(error) }
    await Self.places.leave()
    let (status, told) = try result.get()
    #expect(status == 0, "\(file) says:\n\(told)")
    #expect(told.contains("ok    story_"), "\(file) told no story:\n\(told)")
  }

  /// The exit code of a file of stories, and what it printed.
  private func tell(_ file: String) async throws -> (status: Int32, told: String) {
    let script = StoryTests.folder.appending(path: file)
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/python3")
    process.arguments = [script.path]
    process.environment = ProcessInfo.processInfo.environment.merging(
      ["LOCKSTEP_BINARY": try binary(), "PYTHONDONTWRITEBYTECODE": "1"]) { $1 }
    let output = FileManager.default.temporaryDirectory
      .appending(path: "lockstep-\(file)-\(UUID().uuidString)")
    _ = FileManager.default.createFile(atPath: output.path, contents: nil)
    defer { try? FileManager.default.removeItem(at: output) }
    let writing = try FileHandle(forWritingTo: output)
    process.standardOutput = writing
    process.standardError = writing
    process.standardInput = FileHandle.nullDevice
    try await withCheckedThrowingContinuation { (ended: CheckedContinuation<Void, any Error>) in
      process.terminationHandler = { _ in ended.resume() }
      do { try process.run() } catch { ended.resume(throwing: error) }
    }
    return (
      process.terminationStatus, String(decoding: try Data(contentsOf: output), as: UTF8.self)
    )
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

/// So many files of stories at a time: they wait more than they work.
private actor Places {
  private var free: Int
  private var waiting: [CheckedContinuation<Void, Never>] = []

  init(_ count: Int) { free = count }

  func take() async {
    if free > 0 {
      free -= 1
    } else {
      await withCheckedContinuation { waiting.append($0) }
    }
  }

  func leave() {
    if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
  }
}
