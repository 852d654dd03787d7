import LockstepCrypto
import LockstepJSON
import LockstepModel
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepRelay

struct OfflineAdminTests {
  private let store = MemoryZoneStore()
  private let files = MemoryChunkStore()

  private func ask(
    _ method: String, _ path: String..., body: String = "", wall: Int64 = 1_000
  ) throws -> (status: Int, json: JSONValue) {
    let response = try OfflineAdmin(
      secrets: SecretSource { Array(repeating: 0x5A, count: $0) }
    ).answer(
      method, RequestTarget(path: ["v1", "admin"] + path), body: Array(body.utf8), on: store,
      files, wall: wall)
    let json = response.body.isEmpty ? JSONValue.null : try JSONValue(parsing: response.body)
    return (response.status, json)
  }

  @Test func anAccountIsMadeAsByARelay() throws {
    let made = try ask("POST", "accounts", body: #"{"label":"home"}"#)
    #expect(made.status == 201)
    #expect(made.json["expiresAt"]?.int64 == 1_000 + Limits.pairingMilliseconds)
    let account = try #require(made.json["accountID"]?.string)
    let devices = try ask("GET", "accounts", account, "devices")
    #expect(devices.status == 200 && devices.json["devices"]?.array == [])
    // The same secret is already taken for as long as the first code is valid.
    let path = ["accounts", account, "pairings"]
    #expect(try ask("POST", path[0], path[1], path[2]).status == 500)
    let paired = try ask("POST", path[0], path[1], path[2], wall: 1_000_000)
    #expect(paired.status == 201 && paired.json["accountID"]?.string == account)
  }

  @Test func whatIsWrongIsToldAsByARelay() throws {
    #expect(try ask("POST", "accounts", body: "[").json["code"]?.string == "badJSON")
    #expect(try ask("GET", "accounts", "0000000000000001", "devices").status == 404)
    #expect(try ask("PATCH", "accounts").status == 405)
    #expect(try ask("GET", "elsewhere").status == 404)
  }

  @Test func whatIsNotTheOwnersIsNotThere() throws {
    let response = try OfflineAdmin(secrets: SecretSource { Array(repeating: 1, count: $0) })
      .answer(
        "GET", RequestTarget(path: ["v1", "time"]), body: [], on: store, files,
        wall: 1_000)
    #expect(response.status == 404)
  }

  @Test func aChunkIsReadFromTheFilesAndGoesWithTheAccount() throws {
    let made = try ask("POST", "accounts", body: #"{"label":"home"}"#)
    let account = try #require(made.json["accountID"]?.string.flatMap(AccountID.init(text:)))
    let bytes = (0..<Limits.chunkPortionBytes + 7).map { UInt8(truncatingIfNeeded: $0 / 3) }
    let hash = try #require(ChunkHash(bytes: SHA256.hash(bytes)))
    let file = ChunkFile(account: account, number: 1)
    for chunk in [
      bytes.prefix(Limits.chunkPortionBytes), bytes.dropFirst(Limits.chunkPortionBytes),
    ] {
      #expect(try files.perform(.append(file, Array(chunk))) == .done)
    }
    #expect(try files.perform(.finish(file, expecting: hash)) == .done)
    #expect(
      try store.commit([.addChunk(account, hash, file, bytes: bytes.count)], wall: 1_000)
        == [.chunkAdded])
    let desk = OfflineAdmin(secrets: SecretSource { Array(repeating: 1, count: $0) })
    func chunk(_ hash: ChunkHash) throws -> OfflineAdmin.Response {
      let path = ["v1", "admin", "accounts", account.text, "chunks", hash.text]
      return try desk.answer(
        "GET", RequestTarget(path: path), body: [], on: store, files, wall: 1_000)
    }
    #expect(try chunk(hash).body == bytes)
    #expect(try chunk(try #require(ChunkHash(bytes: SHA256.hash([])))).status == 404)
    #expect(try ask("DELETE", "accounts", account.text).status == 204)
    #expect(files.files.isEmpty)
    #expect(try chunk(hash).status == 404)
  }

  @Test func whatTheStoreFailsWithIsThrown() {
    #expect(throws: StorageError.self) {
      _ = try OfflineAdmin(secrets: SecretSource { Array(repeating: 1, count: $0) }).answer(
        "GET", RequestTarget(path: ["v1", "admin", "accounts"]), body: [], on: BrokenStore(),
        files, wall: 1_000)
    }
  }
}

private final class BrokenStore: ZoneStore {
  private static let fault = StorageError.diskFull(path: "store")

  func commit(
    _ requests: [CommitRequest], wall: Int64
  ) throws(StorageError) -> [CommitResult] { throw BrokenStore.fault }

  func read(_ request: ReadRequest) throws(StorageError) -> ReadResult { throw BrokenStore.fault }
}
