import Changes

/// Where an account stands: the generation of its history, its newest tag, and the greatest tag of
/// a tombstone that is not kept any more.
package struct AccountHead: Hashable {
  package var generation: UInt32
  package var newest: ChangeTag
  package var forgotten: ChangeTag

  package init(generation: UInt32, newest: ChangeTag, forgotten: ChangeTag = 0) {
    self.generation = generation
    self.newest = newest
    self.forgotten = forgotten
  }

  package var token: ChangeToken { ChangeToken(generation: generation, sequence: newest) }

  /// Whether changes can be followed from `token` on.
  ///
  /// `endedAt`: where the token's generation ended, if it is one before the account's own; nil
  /// where the account has never had it.
  package func check(_ token: ChangeToken, endedAt: ChangeTag?) throws(Refusal) {
    guard token.generation == generation else {
      guard let endedAt else {
        throw Refusal(
          .badChangeToken, "This account has made no such token; fetch without one for a snapshot.",
          token: self.token)
      }
      // A device that has to read a snapshot in any case must learn of the restore by it.
      guard token.reach <= endedAt, isKept(since: token) else {
        throw restored(through: endedAt)
      }
      return
    }
    // Nobody noticed that an older copy was put back, and nobody knows what was lost.
    guard token.reach <= newest else { throw restored(through: 0) }
    guard isKept(since: token) else {
      throw Refusal(
        .tokenExpired,
        "The token is older than what the relay remembers of deletions; fetch without a token.")
    }
  }

  /// Up to which tag a zone is to be deleted: all of it, or what `through` covers, a token of the
  /// account or of the zone.
  package func end(
    ofDeleting zone: Name, through: ChangeToken?, endedAt: ChangeTag?
  ) throws(Refusal) -> ChangeTag {
    guard let through else { return newest }
    try check(through, endedAt: endedAt)
    guard through.zoneDigest == nil || through.zoneDigest == ChangeToken.digest(of: zone) else {
      throw Refusal(
        .filterChanged, "The token was made for another zone; name one of this zone or of all.")
    }
    return through.sequence
  }

  /// Whether all tombstones are there that who holds the token has not seen. In the middle of a
  /// snapshot those are the ones made since it began.
  private func isKept(since token: ChangeToken) -> Bool {
    (token.pinned ?? token.sequence) >= forgotten
  }

  private func restored(through tag: ChangeTag) -> Refusal {
    Refusal(
      .storeRestored,
      "The relay came back from a backup that is older than the token; fetch without a token, then "
        + "save again what the relay has lost.",
      restoredThrough: tag, token: token)
  }

  /// Where the account goes on after an older copy of the store was put back: in a generation of
  /// its own, with tags that nobody was given.
  ///
  /// The tags are greater than all that were given, also after another copy was put back before:
  /// they go on from the time of the opening, and no account saves as fast as time goes.
  ///
  /// `opening` is the store's `OpeningNumber`, `earlier` the generations that the account has had
  /// before this one.
  package func restored(
    _ account: AccountID, opening: UInt64, earlier: [UInt32]
  ) -> AccountHead {
    var random = SeededRandom(seed: opening)
    var mixed = SeededRandom(seed: random.next() ^ account.rawValue)
    var next = UInt32(truncatingIfNeeded: mixed.next() >> 32)
    while next == generation || earlier.contains(next) { next &+= 1 }
    let byTime = OpeningNumber.wall(of: opening) * Limits.tagsPerMillisecond
    let jitter = Int64.random(in: 0..<64 * Limits.tagsPerMillisecond, using: &mixed)
    // A clock that goes wrong, or stands still, leaves chance.
    let raise = Int64.random(in: Limits.restoredTags, using: &mixed)
    let room = max(0, Limits.sequenceLimit - 1 - newest)
    let isUsable = byTime > newest && byTime < Limits.sequenceLimit / 2
    return AccountHead(
      generation: next, newest: isUsable ? byTime + jitter : newest + min(raise, room / 2),
      forgotten: forgotten)
  }
}

extension ZoneDeletion {
  /// `count` records of an account that stood at `head` became tombstones.
  package init<Fault: Error>(
    _ head: AccountHead, _ count: Int, tombstones: () throws(Fault) -> [Record]
  ) throws(Fault) {
    var end = head
    end.newest += ChangeTag(count)
    self.init(
      since: head.token, token: end.token,
      changed: count > Limits.batchRecords ? nil : try tombstones())
  }
}
