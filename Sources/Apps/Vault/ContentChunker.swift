import LockstepModel

/// Cuts a file into chunks where its content says so, not at fixed places: what is inserted at the
/// front moves the places with it, and all chunks but the first stay what they were.
///
/// A gear hash of the last 64 bytes decides (FastCDC, Xia and others 2016), with a stricter mask
/// before the average size and a laxer one behind it, so that sizes keep close to it. Where the
/// cuts fall follows from the seed and the bytes alone, however the bytes come in.
package struct ContentChunker {
  /// Of chunks, in bytes.
  package struct Sizes: Hashable, Sendable {
    package var least: Int
    /// A power of two.
    package var average: Int
    package var most: Int

    /// From small files to large ones. A record names `Limits.chunksPerRecord` chunks at the most,
    /// so the last has room for `most` of `ContentChunker.bytesMax` whatever stands in it; of the
    /// others a file that does not fit is cut by the next.
    package static let classes = [
      Sizes(least: 32 << 10, average: 128 << 10, most: 512 << 10),
      Sizes(least: 128 << 10, average: 512 << 10, most: 2 << 20),
      Sizes(least: 1 << 20, average: 2 << 20, most: Limits.chunkBytes - VaultSeal.overhead),
    ]

    /// The place in `classes` for a file of so many bytes.
    package static func place(forBytes bytes: Int) -> Int {
      bytes <= 256 << 20 ? 0 : bytes <= 1 << 30 ? 1 : 2
    }
  }

  /// The largest file that can be cut: `Limits.chunksPerRecord` chunks of the largest class's least
  /// size, 4 GiB.
  package static let bytesMax = Limits.chunksPerRecord << 20

  private let sizes: Sizes
  private let table: [UInt64]
  /// The topmost bits of the hash that must all be zero at a cut.
  private let strictShift: UInt64
  private let laxShift: UInt64
  private var bytes: [UInt8] = []
  /// Where the chunk under way begins, and how much of it was looked at.
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

  /// The next bytes of the file; then `next` until it gives nothing.
  package mutating func add(_ more: [UInt8]) {
    if start > 0 {
      bytes.removeFirst(start)
      start = 0
    }
    bytes += more
  }

  /// The next chunk; nil where more bytes must come first.
  package mutating func next() -> [UInt8]? {
    guard let length = nextLength() else { return nil }
    let chunk = Array(bytes[start..<start + length])
    start += length
    scanned = 0
    hash = 0
    return chunk
  }

  /// The last chunk, after all others; nil where nothing is left.
  package mutating func finish() -> [UInt8]? {
    let rest = Array(bytes[start...])
    bytes = []
    start = 0
    scanned = 0
    hash = 0
    return rest.isEmpty ? nil : rest
  }

  /// Bytes that the hash is made of: the others are shifted out of it.
  private static let window = 64

  private mutating func nextLength() -> Int? {
    let available = min(bytes.count - start, sizes.most)
    // What lies before the window of the first place that may be a cut plays no part.
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
