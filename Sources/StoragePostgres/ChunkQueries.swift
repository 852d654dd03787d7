import LockstepModel
import LockstepStorage

/// Queries on the chunks of files.
enum ChunkQueries {
  static func chunk(
    _ hash: ChunkHash, of account: AccountID, on connection: PostgresConnection
  ) throws(PostgresFault) -> ReadResult {
    let asked = PostgresParameters().bind(account.rawValue).bind(hash.bytes)
    let found = try connection.run(chunk, asked).first { row in
      StoredChunk(
        file: ChunkFile(account: account, place: row.integer(0)),
        bytes: Int(clamping: row.integer(1)))
    }
    return found.map { .chunk($0) } ?? .refused(StoreRefusals.unknownChunk)
  }

  static func uses(
    of files: [ChunkFile], on connection: PostgresConnection
  ) throws(PostgresFault) -> ReadResult {
    let asked = PostgresParameters().bind(files.map(\.account.rawValue)).bind(files.map(\.place))
    var uses = [FileUse](repeating: .none, count: files.count)
    let found = try connection.run(fileUses, asked).all { row in
      (place: Int(row.integer(0)) - 1, isDoubtful: row.bool(1))
    }
    for use in found where uses.indices.contains(use.place) {
      uses[use.place] = use.isDoubtful ? .doubted : .sure
    }
    return .fileUses(uses)
  }

  private static let chunk = PostgresStatement(
    "chunk",
    "SELECT file, bytes FROM chunks WHERE account = $1::bigint AND hash = $2::bytea")
  private static let fileUses = PostgresStatement(
    "file uses",
    """
    SELECT asked.place, chunks.doubtful
    FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS asked (account, file, place)
    JOIN chunks ON chunks.account = asked.account AND chunks.file = asked.file
    """)
}
