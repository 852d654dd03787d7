import LockstepModel

/// Position of an account: the generation of its history, its newest tag, and the greatest tag of a
/// tombstone that is no longer kept.
package struct AccountHead: Hashable {
  package var generation: UInt32
  package var newest: ChangeTag
  package var forgotten: ChangeTag
  /// Run of the store with the account's last save (`TagGap`).
  package var run: UInt64
  /// All tags above this one, up to `newest`, were given out: the account's newest gap ends here.
  package var rangeStart: ChangeTag

  package init(
    generation: UInt32, newest: ChangeTag, forgotten: ChangeTag = 0, run: UInt64 = 0,
    rangeStart: ChangeTag = 0
  ) {
    self.generation = generation
    self.newest = newest
    self.forgotten = forgotten
    self.run = run
    self.rangeStart = rangeStart
  }

  package var token: ChangeToken { ChangeToken(generation: generation, sequence: newest) }

  package var mark: WakeMark { WakeMark(generation: generation, sequence: newest) }

  /// Checks that changes can be followed from `token` on; throws a refusal if not.
  ///
  /// `endedAt`: the tag at which the token's generation ended, if it is an earlier one of the
  /// account; nil if the account never had it. `gap`: the gap that contains one of the token's
  /// tags, if any.
  package func check(
    _ token: ChangeToken, endedAt: ChangeTag?, gap: TagGap? = nil
  ) throws(Refusal) {
    guard token.generation == generation else {
      guard let endedAt else {
        throw Refusal(
          .badChangeToken,
          "This account never issued this token; fetch without one for a snapshot.",
          token: self.token)
      }
      // Also if tombstones are missing: a device that must read a snapshot anyway has to learn of
      // the restore.
      guard token.reach <= endedAt, gap == nil, isKept(since: token) else {
        throw restored(through: min(endedAt, gap?.after ?? endedAt))
      }
      return
    }
    if let gap { throw restored(from: gap) }
    // The time of the restore is unknown, and so is the extent of the loss.
    guard token.reach <= newest else { throw restored(through: 0) }
    guard isKept(since: token) else {
      throw Refusal(
        .tokenExpired,
        "The token is older than the relay's history of deletions; fetch without a token.")
    }
  }

  /// Returns the tag up to which a zone is to be deleted: the newest tag, or that of `through`, a
  /// token of the account or of the zone.
  package func end(
    ofDeleting zone: Name, through: ChangeToken?, endedAt: ChangeTag?, gap: TagGap? = nil
  ) throws(Refusal) -> ChangeTag {
    guard let through else { return newest }
    try check(through, endedAt: endedAt, gap: gap)
    guard through.zoneDigest == nil || through.zoneDigest == ChangeToken.digest(of: zone) else {
      throw Refusal(
        .filterChanged, "The token was made for another zone; name one of this zone or of all.")
    }
    return through.sequence
  }

  /// True if all tombstones that the holder of the token has not seen are kept. In the middle of a
  /// snapshot those are the tombstones made since it began.
  private func isKept(since token: ChangeToken) -> Bool {
    (token.pinned ?? token.sequence) >= forgotten
  }

  /// Refusal of a request with a tag in `gap`.
  package func restored(from gap: TagGap) -> Refusal {
    var refusal = restored(through: gap.after)
    if gap.through < Limits.sequenceLimit { refusal.lostThrough = gap.through }
    return refusal
  }

  private func restored(through tag: ChangeTag) -> Refusal {
    Refusal(
      .storeRestored,
      "The relay was restored from a backup that is older than the token; fetch without a token, "
        + "then save again what the relay has lost.",
      restoredThrough: tag, token: token)
  }

  /// Returns the head after an older copy of the store was restored: a new generation, with tags
  /// that no device was ever given.
  ///
  /// The tags are greater than all that were given out, also if another copy was restored before:
  /// they continue from the time of the opening, and no account saves faster than
  /// `Limits.tagsPerMillisecond`.
  ///
  /// `opening`: the store's `OpeningNumber`. `earlier`: the account's generations before this one.
  package func restored(
    _ account: AccountID, opening: UInt64, earlier: [UInt32]
  ) -> AccountHead {
    var random = SeededRandom(seed: opening)
    var mixed = SeededRandom(seed: random.next() ^ account.rawValue)
    var next = UInt32(truncatingIfNeeded: mixed.next() >> 32)
    while next == generation || earlier.contains(next) { next &+= 1 }
    return AccountHead(
      generation: next,
      newest: raised(
        by: opening, within: 0..<Self.restoreMilliseconds, else: Limits.restoredTags, &mixed),
      forgotten: forgotten, run: opening, rangeStart: rangeStart)
  }

  /// Time within which restores that are lost may have followed one another: a random offset covers
  /// it.
  private static let restoreMilliseconds: Int64 = 64

  /// Returns a tag above all that were given out: that of the opening's time, plus a random offset
  /// `within` these milliseconds.
  private func raised(
    by opening: UInt64, within milliseconds: Range<Int64>, else raises: ClosedRange<Int64>,
    _ random: inout SeededRandom
  ) -> ChangeTag {
    let perMillisecond = Limits.tagsPerMillisecond
    let wall = OpeningNumber.wall(of: opening)
    let timeBased = (wall + milliseconds.lowerBound) * perMillisecond
    let jitter = Int64.random(in: 0..<Int64(milliseconds.count) * perMillisecond, using: &random)
    // Fallback for a clock that is wrong or does not advance: a random raise.
    let raise = Int64.random(in: raises, using: &random)
    let headroom = max(0, Limits.sequenceLimit - 1 - newest)
    let isUsable = wall > 0 && timeBased > newest && timeBased < Limits.sequenceLimit / 2
    return isUsable ? timeBased + jitter : newest + min(raise, headroom / 2)
  }
}

extension AccountHead {
  /// Returns the head for the account's first save in `run`. Returns the same head if the account
  /// is already in that run, or if the store has begun none (0).
  package func entering(_ run: UInt64, _ account: AccountID) -> AccountHead {
    guard run != self.run, run != 0 else { return self }
    var random = SeededRandom(seed: run)
    var mixed = SeededRandom(seed: random.next() &+ account.rawValue)
    var next = self
    next.run = run
    // Tags of a later run are greater, so that the gap shows up to which tag a lost token is valid.
    // A run begins right after a restore: it continues after the restore's offset. A random raise
    // there would be hours ahead of the clock, and a later restore would give smaller tags.
    let after = Self.restoreMilliseconds
    next.newest = raised(by: run, within: after..<after + 1, else: Limits.runTags, &mixed)
    next.rangeStart = next.newest
    return next
  }

  /// Returns the gap between `former` and this head, or nil if this head has not entered another
  /// run since.
  package func gap(since former: AccountHead) -> TagGap? {
    rangeStart > former.rangeStart ? TagGap(after: former.newest, through: rangeStart) : nil
  }

  /// Returns all gaps of the account: the `known` ones, and the one that its first save in `run`
  /// will create, if it has no save in that run yet.
  package func gaps(
    _ known: [TagGap], in run: UInt64, _ account: AccountID
  ) -> [TagGap] {
    entering(run, account).gap(since: self).map { known + [$0] } ?? known
  }

  /// Returns the gap that contains `tag`, or nil. `run`: the store's run. `find` returns the first
  /// gap that does not end below the tag; it is called only if there may be one.
  package func gap<Fault: Error>(
    at tag: ChangeTag, in run: UInt64, find: (ChangeTag) throws(Fault) -> TagGap?
  ) throws(Fault) -> TagGap? {
    guard tag <= newest else {
      // The account has no save in this run, so a greater tag comes from a run that was lost.
      return run == self.run || run == 0 ? nil : TagGap(after: newest, through: .max)
    }
    guard tag <= rangeStart, let gap = try find(tag), gap.contains(tag) else { return nil }
    return gap
  }

  /// Returns the gap of the first of the token's tags that is in one.
  package func gap<Fault: Error>(
    of token: ChangeToken, in run: UInt64, find: (ChangeTag) throws(Fault) -> TagGap?
  ) throws(Fault) -> TagGap? {
    for tag in token.tags {
      if let gap = try gap(at: tag, in: run, find: find) { return gap }
    }
    return nil
  }
}

extension ZoneDeletion {
  /// Deletion of `count` records of an account at `head`. Their tombstones have the tags that
  /// follow `entered`.
  package init<Fault: Error>(
    _ head: AccountHead, _ entered: AccountHead, _ count: Int, rest: ZonePortion? = nil,
    tombstones: () throws(Fault) -> [Record]
  ) throws(Fault) {
    var end = count > 0 ? entered : head
    end.newest += ChangeTag(count)
    self.init(
      since: head.token, token: end.token,
      changed: count > Limits.batchRecords ? nil : try tombstones(), rest: rest)
  }
}

/// Space that an account's records take in the store, or that is left for them.
///
/// Stored in the account's row and updated in the transaction that changes the records, so that no
/// commit has to count rows. Every store counts by the same rule:
///
///     record, tombstone   rowBytes + zone + name + type + fields + 32 × chunks
///     remembered batch    rowBytes + words
package struct AccountUse: Hashable, Sendable {
  /// Bytes of records, tombstones and remembered batches.
  package var bytes: Int64
  /// Number of records, including tombstones.
  package var records: Int64
  /// Number of remembered batches.
  package var batches: Int64

  package init(bytes: Int64 = 0, records: Int64 = 0, batches: Int64 = 0) {
    self.bytes = bytes
    self.records = records
    self.batches = batches
  }

  /// Space of a caller without limits.
  package static let unlimited = AccountUse(bytes: 1 << 60, records: 1 << 60, batches: 1 << 60)

  /// For remaining space: true if no further batch can be remembered.
  package var isOverdrawn: Bool { bytes < 0 || batches < 0 }

  /// True if this growth fits into `available`. A change that adds nothing always fits; negative
  /// space has no capacity for growth.
  package func fits(into available: AccountUse) -> Bool {
    bytes <= max(0, available.bytes) && records <= max(0, available.records)
  }

  package static func += (left: inout AccountUse, right: AccountUse) {
    left.bytes &+= right.bytes
    left.records &+= right.records
    left.batches &+= right.batches
  }

  package static prefix func - (use: AccountUse) -> AccountUse {
    AccountUse(bytes: 0 &- use.bytes, records: 0 &- use.records, batches: 0 &- use.batches)
  }
}

/// Limits of an account's plan, which override the relay's own.
extension Plan {
  /// Returns the space left beside `use`. Negative if limits were lowered.
  package func remainingSpace(beside use: AccountUse, _ rules: StoreRules) -> AccountUse {
    AccountUse(
      bytes: (bytes ?? rules.recordBytesPerAccount) &- use.bytes,
      records: (records ?? rules.recordsPerAccount) &- use.records,
      batches: rules.batchesPerAccount &- use.batches)
  }
}

extension Record {
  /// Bytes that the record counts for.
  package var storedBytes: Int64 {
    Record.storedBytes(
      zone: zone, name: name, type: type, fields: fields?.count ?? 0, chunks: chunks.count)
  }

  package static func storedBytes(
    zone: Name, name: Name, type: Name, fields: Int, chunks: Int
  ) -> Int64 {
    let names = zone.text.utf8.count + name.text.utf8.count + type.text.utf8.count
    return Limits.rowBytes + Int64(names + fields + 32 * chunks)
  }
}
