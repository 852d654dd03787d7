import LockstepModel

/// The records of a zone that its deletion has not come to yet.
public struct ZonePortion: Sendable, Hashable {
  /// Those with a greater tag than this,
  public var after: ChangeTag
  /// up to this one. What is saved while the deletion goes on lies beyond it, and stays.
  public var end: ChangeTag

  public init(after: ChangeTag, end: ChangeTag) {
    self.after = after
    self.end = end
  }
}

/// What the deletion of a zone did, or one portion of it.
public struct ZoneDeletion: Sendable, Hashable {
  /// The account's newest token before and after.
  public var since: ChangeToken
  public var token: ChangeToken
  /// The tombstones; nil where there are more than `Limits.batchRecords`: too many to be told to
  /// anyone but by a hint.
  public var changed: [Record]?
  /// What is left to be deleted, with a commit of its own, so that others' go between; nil where
  /// the zone is empty.
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
  /// What is left after a commit that looked at the rows up to `scanned`, all of them where that is
  /// nil, and deleted `deleted`, the last of which had the tag `last`; at most `limit` go at once.
  package func rest(
    scanned: ChangeTag?, deleted: Int, last: ChangeTag?, limit: Int
  ) -> ZonePortion? {
    let after = deleted >= limit ? last ?? end : scanned ?? end
    return after < end ? ZonePortion(after: after, end: end) : nil
  }
}
