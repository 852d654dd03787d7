import LockstepCrypto
import LockstepModel
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepRelay

/// A chunk of a file, as tests send it.
struct Chunk {
  let bytes: [UInt8]
  let hash: ChunkHash

  init(_ bytes: [UInt8]) throws {
    self.bytes = bytes
    hash = try #require(ChunkHash(bytes: SHA256.hash(bytes)))
  }

  init(_ text: String) throws { try self.init(Array(text.utf8)) }

  /// Creates a chunk of `count` bytes, different for each seed.
  init(count: Int, seed: UInt64 = 0) throws {
    var random = SeededRandom(seed: seed)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + 8)
    while bytes.count < count {
      let word = random.next()
      for shift in stride(from: 0, to: 64, by: 8) {
        bytes.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)))
      }
    }
    try self.init(Array(bytes.prefix(count)))
  }

  var path: String { "/v1/chunks/" + hash.text }

  /// Returns the request that uploads it.
  func upload(_ token: String, headers: [(String, String)] = []) -> [UInt8] {
    HTTPClient.bytes(
      "PUT", path, token: token, bytes,
      headers: [("Content-Type", "application/octet-stream")] + headers)
  }
}

extension TestRelay {
  /// Creates a relay whose store has `rules`.
  static func keepingChunks(
    nodes: Int = 1, rules: StoreRules = StoreRules(), files: MemoryChunkStore = MemoryChunkStore(),
    isSettled: Bool = true, _ configure: (inout RelayConfiguration) -> Void = { _ in }
  ) -> TestRelay {
    let store = MemoryZoneStore(rules: rules)
    return TestRelay(nodes: nodes, store: store, files: files, isSettled: isSettled) {
      $0.isOpen = true
      configure(&$0)
    }
  }

  /// Uploads a chunk, and returns the status.
  @discardableResult
  func put(_ chunk: Chunk, by device: TestDevice, node: Int = 0) throws -> Int {
    let client = HTTPClient(self, node: node)
    client.expectAnswer(to: "PUT")
    send(client.id, chunk.upload(device.token))
    runUntilIdle()
    return try #require(try client.next()).status
  }

  func get(
    _ chunk: Chunk, by device: TestDevice, _ headers: [(String, String)] = []
  ) throws -> HTTPClient.Response {
    try HTTPClient(self).call("GET", chunk.path, token: device.token, headers: headers)
  }

  /// Returns the indexes of the chunks that the relay reports as missing.
  func missing(_ chunks: [Chunk], by device: TestDevice) throws -> [Int] {
    let hashes = chunks.map { "\"\($0.hash.text)\"" }.joined(separator: ",")
    let response = try HTTPClient(self).call(
      "POST", "/v1/chunks/missing", token: device.token, #"{"hashes":[\#(hashes)]}"#)
    try #require(response.status == 200)
    let missing = try MissingChunks.decoded(body: response.body).missing
    return missing.compactMap { hash in chunks.firstIndex { $0.hash == hash } }
  }

  /// Returns true if all files are complete and hold a chunk of an account.
  func hasNoStrayFiles() throws -> Bool {
    let whole = files.files
    guard files.counts.unfinished == 0,
      case .fileUses(let uses) = try store.read(.fileUses(whole))
    else { return false }
    return uses.allSatisfy { $0 != .none }
  }
}
