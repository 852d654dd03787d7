import LockstepModel

/// Records of a zone that are still to be deleted.
public struct ZonePortion: Sendable, Hashable {
  /// Lower bound: only records with greater tags.
  public var after: ChangeTag
  /// Upper bound, inclusive. Records saved during the deletion have greater tags, and stay.
  public var end: ChangeTag

  public init(after: ChangeTag, end: ChangeTag) {
    self.after = after
    self.end = end
  }
}

/// Result of a zone's deletion, or of one portion of it.
public struct ZoneDeletion: Sendable, Hashable {
  /// The account's newest token before the deletion; below, the one after it.
  public var since: ChangeToken
  public var token: ChangeToken
  /// The tombstones; nil if there are more than `Limits.batchRecords`: too many to push, so that
  /// devices get a hint only.
  public var changed: [Record]?
  /// Records left for a commit of its own, so that other commits can run in between; nil if none
  /// are left.
  public var rest: ZonePortion?

  public init(
    since: ChangeToken, token: ChangeToken, changed: [Record]?, rest: ZonePortion? = nil
  ) {
    self.since = since
    self.token = token
    self.changed = changed
    self.rest = rest
  }
}

extension ZonePortion {
  /// Returns the portion left after a commit. `scanned`: the tag of the last row scanned, nil if
  /// all were; `deleted`: the number of deleted records; `last`: the old tag of the last of them;
  /// `limit`: the maximum per commit.
  package func rest(
    scanned: ChangeTag?, deleted: Int, last: ChangeTag?, limit: Int
  ) -> ZonePortion? {
    let after = deleted >= limit ? last ?? end : scanned ?? end
    return after < end ? ZonePortion(after: after, end: end) : nil
  }
}
