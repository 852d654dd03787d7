import LockstepModel

/// Content-defined chunking. Cut points depend on the content, not on fixed offsets: inserting
/// bytes at the front moves the cut points with the content, and all chunks but the first stay the
/// same.
///
/// A gear hash of the last 64 bytes decides (FastCDC, Xia and others 2016), with a stricter mask
/// below the average size and a laxer one above it, so that sizes stay close to it. Cut points
/// depend only on the seed and the bytes, not on how the bytes are split into calls of `add`.
package struct ContentChunker {
  /// Chunk sizes in bytes.
  package struct Sizes: Hashable, Sendable {
    package var least: Int
    /// A power of two.
    package var average: Int
    package var most: Int

    /// Size classes, from small files to large ones. A record names at most
    /// `Limits.chunksPerRecord` chunks, so the last class fits `ContentChunker.bytesMax` for any
    /// content. If a file does not fit in another class, the next class is used.
    package static let classes = [
      Sizes(least: 32 << 10, average: 128 << 10, most: 512 << 10),
      Sizes(least: 128 << 10, average: 512 << 10, most: 2 << 20),
      Sizes(least: 1 << 20, average: 2 << 20, most: Limits.chunkBytes - VaultSeal.overhead),
    ]

    /// Returns the index in `classes` for a file of this many bytes.
    package static func place(forBytes bytes: Int) -> Int {
      bytes <= 256 << 20 ? 0 : bytes <= 1 << 30 ? 1 : 2
    }
  }

  /// Maximum file size: `Limits.chunksPerRecord` chunks of the largest class's least size, 4 GiB.
  package static let bytesMax = Limits.chunksPerRecord << 20

  private let sizes: Sizes
  private let table: [UInt64]
  /// Shift that leaves the topmost bits of the hash, which must all be zero at a cut.
  private let strictShift: UInt64
  private let laxShift: UInt64
  private var bytes: [UInt8] = []
  /// Start of the current chunk in `bytes`, and number of its bytes already scanned.
  private var start = 0
  private var scanned = 0
  private var hash: UInt64 = 0

  package init(seed: UInt64, sizes: Sizes) {
    self.sizes = sizes
    var random = SeededRandom(seed: seed)
    table = (0..<256).map { _ in random.next() }
    let bits = UInt64(sizes.average.trailingZeroBitCount)
    strictShift = 64 - (bits + 2)
    laxShift = 64 - (bits - 2)
  }

  /// Adds the next bytes of the file. Then call `next` until it returns nil.
  package mutating func add(_ more: [UInt8]) {
    if start > 0 {
      bytes.removeFirst(start)
      start = 0
    }
    bytes += more
  }

  /// Returns the next chunk; nil if more bytes are needed.
  package mutating func next() -> [UInt8]? {
    guard let length = nextLength() else { return nil }
    let chunk = Array(bytes[start..<start + length])
    start += length
    scanned = 0
    hash = 0
    return chunk
  }

  /// Returns the last chunk, after all others; nil if no bytes are left.
  package mutating func finish() -> [UInt8]? {
    let rest = Array(bytes[start...])
    bytes = []
    start = 0
    scanned = 0
    hash = 0
    return rest.isEmpty ? nil : rest
  }

  /// Number of bytes that the hash covers: older ones are shifted out.
  private static let window = 64

  private mutating func nextLength() -> Int? {
    let available = min(bytes.count - start, sizes.most)
    // Bytes before the window of the first possible cut have no effect.
    scanned = max(scanned, sizes.least - Self.window)
    guard scanned < available else { return nil }
    var hash = hash
    var place = scanned
    let (strict, lax, least, average) = (strictShift, laxShift, sizes.least, sizes.average)
    let isCut = bytes.withUnsafeBufferPointer { all in
      table.withUnsafeBufferPointer { table in
        while place < available {
          hash = (hash << 1) &+ table[Int(all[start + place])]
          place += 1
          if place >= least && hash >> (place < average ? strict : lax) == 0 { return true }
        }
        return false
      }
    }
    self.hash = hash
    scanned = place
    if isCut || place == sizes.most { return place }
    return nil
  }
}
