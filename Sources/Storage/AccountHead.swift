import LockstepModel

/// Where an account stands: the generation of its history, its newest tag, and the greatest tag of
/// a tombstone that is not kept any more.
package struct AccountHead: Hashable {
  package var generation: UInt32
  package var newest: ChangeTag
  package var forgotten: ChangeTag
  /// The run of the store in which the account was saved to last (`TagGap`).
  package var run: UInt64
  /// Greater tags than this one, up to `newest`, were all given: the account's newest gap ends
  /// here.
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

  /// Whether changes can be followed from `token` on.
  ///
  /// `endedAt`: where the token's generation ended, if it is one before the account's own; nil
  /// where the account has never had it. `gap`: the one that a tag of the token lies in, if any.
  package func check(
    _ token: ChangeToken, endedAt: ChangeTag?, gap: TagGap? = nil
  ) throws(Refusal) {
    guard token.generation == generation else {
      guard let endedAt else {
        throw Refusal(
          .badChangeToken, "This account has made no such token; fetch without one for a snapshot.",
          token: self.token)
      }
      // A device that has to read a snapshot in any case must learn of the restore by it.
      guard token.reach <= endedAt, gap == nil, isKept(since: token) else {
        throw restored(through: min(endedAt, gap?.after ?? endedAt))
      }
      return
    }
    if let gap { throw restored(from: gap) }
    // Nothing tells when the older copy was put back, and so nobody knows what was lost.
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

  /// Whether all tombstones are there that who holds the token has not seen. In the middle of a
  /// snapshot those are the ones made since it began.
  private func isKept(since token: ChangeToken) -> Bool {
    (token.pinned ?? token.sequence) >= forgotten
  }

  /// Told to whoever comes with a tag that lies in `gap`.
  package func restored(from gap: TagGap) -> Refusal {
    var refusal = restored(through: gap.after)
    if gap.through < Limits.sequenceLimit { refusal.lostThrough = gap.through }
    return refusal
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
    return AccountHead(
      generation: next,
      newest: raised(by: opening, milliseconds: 64, else: Limits.restoredTags, &mixed),
      forgotten: forgotten, run: opening, rangeStart: rangeStart)
  }

  /// A tag from which on nobody was given any. `milliseconds`: within which openings that are lost
  /// may have followed one another.
  private func raised(
    by opening: UInt64, milliseconds: Int64, else raises: ClosedRange<Int64>,
    _ random: inout SeededRandom
  ) -> ChangeTag {
    let byTime = OpeningNumber.wall(of: opening) * Limits.tagsPerMillisecond
    let jitter = Int64.random(in: 0..<milliseconds * Limits.tagsPerMillisecond, using: &random)
    // A clock that goes wrong, or stands still, leaves chance.
    let raise = Int64.random(in: raises, using: &random)
    let room = max(0, Limits.sequenceLimit - 1 - newest)
    let isUsable = byTime > newest && byTime < Limits.sequenceLimit / 2
    return isUsable ? byTime + jitter : newest + min(raise, room / 2)
  }
}

extension AccountHead {
  /// Where the account goes on with its first save in `run`; itself in the run that it is in, and
  /// where the store has begun none (0).
  package func entering(_ run: UInt64, _ account: AccountID) -> AccountHead {
    guard run != self.run, run != 0 else { return self }
    var random = SeededRandom(seed: run)
    var mixed = SeededRandom(seed: random.next() &+ account.rawValue)
    var next = self
    next.run = run
    // Tags of a later run are greater, so that the gap tells how far a lost token is good.
    next.newest = raised(by: run, milliseconds: 1, else: Limits.runTags, &mixed)
    next.rangeStart = next.newest
    return next
  }

  /// The gap that lies between `former` and this head, which has entered another run since.
  package func gap(since former: AccountHead) -> TagGap? {
    rangeStart > former.rangeStart ? TagGap(after: former.newest, through: rangeStart) : nil
  }

  /// All gaps of the account, whose `known` ones are: with what its first save in `run` will pass
  /// over, where it has not been saved to in that run.
  package func gaps(
    _ known: [TagGap], in run: UInt64, _ account: AccountID
  ) -> [TagGap] {
    entering(run, account).gap(since: self).map { known + [$0] } ?? known
  }

  /// The gap that `tag` lies in. `run` is the store's; `find` gives the first gap whose end is not
  /// below the tag, and is asked only where there may be one.
  package func gap<Fault: Error>(
    at tag: ChangeTag, in run: UInt64, find: (ChangeTag) throws(Fault) -> TagGap?
  ) throws(Fault) -> TagGap? {
    guard tag <= newest else {
      // Not saved to in this run, the account gave it in one that was lost.
      return run == self.run || run == 0 ? nil : TagGap(after: newest, through: .max)
    }
    guard tag <= rangeStart, let gap = try find(tag), gap.contains(tag) else { return nil }
    return gap
  }

  /// The same of the first of a token's tags that lies in one.
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
  /// `count` records of an account that stood at `head` became tombstones, with the tags that
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
