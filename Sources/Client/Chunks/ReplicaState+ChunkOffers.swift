import LockstepModel
import LockstepStorage

/// An iteration over chunks in the home, which are offered to the relay in portions: all of them,
/// if the relay was restored from a backup; or periodically those that records name.
struct ChunkOffer {
  /// Last chunk up to which all have a status. Stored in the home, so that a crash does not end the
  /// iteration.
  var after: ChunkHash?
  /// Chunks of the portion without a status since it was named.
  var unheard: Set<ChunkHash> = []
  /// Last chunk of the portion.
  var last: ChunkHash?
  /// True if the relay accepts none until a user acts, or enough time has passed.
  var isHeld = false
  /// True to offer only chunks that records name. Not stored: the next check starts by itself.
  var isCheck = false
}

/// Queries about chunks that no change waits for.
///
/// A relay that was restored from a backup may lack chunks that records name, or that other devices
/// are about to name: devices that hold them upload them. A change that is parked because of a
/// missing chunk is sent when the relay has the chunk after all.
extension ReplicaState {
  static let offerKey = "pieces.offer"

  func storedOffer() throws(StorageError) -> ChunkOffer? {
    try ledger.store.value(ReplicaState.offerKey).map { ChunkOffer(after: ChunkHash(text: $0)) }
  }

  /// Begins an offer of all chunks, because the relay may have lost some.
  mutating func beginOffer() {
    gate.distrust()
    offer = ChunkOffer()
    ledger.setValue(ReplicaState.offerKey, "")
  }

  /// Begins a check, because the relay may have found that a chunk's file is missing or incomplete.
  mutating func beginCheck() {
    if offer == nil { offer = ChunkOffer(isCheck: true) }
  }

  /// Names the next portion, once the last one has a status.
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
        // Chunks that changes wait for are already being uploaded, but only while this process
        // runs.
        _ = gate.name(offered)
        offer.unheard = Set(offered)
        self.offer = offer
        return
      }
      offer.after = last
    }
  }

  mutating func advanceOffer(_ chunkStatus: ChunkStatus) {
    guard var offer, let last = offer.last else { return }
    if !offer.unheard.isDisjoint(with: chunkStatus.held) {
      self.offer = offer.isCheck ? nil : ChunkOffer(after: offer.after, isHeld: true)
      return
    }
    offer.unheard.subtract(chunkStatus.hashes)
    if offer.unheard.isEmpty {
      offer.after = last
      offer.last = nil
      if !offer.isCheck { ledger.setValue(ReplicaState.offerKey, last.text) }
    }
    self.offer = offer
  }

  /// Asks about the chunks that parked changes lack, and retries changes for which the account had
  /// no room.
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
  /// True if it is parked because the account's records used up its quota.
  fileprivate var lacksRoom: Bool {
    guard case .parked(let refusal) = state else { return false }
    return refusal.code == .quotaExceeded
  }

  /// True if it is parked because a chunk is missing.
  var lacksChunks: Bool {
    guard case .parked(let refusal) = state else { return false }
    return refusal.code == .chunksMissing || refusal.code == .hashMismatch
  }
}
