import Foundation
import Testing

/// The stories of `Stories/*.py`: the real program on loopback, with clients nobody here wrote.
@Suite struct StoryTests {
  @Test(
    .timeLimit(.minutes(10)),
    arguments: [
      "curl_stories", "socket_stories", "command_stories", "trouble_stories", "crash_stories",
      "bad_input_stories", "gone_stories", "account_stories", "device_stories", "wire_stories",
      "chunk_stories", "wake_stories", "events_stories", "switching_stories", "zone_stories",
      "history_stories", "data_stories", "call_stories", "refusal_stories", "limit_stories",
      "subscription_stories", "piece_stories", "away_stories", "patience_stories",
      "app_stories", "conflict_stories", "vault_key_stories", "screen_stories", "vault_stories",
      "person_stories", "tls_stories", "owner_stories",
      "raw_http_stories",
    ])
  func storyHolds(_ file: String) throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
    let script = folder.appending(path: "Stories/\(file).py")
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
    #expect(process.terminationStatus == 0, "\(file).py says:\n\(told)")
    #expect(told.contains("ok    story_"), "\(file).py told no story:\n\(told)")
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
