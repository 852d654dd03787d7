import Glibc
import LockstepModel
import LockstepStorage

/// Moves a relay's store to another place: from a folder into a database, back, or within a kind.
/// Devices see only a pause: the relay's answers stay the same, including tags.
///
///     1. copy the rows of all tables, in portions, from one view of the old store
///     2. with the rows of chunks, copy their bytes and check their hashes
///     3. check that the old store was not written to, and that the new one has the same totals
///     4. make the new one a store, atomically and durably
///     5. mark the old one as an older copy
///
/// A crash between steps 4 and 5 leaves two usable stores; a person notices because the command's
/// output is missing. In the reverse order, a move that fails at its last step would make all
/// devices read everything again.
struct StoreMove {
  let from: StorePlace
  let to: StorePlace
  /// Time of the move, in milliseconds since the Unix epoch.
  let wall: Int64
  /// An `OpeningNumber`.
  let opening: UInt64
  let progress: Progress
  let interruption: Interruption

  struct Outcome: Hashable {
    var totals = StoreTotals()
    /// Chunks with missing or wrong bytes, each with its defect; devices that hold them bring them
    /// back.
    var lost: [LostChunk] = []
    /// Number of chunks that an earlier restore lost and no device has brought back.
    var lostBefore = 0
    /// Path of the former contents of the new store's folder.
    var aside: String?
  }

  struct LostChunk: Hashable {
    var chunk: ExportedChunk
    /// Defect, worded as the end of a sentence about the chunk.
    var how: String
  }

  private static let work = "the move"

  func run() throws(CommandFailure) -> Outcome {
    defer { progress.clear() }
    try refuseItself()
    let source = try MoveTarget.reporting { () throws(StorageError) in
      try MoveSource(from, retirement: opening)
    }
    defer { source.close() }
    let target = try MoveTarget(to, wall: wall)
    defer { target.close() }
    var outcome = Outcome(totals: source.rows.totals)
    do throws(CommandFailure) {
      try carry(source, to: target, &outcome)
      try interruption.check(Self.work)
      progress.show("making it durable")
      outcome.aside = try target.finish(outcome.totals, isOlderCopy: source.rows.isOlderCopy)
    } catch {
      try abandon(target, after: error)
    }
    do throws(CommandFailure) {
      try source.retire()
    } catch {
      throw CommandFailure(
        "the store was moved, and is whole in \(to.text); but the old one could not be marked as "
          + "moved (\(error.message ?? "")): never start a relay on \(from.text) again, or two "
          + "histories go under one name")
    }
    return outcome
  }

  /// Removes what was copied and throws `failure`. If the removal fails, the error says so.
  private func abandon(
    _ target: MoveTarget, after failure: CommandFailure
  ) throws(CommandFailure) -> Never {
    do throws(CommandFailure) {
      try target.abandon()
    } catch {
      throw CommandFailure(
        "\(failure.message ?? Self.work + " failed"); what is in \(to.text) already could not be "
          + "removed (\(error.message ?? "")): no relay takes it for a store before it is whole, "
          + "and the next move into it begins anew")
    }
    throw failure
  }

  private func refuseItself() throws(CommandFailure) {
    var isSame = from == to
    if case .folder(let one) = from, case .folder(let other) = to {
      var (left, right) = (stat(), stat())
      if stat(one, &left) == 0, stat(other, &right) == 0 {
        isSame = left.st_dev == right.st_dev && left.st_ino == right.st_ino
      }
    }
    guard !isSame else {
      throw CommandFailure("--from and --to name the same store; name another place with --to")
    }
  }

  // MARK: copying

  private func carry(
    _ source: MoveSource, to target: MoveTarget, _ outcome: inout Outcome
  ) throws(CommandFailure) {
    var carried = StoreTotals()
    while true {
      try interruption.check(Self.work)
      let portion = try MoveTarget.reporting { () throws(StorageError) in try source.rows.next() }
      guard let portion else { break }
      let rows = try bringing(portion, from: source, to: target, carried, &outcome)
      try MoveTarget.reporting { () throws(StorageError) in try target.take(rows) }
      carried.add(rows)
      let table = rows.table
      progress.show("\(table.rawValue): \(carried[table]) of \(outcome.totals[table])")
    }
    if let difference = carried.difference(from: outcome.totals) {
      throw CommandFailure("the store \(from.text) changed while it was read: \(difference)")
    }
    try MoveTarget.reporting { () throws(StorageError) in try source.rows.confirm() }
  }

  /// Returns the rows. For chunks, also copies the bytes; those without valid bytes become
  /// doubtful.
  private func bringing(
    _ rows: StoreRows, from source: MoveSource, to target: MoveTarget, _ carried: StoreTotals,
    _ outcome: inout Outcome
  ) throws(CommandFailure) -> StoreRows {
    guard case .chunks(var chunks) = rows else { return rows }
    for place in chunks.indices {
      try interruption.check(Self.work)
      progress.show(
        "chunk \(carried[.chunks] + Int64(place) + 1) of \(outcome.totals[.chunks])")
      let chunk = chunks[place]
      let how = try MoveTarget.reporting { () throws(StorageError) in
        try bring(chunk, from: source, to: target)
      }
      guard let how else { continue }
      if chunk.isDoubtful {
        outcome.lostBefore += 1
      } else {
        outcome.lost.append(LostChunk(chunk: chunk, how: how))
        chunks[place].isDoubtful = true
      }
    }
    return .chunks(chunks)
  }

  /// Copies a chunk. Returns its defect, or nil if the new store has the chunk.
  private func bring(
    _ chunk: ExportedChunk, from source: MoveSource, to target: MoveTarget
  ) throws(StorageError) -> String? {
    let file = chunk.stored.file
    var offset = 0
    while true {
      switch try source.read(file, from: offset) {
      case .bad(let how):
        if offset > 0 { try target.drop(file) }
        return how
      case .bytes(let bytes, let isLast):
        if let refusal = try target.append(bytes, to: file) { return words(for: refusal) }
        offset += bytes.count
        if isLast { return try target.finish(file, chunk.hash).map(words) }
      }
    }
  }

  private func words(for refusal: Refusal) -> String {
    refusal.code == .hashMismatch
      ? "has other bytes than its hash says" : "is none: \(refusal.code.title)"
  }
}
