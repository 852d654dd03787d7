import LockstepCrypto
import LockstepModel

@testable import LockstepClient

/// Chunks of files for tests, and helpers for orders about them.
enum TestChunk {
  static func bytes(_ count: Int, seed: UInt8 = 1) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) &+ seed }
  }

  static func hash(_ bytes: [UInt8]) throws -> ChunkHash {
    guard let hash = ChunkHash(bytes: SHA256.hash(bytes)) else { throw TestFault("no hash") }
    return hash
  }

  /// Returns a hash of no known chunk; another for each number up to 65,535.
  static func hash(_ number: Int) throws -> ChunkHash {
    let high = UInt8(number / 256)
    let bytes: [UInt8] = [high, UInt8(number % 256)] + [UInt8](repeating: 9, count: 30)
    guard let hash = ChunkHash(bytes: bytes) else { throw TestFault("no hash") }
    return hash
  }

  /// Returns as many hashes of no known chunks.
  static func hashes(_ count: Int) throws -> [ChunkHash] { try (0..<count).map(hash) }
}

extension EditRequest {
  /// Returns an edit of a record that names chunks.
  static func album(_ name: String, _ chunks: [ChunkHash]) -> EditRequest {
    .fields(name, TestApp.album, ["pieces": .array(chunks.map { .string($0.text) })])
  }
}

extension TestDevice {
  /// Returns the result, which must be reported at once.
  func addChunk(_ bytes: [UInt8]) throws -> Result<ChunkHash, ChunkFailure> {
    let order = try order { .addChunk($0, bytes) }
    guard let result = added(order) else { throw TestFault("nothing was reported") }
    return result
  }

  func added(_ order: OrderID) -> Result<ChunkHash, ChunkFailure>? {
    for case .chunkAdded(order, let result) in reports { return result }
    return nil
  }

  func readChunk(_ hash: ChunkHash, offset: Int = 0, count: Int = .max) throws
    -> Result<[ChunkPortion], ChunkFailure>
  {
    let order = try order { .readChunk($0, hash, offset: offset, count: count) }
    guard let result = read(order) else { throw TestFault("nothing was reported") }
    return result
  }

  /// Returns all portions; nil until all have arrived.
  func read(_ order: OrderID) -> Result<[ChunkPortion], ChunkFailure>? {
    var portions: [ChunkPortion] = []
    for case .chunkRead(order, let result) in reports {
      switch result {
      case .success(let portion):
        portions.append(portion)
        if portion.isLast { return .success(portions) }
      case .failure(let failure): return .failure(failure)
      }
    }
    return nil
  }

  var progress: [ChunkProgress] {
    reports.compactMap { if case .chunkProgress(let progress) = $0 { progress } else { nil } }
  }
}
