import LockstepModel
import LockstepStorage
import LockstepWire

/// A `GET` or `HEAD` of a chunk of a file: its hash, and the conditions and range of the request
/// (RFC 9110 sections 13 and 14). The bytes behind a hash never change, so a client's copy never
/// becomes stale.
struct ChunkFetch: Hashable, Sendable {
  /// The part of the chunk to send.
  enum Selection: Hashable, Sendable {
    /// Nothing: the client has the chunk.
    case held
    case bytes(Range<Int>, isPart: Bool)
    case unsatisfiable
  }

  let hash: ChunkHash
  private let ifNoneMatch: [String]
  /// Value of `Range`; nil if it does not apply.
  private let range: String?

  init(_ hash: ChunkHash, headers: HTTPHeaders) {
    self.hash = hash
    ifNoneMatch = headers.list("If-None-Match")
    let ranges = headers.values("Range")
    let tags = headers.values("If-Range")
    // A date cannot match, because a chunk has none, and a weak tag never matches here.
    let isMeant = tags.isEmpty || tags == [ChunkFetch.tag(of: hash)]
    range = ranges.count == 1 && isMeant ? ranges[0] : nil
  }

  /// The entity tag.
  var tag: String { ChunkFetch.tag(of: hash) }

  private static func tag(of hash: ChunkHash) -> String { "\"\(hash.text)\"" }

  var isHeld: Bool { Answer.isHeld(tag, by: ifNoneMatch) }

  /// Returns the part to send. `size`: bytes of the chunk.
  func selection(of size: Int) -> Selection {
    if isHeld { return .held }
    switch ByteRange(range, of: size) {
    case .whole: return .bytes(0..<size, isPart: false)
    case .part(let range): return .bytes(range, isPart: true)
    case .unsatisfiable: return .unsatisfiable
    }
  }
}

/// A `GET` of a chunk of a file, from the first read to the last byte. The file is read one part at
/// a time, as the connection accepts the bytes.
struct ChunkDownload: Sendable {
  let file: ChunkFile
  /// Head of the answer, sent with the first bytes; nil after that.
  private(set) var head: Answer?
  /// Bytes that are not read yet.
  private var rest: Range<Int>
  private var isReading = false

  /// `bytes`: range of the file, not empty. `head`: without a body.
  init(_ file: ChunkFile, _ bytes: Range<Int>, head: Answer) {
    precondition(!bytes.isEmpty, "the range is empty")
    self.file = file
    rest = bytes
    self.head = head
  }

  var isOver: Bool { rest.isEmpty }

  /// Returns the range to read now; nil while a read is under way, and at the end.
  mutating func nextRead() -> Range<Int>? {
    guard !isReading, !rest.isEmpty else { return nil }
    isReading = true
    return rest.prefix(Limits.chunkPortionBytes)
  }

  /// Records the bytes of a read, fewer than requested if the file has no more. Returns the
  /// answer's head after the first read.
  mutating func recordRead(_ count: Int) -> Answer? {
    isReading = false
    rest = rest.dropFirst(count)
    return head.take()
  }
}

extension Answer {
  /// Creates an answer with the header fields of all answers about a chunk.
  private init(_ status: Int, _ fetch: ChunkFetch) {
    self.init(status: status)
    headers.append("ETag", fetch.tag)
    // Private to the holder of this token; cacheable for ever, since the hash identifies the bytes.
    headers.append("Cache-Control", "private, max-age=31536000, immutable")
    headers.append("Vary", "Authorization")
    headers.append("Accept-Ranges", "bytes")
  }

  /// Answer if the client has the chunk.
  static func held(_ fetch: ChunkFetch) -> Answer { Answer(304, fetch) }

  /// Answer with the bytes `range` of a chunk of `size` bytes. The body is sent later.
  static func chunk(
    _ fetch: ChunkFetch, _ range: Range<Int>, isPart: Bool, size: Int
  ) -> Answer {
    var answer = Answer(isPart ? 206 : 200, fetch)
    answer.headers.append("Content-Type", "application/octet-stream")
    answer.headers.append("X-Content-Type-Options", "nosniff")
    if isPart {
      answer.headers.append(
        "Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)")
    }
    answer.bodyCount = range.count
    return answer
  }

  /// Answer to `HEAD`. `size`: bytes of the chunk; nil: there is none for the device.
  static func head(_ fetch: ChunkFetch, size: Int?) throws(Refusal) -> Answer {
    guard let size else { throw StoreRefusals.unknownChunk }
    return fetch.isHeld ? held(fetch) : chunk(fetch, 0..<size, isPart: false, size: size)
  }

  /// Answer that lists the chunks without a size.
  init(missing hashes: [ChunkHash], sizes: [Int?]) {
    let missing = zip(hashes, sizes).filter { $0.1 == nil }.map(\.0)
    self.init(status: 200, json: MissingChunks(missing: missing).encodedBody())
  }

  /// Answer if a chunk of `size` bytes has no such range.
  static func noSuchRange(of size: Int) -> Answer {
    var answer = Answer(
      Refusal(.rangeNotSatisfiable, "The chunk has \(size) bytes; ask for some of them."))
    answer.headers.append("Accept-Ranges", "bytes")
    answer.headers.append("Content-Range", "bytes */\(size)")
    return answer
  }
}
