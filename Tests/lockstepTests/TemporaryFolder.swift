import Foundation
import Testing

/// A folder that is gone with the test that made it.
final class TemporaryFolder {
  let path: String

  init() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "lockstep-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    path = folder.path
  }

  deinit {
    do {
      try FileManager.default.removeItem(atPath: path)
    } catch {
      Issue.record("\(path) cannot be removed: \(error)")
    }
  }

  /// A folder in it whose name alone is longer than a socket's path may be.
  func longFolder() throws -> String {
    let long = path + "/" + String(repeating: "x", count: 150)
    try FileManager.default.createDirectory(atPath: long, withIntermediateDirectories: true)
    return long
  }

  func has(_ name: String) -> Bool { FileManager.default.fileExists(atPath: path + "/" + name) }

  func write(_ text: String, to name: String) throws {
    try text.write(toFile: path + "/" + name, atomically: false, encoding: .utf8)
  }
}
