import LockstepJSON

/// Content of a file, as a field of a record names it. The account keeps the content as long as a
/// record names it.
///
/// In JSON: `{"name": TEXT, "bytes": NUMBER, "chunks": [HASH…]}`. Every device finds references by
/// this form, wherever they stand in the fields of a record.
public struct FileReference: Hashable, Sendable {
  /// Name without folders, as the file had it.
  public let name: String
  /// Size in bytes.
  public let bytes: Int
  /// Hashes of the content's chunks, in order.
  package let chunks: [ChunkHash]

  package init(name: String, bytes: Int, chunks: [ChunkHash]) {
    self.name = name
    self.bytes = bytes
    self.chunks = chunks
  }

  private static func isConsistent(_ bytes: Int, _ chunks: Int) -> Bool {
    bytes >= 0 && chunks <= Limits.chunksPerRecord && (bytes == 0) == (chunks == 0)
  }
}

extension FileReference: Codable {
  private enum CodingKeys: CodingKey { case name, bytes, chunks }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    name = try container.decode(String.self, forKey: .name)
    bytes = try container.decode(Int.self, forKey: .bytes)
    chunks = try container.decode([String].self, forKey: .chunks).map { text in
      guard let hash = ChunkHash(text: text) else {
        throw DecodingError.dataCorruptedError(
          forKey: .chunks, in: container, debugDescription: "\(text) is not the hash of a chunk")
      }
      return hash
    }
    guard Self.isConsistent(bytes, chunks.count) else {
      throw DecodingError.dataCorruptedError(
        forKey: .bytes, in: container, debugDescription: "the size does not fit the chunks")
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(name, forKey: .name)
    try container.encode(bytes, forKey: .bytes)
    try container.encode(chunks.map(\.text), forKey: .chunks)
  }
}

extension FileReference {
  /// Returns the chunks that the references in a record's fields name, each once, at most
  /// `Limits.chunksPerRecord`.
  package static func chunks(in fields: JSONValue) -> [ChunkHash] {
    var found: [ChunkHash] = []
    var known: Set<ChunkHash> = []
    collect(from: fields, &found, &known)
    return found
  }

  private static func collect(
    from value: JSONValue, _ found: inout [ChunkHash], _ known: inout Set<ChunkHash>
  ) {
    switch value {
    case .object(let members):
      for hash in chunks(ofReference: value) ?? []
      where found.count < Limits.chunksPerRecord && known.insert(hash).inserted {
        found.append(hash)
      }
      for member in members { collect(from: member.value, &found, &known) }
    case .array(let elements):
      for element in elements { collect(from: element, &found, &known) }
    case .null, .bool, .number, .string: break
    }
  }

  /// Returns the chunks of an object that is a reference; nil for any other object.
  private static func chunks(ofReference value: JSONValue) -> [ChunkHash]? {
    guard value["name"]?.string != nil, let bytes = value["bytes"]?.int64,
      let texts = value["chunks"]?.array, isConsistent(Int(clamping: bytes), texts.count)
    else { return nil }
    let hashes = texts.compactMap { $0.string.flatMap { ChunkHash(text: $0) } }
    return hashes.count == texts.count ? hashes : nil
  }
}
