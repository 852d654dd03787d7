import LockstepModel
import LockstepStorage

/// A walk through chunks in the home, which are offered to the relay a portion at a time: all of
/// them, where it came back from a backup; or those that records name, now and again.
struct ChunkOffer {
  /// All up to here was heard of. Kept in the home, so that a crash does not end the walk.
  var after: ChunkHash?
  /// Those of the portion that were not heard of since it was named.
  var unheard: Set<ChunkHash> = []
  /// The last of the portion.
  var last: ChunkHash?
  /// The relay takes none until a person acts, or enough time has passed.
  var isHeld = false
  /// Only those that records name. It is not kept: the next one comes by itself.
  var isCheck = false
}

/// Chunks that are asked about though no change waits for them.
///
/// A relay that came back from a backup may lack chunks that records name, also such as other
/// devices are about to name: whoever holds them brings them. And a change that waits for a person,
/// for want of a chunk, goes by itself when the relay has it after all.
extension ReplicaState {
  static let offerKey = "pieces.offer"

  func storedOffer() throws(StorageError) -> ChunkOffer? {
    try ledger.store.value(ReplicaState.offerKey).map { ChunkOffer(after: ChunkHash(text: $0)) }
  }

  /// The relay may have lost what it had.
  mutating func beginOffer() {
    gate.distrust()
    offer = ChunkOffer()
    ledger.setValue(ReplicaState.offerKey, "")
  }

  /// The relay may have found since that a chunk's file is gone from its disk, or not whole.
  mutating func beginCheck() {
    if offer == nil { offer = ChunkOffer(isCheck: true) }
  }

  /// Names the next portion, where the last was heard of.
  mutating func offerChunks() throws(StorageError) {
    guard var offer, offer.unheard.isEmpty, !offer.isHeld, gate.room > 0 else { return }
    let limit = min(Limits.collectedChunks, gate.room)
    while true {
      let held = try ledger.store.chunks(after: offer.after, limit: limit).map(\.hash)
      guard let last = held.last else {
        self.offer = nil
        if !offer.isCheck { ledger.setValue(ReplicaState.offerKey, nil) }
        return
      }
      let offered = offer.isCheck ? try ledger.store.namedChunks(held) : held
      offer.last = last
      if !offered.isEmpty {
        // What changes wait for is on its way already, but only as long as this process lives.
        _ = gate.name(offered)
        offer.unheard = Set(offered)
        self.offer = offer
        return
      }
      offer.after = last
    }
  }

  mutating func advanceOffer(_ tidings: ChunkStatus) {
    guard var offer, let last = offer.last else { return }
    if !offer.unheard.isDisjoint(with: tidings.held) {
      self.offer = offer.isCheck ? nil : ChunkOffer(after: offer.after, isHeld: true)
      return
    }
    offer.unheard.subtract(tidings.hashes)
    if offer.unheard.isEmpty {
      offer.after = last
      offer.last = nil
      if !offer.isCheck { ledger.setValue(ReplicaState.offerKey, last.text) }
    }
    self.offer = offer
  }

  /// Asks about the chunks that parked changes lack, and lets those go again that the account had
  /// no room for.
  mutating func askForLacking() throws(StorageError) {
    for var entry in ledger.outbox.parkedEntries where entry.lacksRoom {
      entry.state = .waiting
      ledger.put(entry)
    }
    for entry in ledger.outbox.parkedEntries where entry.lacksChunks {
      _ = gate.name(try chunks(of: entry))
    }
  }
}

extension OutboxEntry {
  /// It is parked because the account's records took all the room that it has.
  fileprivate var lacksRoom: Bool {
    guard case .parked(let refusal) = state else { return false }
    return refusal.code == .quotaExceeded
  }

  /// It is parked for want of a chunk.
  var lacksChunks: Bool {
    guard case .parked(let refusal) = state else { return false }
    return refusal.code == .chunksMissing || refusal.code == .hashMismatch
  }
}
