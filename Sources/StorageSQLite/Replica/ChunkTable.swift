import LockstepModel
import LockstepStorage

/// The chunks of files that are stored in a home, and the number of held records that name each
/// chunk.
final class ChunkTable {
  private static let columns = "hash, file, bytes, idle_since"

  private let select: SQLiteStatement
  private let selectAfter: SQLiteStatement
  private let selectUse: SQLiteStatement
  private let selectFile: SQLiteStatement
  private let insert: SQLiteStatement
  private let delete: SQLiteStatement
  private let change: SQLiteStatement
  private let forget: SQLiteStatement

  init(_ connection: SQLiteConnection) throws(StorageError) {
    let columns = ChunkTable.columns
    select = try connection.prepare("SELECT \(columns) FROM pieces WHERE hash = ?")
    selectAfter = try connection.prepare(
      "SELECT \(columns) FROM pieces WHERE hash > ? ORDER BY hash LIMIT ?")
    selectUse = try connection.prepare("SELECT 1 FROM piece_uses WHERE hash = ?")
    selectFile = try connection.prepare("SELECT 1 FROM pieces WHERE file = ?")
    insert = try connection.prepare("INSERT OR REPLACE INTO pieces VALUES (?, ?, ?, ?)")
    delete = try connection.prepare("DELETE FROM pieces WHERE hash = ?")
    change = try connection.prepare(
      """
      INSERT INTO piece_uses VALUES (?1, ?2)
      ON CONFLICT (hash) DO UPDATE SET uses = uses + ?2
      """)
    forget = try connection.prepare("DELETE FROM piece_uses WHERE hash = ? AND uses <= 0")
  }

  func chunks(_ hashes: [ChunkHash]) throws(StorageError) -> [HeldChunk] {
    var found: [HeldChunk] = []
    for hash in hashes {
      found += try select.bind(hash).all { (row) throws(StorageError) in try row.chunk() }
    }
    return found
  }

  func chunks(after hash: ChunkHash?, limit: Int) throws(StorageError) -> [HeldChunk] {
    // A shorter byte string sorts before all longer ones that begin with it.
    try selectAfter.bind(hash?.bytes ?? [0]).bind(Int64(limit)).all { (row) throws(StorageError) in
      try row.chunk()
    }
  }

  func named(_ hashes: [ChunkHash]) throws(StorageError) -> [ChunkHash] {
    var named: [ChunkHash] = []
    for hash in hashes where try selectUse.bind(hash).first({ _ in true }) == true {
      named.append(hash)
    }
    return named
  }

  func files(_ numbers: [UInt64]) throws(StorageError) -> [UInt64] {
    var known: [UInt64] = []
    for number in numbers where try selectFile.bind(number).first({ _ in true }) == true {
      known.append(number)
    }
    return known
  }

  func put(_ chunk: HeldChunk) throws(StorageError) {
    try insert.bind(chunk.hash).bind(chunk.file).bind(Int64(chunk.bytes)).bind(chunk.idleSince)
      .run()
  }

  func remove(_ hash: ChunkHash) throws(StorageError) { try delete.bind(hash).run() }

  /// Updates the use counts for a record that named `old` and now names `new`.
  func replace(_ old: [ChunkHash], by new: [ChunkHash]) throws(StorageError) {
    var sum = ChunkUses()
    sum.replace(old, by: new)
    for use in sum.changes {
      try change.bind(use.hash).bind(Int64(use.change)).run()
      if use.change < 0 { try forget.bind(use.hash).run() }
    }
  }
}

extension SQLiteStatement {
  fileprivate func chunk() throws(StorageError) -> HeldChunk {
    guard let hash = ChunkHash(bytes: bytes(0)) else {
      throw corruption("a chunk's hash does not have 32 bytes")
    }
    return HeldChunk(
      hash: hash, file: bits(1), bytes: Int(clamping: integer(2)),
      idleSince: isNull(3) ? nil : integer(3))
  }
}
