import LockstepModel
import LockstepStorage
import LockstepWire

/// What a `GET` or `HEAD` of a chunk of a file asks for beside its hash (RFC 9110 sections 13 and
/// 14). The bytes behind a hash never change, so what a client holds of them is good for ever.
struct ChunkFetch: Hashable, Sendable {
  /// What of the chunk goes out.
  enum Selection: Hashable, Sendable {
    /// Nothing: the client holds it.
    case held
    case bytes(Range<Int>, isPart: Bool)
    case unsatisfiable
  }

  let hash: ChunkHash
  private let ifNoneMatch: [String]
  /// nil where it does not count.
  private let range: String?

  init(_ hash: ChunkHash, headers: HTTPHeaders) {
    self.hash = hash
    ifNoneMatch = headers.list("If-None-Match")
    let ranges = headers.values("Range")
    let tags = headers.values("If-Range")
    // A date says nothing of a chunk, which has none, and a weak tag is never enough here.
    let isMeant = tags.isEmpty || tags == [ChunkFetch.tag(of: hash)]
    range = ranges.count == 1 && isMeant ? ranges[0] : nil
  }

  /// The entity tag.
  var tag: String { ChunkFetch.tag(of: hash) }

  private static func tag(of hash: ChunkHash) -> String { "\"\(hash.text)\"" }

  var isHeld: Bool { Answer.isHeld(tag, by: ifNoneMatch) }

  /// `size`: bytes of the chunk.
  func selection(of size: Int) -> Selection {
    if isHeld { return .held }
    switch ByteRange(range, of: size) {
    case .whole: return .bytes(0..<size, isPart: false)
    case .part(let range): return .bytes(range, isPart: true)
    case .unsatisfiable: return .unsatisfiable
    }
  }
}

/// A `GET` of a chunk of a file, from the first read to the last byte: its file is read a part at a
/// time, as the connection takes them.
struct ChunkDownload: Sendable {
  let file: ChunkFile
  /// The answer's head, with which the first bytes go out; nil once they have.
  private(set) var head: Answer?
  /// The bytes that have not been read.
  private var rest: Range<Int>
  private var isReading = false

  /// `bytes`: of the file, at least one. `head` without a body.
  init(_ file: ChunkFile, _ bytes: Range<Int>, head: Answer) {
    precondition(!bytes.isEmpty, "there is nothing to be read")
    self.file = file
    rest = bytes
    self.head = head
  }

  var isOver: Bool { rest.isEmpty }

  /// What to read now; nil while the last read is under way, and at the end.
  mutating func nextRead() -> Range<Int>? {
    guard !isReading, !rest.isEmpty else { return nil }
    isReading = true
    return rest.prefix(Limits.chunkPortionBytes)
  }

  /// The bytes of the last read, fewer where the file has no more. The answer's head, at the first.
  mutating func take(_ count: Int) -> Answer? {
    isReading = false
    rest = rest.dropFirst(count)
    return head.take()
  }
}

extension Answer {
  /// What an answer with a chunk, or about one, says of it.
  private init(_ status: Int, _ fetch: ChunkFetch) {
    self.init(status: status)
    headers.append("ETag", fetch.tag)
    // For whoever has this token alone; and for ever, since the bytes are what they are called.
    headers.append("Cache-Control", "private, max-age=31536000, immutable")
    headers.append("Vary", "Authorization")
    headers.append("Accept-Ranges", "bytes")
  }

  /// The client holds the chunk.
  static func held(_ fetch: ChunkFetch) -> Answer { Answer(304, fetch) }

  /// Of the bytes `range` of a chunk of `size` bytes. The body is still to come.
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

  /// A chunk of `size` bytes has no such range.
  static func noSuchRange(of size: Int) -> Answer {
    var answer = Answer(
      Refusal(.rangeNotSatisfiable, "The piece has \(size) bytes; ask for some of them."))
    answer.headers.append("Accept-Ranges", "bytes")
    answer.headers.append("Content-Range", "bytes */\(size)")
    return answer
  }
}
