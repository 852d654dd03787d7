import Foundation
import Testing

/// Folder that is removed at the end of the test that made it.
package final class TemporaryFolder {
  package let path: String

  package init() throws {
    var template = Array((NSTemporaryDirectory() + "/lockstep-XXXXXX").utf8CString)
    let made = mkdtemp(&template) != nil
    try #require(made)
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit {
    do {
      try FileManager.default.removeItem(atPath: path)
    } catch {
      Issue.record("\(path) cannot be removed: \(error)")
    }
  }

  package func path(_ name: String) -> String { path + "/" + name }

  package func bytes(_ name: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(fileURLWithPath: path(name))))
  }

  package func write(_ bytes: [UInt8], to name: String) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: path(name)))
  }

  /// Returns the paths of all entries, including folders, in order.
  package func contents() throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: path).sorted()
  }

  /// Returns the permissions of a file, in octal as `stat` shows them.
  package func rights(_ name: String) throws -> Int {
    let attributes = try FileManager.default.attributesOfItem(atPath: path(name))
    return try #require(attributes[.posixPermissions] as? Int)
  }

  /// Returns a copy of the files as they are now, in a new folder: the state after a crash.
  package func crashed() throws -> TemporaryFolder {
    let copy = try TemporaryFolder()
    for name in try FileManager.default.contentsOfDirectory(atPath: path)
    where !name.hasSuffix("-shm") && name != "lock" {
      try copy.write(bytes(name), to: name)
    }
    return copy
  }

  /// Replaces all files by those of another folder.
  package func replaceContent(by other: TemporaryFolder) throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: path) {
      try FileManager.default.removeItem(atPath: self.path(name))
    }
    for name in try FileManager.default.contentsOfDirectory(atPath: other.path) {
      try write(other.bytes(name), to: name)
    }
  }

  /// Makes a subfolder whose name alone is too long for a socket's path.
  package func longFolder() throws -> String {
    let long = path + "/" + String(repeating: "x", count: 150)
    try FileManager.default.createDirectory(atPath: long, withIntermediateDirectories: true)
    return long
  }

  package func has(_ name: String) -> Bool {
    FileManager.default.fileExists(atPath: path + "/" + name)
  }

  package func write(_ text: String, to name: String) throws {
    try text.write(toFile: path + "/" + name, atomically: false, encoding: .utf8)
  }
}
