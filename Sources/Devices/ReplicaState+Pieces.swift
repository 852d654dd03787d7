import Changes
import Storage

/// The pieces of files that lie in the home.
extension ReplicaState {
  mutating func perform(_ task: PieceTask, _ clock: ClockReading) throws(StorageError)
    -> PieceResult
  {
    switch task {
    case .add(let piece): return try add(piece, clock)
    case .find(let hash): return .found(try find(hash, clock))
    case .drop(let piece):
      if try ledger.store.pieces([piece.hash]).first?.file == piece.file {
        ledger.removePiece(piece.hash)
      }
      return .done
    case .collect(let hash, let keep): return try collect(after: hash, keep: keep, clock)
    case .sweep(let files):
      let known = Set(try ledger.store.pieceFiles(files))
      return .unknown(files.filter { !known.contains($0) })
    }
  }

  /// The new file was looked at just now, so it is the better one where there was one before.
  private mutating func add(_ piece: HeldPiece, _ clock: ClockReading) throws(StorageError)
    -> PieceResult
  {
    let before = try ledger.store.pieces([piece.hash]).first
    var added = piece
    // Whoever adds it is about to name it.
    added.idleSince = clock.wall
    ledger.putPiece(added)
    return .added(replaced: before?.file)
  }

  /// What somebody reads stays for a while more.
  private mutating func find(_ hash: ChunkHash, _ clock: ClockReading) throws(StorageError)
    -> HeldPiece?
  {
    guard var piece = try ledger.store.pieces([hash]).first else { return nil }
    if piece.idleSince != nil {
      piece.idleSince = clock.wall
      ledger.putPiece(piece)
    }
    return piece
  }

  private mutating func collect(
    after hash: ChunkHash?, keep: Int64, _ clock: ClockReading
  ) throws(StorageError) -> PieceResult {
    let portion = try ledger.store.pieces(after: hash, limit: Limits.collectedChunks)
    var named = Set(try ledger.store.namedPieces(portion.map(\.hash)))
    if named.count < portion.count { named.formUnion(try piecesInOutbox()) }
    var gone: [UInt64] = []
    for var piece in portion {
      let isNamed = named.contains(piece.hash)
      // A clock that was set back begins the wait anew.
      if let since = piece.idleSince, !isNamed, since <= clock.wall {
        guard clock.wall - since >= keep else { continue }
        ledger.removePiece(piece.hash)
        gone.append(piece.file)
      } else if (piece.idleSince == nil) != isNamed {
        piece.idleSince = isNamed ? nil : clock.wall
        ledger.putPiece(piece)
      }
    }
    let next = portion.count == Limits.collectedChunks ? portion.last?.hash : nil
    return .collected(gone, next: next)
  }

  /// What entries of the outbox name beside the records that are held, which show the last edits.
  private mutating func piecesInOutbox() throws(StorageError) -> [ChunkHash] {
    var named: [ChunkHash] = []
    for entry in ledger.outbox.entries {
      named += entry.base?.chunks ?? []
      if case .asking(let server) = entry.state { named += server.chunks }
      if entry.isSent { named += try chunks(of: entry) }
    }
    return named
  }
}
