import Foundation
import LockstepCommandLine
import LockstepJSON
import LockstepModel
import LockstepStorage
import LockstepStorageFiles
import LockstepStorageSQLite
import TemporaryFolders
import Testing

@testable import LockstepRelayService

/// Exports of an account while records are saved to it.
final class AccountExportTests {
  private let home: TemporaryFolder
  private let store: SQLiteZoneStore
  private let files: FileChunkStore
  private let client: AdminClient
  private let account: AccountID
  private let device = DeviceID(rawValue: 7)
  private var wall: Int64 = 1_700_000_000_000
  private var batches: UInt64 = 0

  /// SHA-256 of "abc" (FIPS 180-2, appendix B.1).
  private static let hash = ChunkHash(
    text: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")

  init() throws {
    home = try TemporaryFolder()
    store = try SQLiteZoneStore(directory: home.path + "/store", opening: 1)
    files = try FileChunkStore(directory: home.path + "/store/chunks")
    client = AdminClient(.folder(home.path + "/store"), store, files)
    account = try client.createAccount(label: "mum").account
    let description = DeviceDescription(deviceName: "A", platform: "p", appVersion: "1")
    // A device that joined without a person's code, because only its saves are needed.
    let pairing = NewPairing(codeHash: [9], expiresAt: wall + 1_000)
    let newcomer = NewDevice(id: device, description: description, tokenHash: [8])
    _ = try store.commit(
      [.issuePairing(account, pairing), .redeemPairing(codeHash: [9], device: newcomer)],
      wall: wall)
  }

  private func save(
    _ names: [String], _ fields: String? = #"{"v":1}"#, chunks: [ChunkHash] = []
  ) throws {
    batches += 1
    let mutations = names.map { name in
      Mutation(
        name: Name(trusted: name), type: Name(trusted: "t"), fields: fields.map { Array($0.utf8) },
        modifiedAt: 5, baseTag: nil, chunks: chunks)
    }
    let request = SaveRequest(
      id: BatchID(high: 0x4000, low: 1 << 63 | batches), zone: Name(trusted: "z"), atomic: true,
      mutations: mutations)
    let commit = SaveCommit(account: account, device: device, request: request, digest: [1])
    guard case .saved = try store.commit([.save(commit)], wall: wall)[0] else {
      Issue.record("\(names) were not saved")
      return
    }
  }

  private func addChunk() throws -> ChunkHash {
    let hash = try #require(Self.hash)
    let file = ChunkFile(account: account, number: 3)
    _ = try files.perform(.append(file, Array("abc".utf8)))
    #expect(try files.perform(.finish(file, expecting: hash)) == .done)
    #expect(
      try store.commit([.addChunk(account, hash, file, bytes: 3)], wall: wall)
        == [.chunkAdded])
    return hash
  }

  /// `meanwhile`: called before each page and chunk, with the number of the call.
  private func export(
    meanwhile: @escaping (Int) throws -> Void = { _ in }
  ) throws -> (outcome: AccountExport.Outcome, lines: [String: JSONValue]) {
    var calls = 0
    var fault: (any Error)?
    let export = AccountExport(
      account: try client.account(named: "mum"), client: client,
      folder: try ExportFolder(path: home.path + "/out"),
      progress: Progress(isShown: false) { _ in },
      isInterrupted: { () throws(CommandFailure) in
        calls += 1
        do { try meanwhile(calls) } catch { fault = error }
        return false
      })
    let outcome = try export.run()
    if let fault { throw fault }
    let text = try String(contentsOfFile: home.path + "/out/records.jsonl", encoding: .utf8)
    let records = try text.split(separator: "\n").map { try JSONValue(parsing: Array($0.utf8)) }
    #expect(records.count == outcome.records)
    let named = Dictionary(records.map { ($0["name"]?.string ?? "", $0) }) { $1 }
    #expect(named.count == records.count, "a record stands twice")
    return (outcome, named)
  }

  @Test func anAccountWithoutRecordsIsExportedToo() throws {
    let (outcome, lines) = try export()
    #expect(outcome.records == 0 && lines.isEmpty && home.has("out/devices.jsonl"))
    #expect(!home.has("out/records.partial"))
  }

  @Test func theRecordsAreThoseOfOneMoment() throws {
    for page in 0..<5 { try save((0..<400).map { "r\(page * 400 + $0)" }) }
    let (outcome, lines) = try export { [self] call in
      // One page of two has been read.
      guard call == 2 else { return }
      try save(["r3", "r1500"], #"{"v":2}"#)
      try save(["r4", "r1501"], nil)
      try save(["new"], #"{"v":3}"#)
      try save(["new"], #"{"v":4}"#)
      try save(["passing"])
      try save(["passing"], nil)
    }
    #expect(lines.count == 1_999)
    #expect(lines["r3"]?["fields"]?.text == #"{"v":2}"#)
    #expect(lines["r1500"]?["fields"]?.text == #"{"v":2}"#)
    #expect(lines["new"]?["fields"]?.text == #"{"v":4}"#)
    for name in ["r4", "r1501", "passing"] { #expect(lines[name] == nil) }
    guard case .token(let newest) = try store.read(.newestToken(account)) else { return }
    #expect(outcome.token == newest)
  }

  @Test func aRecordIsALineWhateverStandsInIt() throws {
    try save(["a"], "{\n\t\"v\"\r\n: \"x\\n\"\n}")
    let lines = try export().lines
    #expect(lines["a"]?["fields"]?["v"]?.string == "x\n")
  }

  @Test func aChunkIsThereOnceHoweverManyNameIt() throws {
    let hash = try addChunk()
    try save(["a", "b"], chunks: [hash])
    let outcome = try export().outcome
    #expect(outcome.chunks == 1 && outcome.chunkBytes == 3)
    let bytes = try Data(contentsOf: URL(filePath: home.path + "/out/chunks/" + hash.text))
    #expect(Array(bytes) == Array("abc".utf8))
  }

  @Test func aChunkThatGoesWithItsRecordIsNotMissed() throws {
    let hash = try addChunk()
    try save(["a"], chunks: [hash])
    try save(["b"])
    let (outcome, lines) = try export { [self] call in
      // The records have been read; the next call precedes the chunk.
      guard call == 3 else { return }
      try save(["a"], nil)
      wall += 2 * Limits.chunkLeaseMilliseconds
      _ = try store.commit([.collectChunks(atMost: 10)], wall: wall)
    }
    #expect(outcome.chunks == 0)
    #expect(lines.keys.sorted() == ["b"])
  }

  @Test func aChunkWithOtherBytesEndsTheExport() throws {
    let hash = try addChunk()
    try save(["a"], chunks: [hash])
    let folders = try FileManager.default.subpathsOfDirectory(atPath: home.path + "/store/chunks")
    let file = try #require(folders.first { $0.hasSuffix("0000000000000003") })
    try home.write("abd", to: "store/chunks/" + file)
    #expect(throws: CommandFailure.self) { try export() }
    #expect(!home.has("out"))
  }

  @Test func whoeverInterruptsItGetsNothing() throws {
    try save(["a"])
    let export = AccountExport(
      account: try client.account(named: "mum"), client: client,
      folder: try ExportFolder(path: home.path + "/out"),
      progress: Progress(isShown: false) { _ in }, isInterrupted: { true })
    #expect(throws: CommandFailure("the export was interrupted; nothing is left of it")) {
      try export.run()
    }
    #expect(!home.has("out"))
  }
}
