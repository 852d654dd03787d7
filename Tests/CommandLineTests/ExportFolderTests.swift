import Foundation
import LockstepModel
import TemporaryFolders
import Testing

@testable import LockstepCommandLine

struct ExportFolderTests {
  private let home: TemporaryFolder
  private var path: String { home.path + "/out" }

  init() throws { home = try TemporaryFolder() }

  private let chunk = ChunkHash(text: String(repeating: "ab", count: 32))

  private func permissions(_ name: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: home.path + "/" + name)[.posixPermissions]
      as? Int
  }

  @Test func itHasItsNameOnceItIsWhole() throws {
    let chunk = try #require(chunk)
    let folder = try ExportFolder(path: path)
    try folder.create("records.jsonl").write(Array("{}\n".utf8))
    #expect(!folder.has(chunk))
    try folder.add(chunk, [1, 2, 3])
    #expect(folder.has(chunk))
    #expect(!home.has("out") && home.has("out.partial"))
    try folder.finish()
    #expect(home.has("out") && !home.has("out.partial"))
    let bytes = try Data(contentsOf: URL(filePath: path + "/chunks/" + chunk.text))
    #expect(Array(bytes) == [1, 2, 3])
  }

  @Test func onlyItsOwnerMayRead() throws {
    let chunk = try #require(chunk)
    let folder = try ExportFolder(path: path)
    try folder.create("records.jsonl").write([])
    try folder.add(chunk, [])
    try folder.finish()
    for name in ["out", "out/chunks"] { #expect(try permissions(name) == 0o700) }
    for name in ["out/records.jsonl", "out/chunks/" + chunk.text] {
      #expect(try permissions(name) == 0o600)
    }
  }

  @Test func anEmptyFolderIsTakenAndAnyOtherIsNot() throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    let folder = try ExportFolder(path: path + "//")
    #expect(folder.path.hasSuffix("/out"))
    try folder.create("x").write([])
    try folder.finish()
    #expect(
      failure(path) == "\(path) is not empty; name a folder that is empty or not there yet")
    #expect(!home.has("out.partial"))
    try home.write("", to: "file")
    #expect(failure(home.path + "/file") == "\(home.path)/file cannot be read: Not a directory")
    #expect(failure("") == "an export needs a folder's name")
    #expect(failure("/")?.contains("not empty") == true)
    #expect(failure(home.path + "/no/where")?.contains("No such file") == true)
  }

  @Test func whatFilledUpMeanwhileIsNotReplaced() throws {
    let folder = try ExportFolder(path: path)
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    try home.write("mine", to: "out/file")
    #expect(throws: CommandFailure.self) { try folder.finish() }
    #expect(home.has("out/file"))
    try folder.discard()
  }

  @Test func whatIsDiscardedIsGone() throws {
    let folder = try ExportFolder(path: path)
    try folder.create("records.jsonl").write([1])
    try folder.add(try #require(chunk), [1])
    try folder.discard()
    #expect(!home.has("out.partial") && !home.has("out"))
  }

  @Test func whatAnotherExportLeftIsNotTouched() throws {
    _ = try ExportFolder(path: path)
    #expect(failure(path)?.contains("out.partial is there already") == true)
    #expect(home.has("out.partial/chunks"))
  }

  @Test func whatIsWrittenCanBeReadAgain() throws {
    let folder = try ExportFolder(path: path)
    let file = try folder.create("spool")
    try file.write([1, 2])
    try file.write([])
    try file.write([3])
    let reading = try folder.open("spool")
    #expect(try reading.read(2) == [1, 2])
    #expect(try reading.read(2) == [3])
    #expect(try reading.read(2) == [])
    #expect(throws: CommandFailure.self, "it is not open for that") { try file.read(1) }
    try folder.remove("spool")
    try folder.discard()
  }

  private func failure(_ path: String) -> String? {
    do {
      _ = try ExportFolder(path: path)
      return nil
    } catch {
      return error.message
    }
  }
}
