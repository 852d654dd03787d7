import LockstepCrypto
import LockstepModel
import LockstepStorage
import Testing

/// Test case of the contract of every chunk store: a claim, and its test on an empty store. The
/// reference and every backend run the same cases.
package struct ChunkStory: Sendable, CustomTestStringConvertible {
  package let claim: String
  package let tell: @Sendable (ChunkScene) throws -> Void

  init(_ claim: String, _ tell: @escaping @Sendable (ChunkScene) throws -> Void) {
    self.claim = claim
    self.tell = tell
  }

  package var testDescription: String { claim }

  package static let all = UploadStories.all + KeepingStories.all
}

/// Store with helpers for the test cases.
package final class ChunkScene {
  package private(set) var store: any ChunkStore
  private let reopening: (any ChunkStore) throws -> any ChunkStore

  static let ada = AccountID(rawValue: 0xA)
  static let bob = AccountID(rawValue: 0xB00_0000_0000_0001)

  /// `reopening` returns the store as it is after its process has ended or crashed.
  package init(
    _ store: any ChunkStore, reopening: @escaping (any ChunkStore) throws -> any ChunkStore
  ) {
    self.store = store
    self.reopening = reopening
  }

  func reopen() throws { store = try reopening(store) }

  static func file(_ number: UInt64, of account: AccountID = ada) -> ChunkFile {
    ChunkFile(account: account, number: number)
  }

  static func hash(_ bytes: [UInt8]) throws -> ChunkHash {
    try #require(ChunkHash(bytes: SHA256.hash(bytes)))
  }

  /// Returns `count` bytes without a short period.
  static func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 ^ ($0 >> 8) ^ ($0 >> 16)) }
  }

  // MARK: Requests

  func append(_ file: ChunkFile, _ bytes: [UInt8]) throws -> ChunkResult {
    try store.perform(.append(file, bytes))
  }

  func finish(_ file: ChunkFile, _ bytes: [UInt8]) throws -> ChunkResult {
    try store.perform(.finish(file, expecting: try Self.hash(bytes)))
  }

  /// Writes a complete file of these bytes.
  func put(_ file: ChunkFile, _ bytes: [UInt8]) throws {
    #expect(try append(file, bytes) == .done)
    #expect(try finish(file, bytes) == .done)
  }

  /// Returns nil if the store has no such file.
  func read(_ file: ChunkFile, from offset: Int = 0, count: Int = .max) throws -> [UInt8]? {
    let count = min(count, Limits.chunkBytes)
    switch try store.perform(.read(file, offset: offset, count: count)) {
    case .bytes(let bytes): return bytes
    case .refused(let refusal):
      #expect(refusal.code == .notFound)
      return nil
    case .done, .files: throw Unexpected(what: "a read was answered otherwise")
    }
  }

  func list(after file: ChunkFile? = nil, limit: Int = 100) throws -> [ChunkFile] {
    guard case .files(let files) = try store.perform(.list(after: file, limit: limit)) else {
      throw Unexpected(what: "a list was answered otherwise")
    }
    return files
  }

  func code(_ result: ChunkResult) -> RefusalCode? {
    if case .refused(let refusal) = result { refusal.code } else { nil }
  }
}
