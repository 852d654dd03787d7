import LockstepJSON

/// Content of a file, as a field of a record names it. The account keeps the content as long as a
/// record names it.
///
/// In JSON: `{"name": TEXT, "bytes": NUMBER, "chunks": [HASH…]}`. Every device finds references by
/// this form, wherever they stand in the fields of a record. If the chunks are sealed, it also has
/// `"seal": {"zone": TEXT, "key": ID}`.
public struct FileReference: Hashable, Sendable {
  /// Keys that open the chunks of a file.
  package struct Seal: Hashable, Sendable {
    /// Zone whose keys they are.
    package let zone: Name
    /// Identifier of the generation.
    package let key: String

    package init(zone: Name, key: String) {
      self.zone = zone
      self.key = key
    }
  }

  /// Name without folders, as the file had it.
  public let name: String
  /// Size in bytes.
  public let bytes: Int
  /// Hashes of the content's chunks, in order; of the sealed ones if they are sealed.
  package let chunks: [ChunkHash]
  /// nil: the chunks are parts of the content as it is.
  package let seal: Seal?

  package init(name: String, bytes: Int, chunks: [ChunkHash], seal: Seal? = nil) {
    self.name = name
    self.bytes = bytes
    self.chunks = chunks
    self.seal = seal
  }

  private static func isConsistent(_ bytes: Int, _ chunks: Int) -> Bool {
    bytes >= 0 && chunks <= Limits.chunksPerRecord && (bytes == 0) == (chunks == 0)
  }
}

extension FileReference: Codable {
  private enum CodingKeys: CodingKey { case name, bytes, chunks, seal }

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
    seal = try container.decodeIfPresent(Seal.self, forKey: .seal)
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
    try container.encodeIfPresent(seal, forKey: .seal)
  }
}

extension FileReference.Seal: Codable {
  private enum CodingKeys: CodingKey { case zone, key }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let text = try container.decode(String.self, forKey: .zone)
    guard let zone = Name(text) else {
      throw DecodingError.dataCorruptedError(
        forKey: .zone, in: container, debugDescription: "\(text) is not the name of a zone")
    }
    self.zone = zone
    key = try container.decode(String.self, forKey: .key)
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(zone.text, forKey: .zone)
    try container.encode(key, forKey: .key)
  }

  /// Returns nil if the value is not the `seal` of a reference.
  fileprivate init?(_ value: JSONValue?) {
    guard let zone = value?["zone"]?.string.flatMap({ Name($0) }), let key = value?["key"]?.string
    else { return nil }
    self.init(zone: zone, key: key)
  }
}

extension FileReference {
  /// Returns the chunks that the references in a record's fields name, each once, at most
  /// `Limits.chunksPerRecord`.
  package static func chunks(in fields: JSONValue) -> [ChunkHash] {
    chunks(of: references(in: fields))
  }

  /// Returns the chunks that are sealed with keys of this zone, each once.
  package static func chunks(in fields: JSONValue, sealedIn zone: Name) -> [ChunkHash] {
    chunks(of: references(in: fields).filter { $0.seal?.zone == zone })
  }

  /// Returns those of the chunks that no reference in the fields says to be sealed with keys of
  /// this zone.
  package static func chunks(
    _ chunks: [ChunkHash], in fields: JSONValue, notSealedIn zone: Name
  ) -> [ChunkHash] {
    if chunks.isEmpty { return [] }
    let sealed = Set(self.chunks(in: fields, sealedIn: zone))
    return chunks.filter { !sealed.contains($0) }
  }

  private static func chunks(of references: [FileReference]) -> [ChunkHash] {
    var found: [ChunkHash] = []
    var known: Set<ChunkHash> = []
    for reference in references {
      for hash in reference.chunks
      where found.count < Limits.chunksPerRecord && known.insert(hash).inserted {
        found.append(hash)
      }
    }
    return found
  }

  /// Returns the references in a record's fields, wherever they stand.
  package static func references(in fields: JSONValue) -> [FileReference] {
    var found: [FileReference] = []
    collect(from: fields, &found)
    return found
  }

  private static func collect(from value: JSONValue, _ found: inout [FileReference]) {
    switch value {
    case .object(let members):
      if let reference = FileReference(value) { found.append(reference) }
      for member in members { collect(from: member.value, &found) }
    case .array(let elements):
      for element in elements { collect(from: element, &found) }
    case .null, .bool, .number, .string: break
    }
  }

  /// Returns nil if the object is not a reference. One whose `seal` has another form counts as not
  /// sealed: its content does not open, but its chunks stay.
  private init?(_ value: JSONValue) {
    guard let name = value["name"]?.string, let bytes = value["bytes"]?.int64,
      let texts = value["chunks"]?.array, Self.isConsistent(Int(clamping: bytes), texts.count)
    else { return nil }
    let hashes = texts.compactMap { $0.string.flatMap { ChunkHash(text: $0) } }
    guard hashes.count == texts.count else { return nil }
    self.init(
      name: name, bytes: Int(clamping: bytes), chunks: hashes, seal: Seal(value["seal"]))
  }
}
