import LockstepModel

/// Range of records of a page of changes, and the token at its end. A pure value that takes the
/// records one by one, so that every store divides pages in the same way.
///
///     changes    after < tag ≤ newest    tombstones too
///     snapshot   after < tag ≤ pinned    live records only
///
/// A record that is saved while a snapshot is read gets a tag beyond `pinned` and leaves the
/// snapshot; the device gets it with the changes that follow the snapshot's last token.
package struct PagePlan {
  /// Lower bound: the page has records with greater tags only.
  package let after: ChangeTag
  /// Upper bound, inclusive.
  package let through: ChangeTag
  /// True if the page has live records only.
  package let isSnapshot: Bool
  package let zones: ZoneSelection
  /// Maximum number of records.
  package let limit: Int
  /// Tag at which the scan ends: `through` or less.
  package private(set) var last: ChangeTag
  /// Maximum number of rows to scan, if some of them may be skipped (`isSparse`).
  package let scanned: Int

  private let since: ChangeToken?
  private let head: AccountHead
  private var changes: [Record] = []
  private var bytes = 0
  private var more = false
  private var isFull = false

  /// True if rows may be skipped, so that a page may have to scan many rows for few records.
  package var isSparse: Bool { isSnapshot || zones != .all }

  /// `endedAt` and `gap`: see `AccountHead.check`.
  package init(
    since: ChangeToken?, zones: ZoneSelection, limit: Int, head: AccountHead,
    endedAt: ChangeTag? = nil,
    gap: TagGap? = nil, scanned: Int = Limits.scannedRecords
  ) throws(Refusal) {
    if let since {
      try head.check(since, endedAt: endedAt, gap: gap)
      guard since.zoneDigest == zones.tokenDigest else {
        throw Refusal(
          .filterChanged,
          "The token is valid only for the zone it was made for; fetch without a token.")
      }
    }
    self.since = since
    self.zones = zones
    self.head = head
    self.limit = max(1, min(limit, Limits.pageRecords))
    after = since?.sequence ?? 0
    isSnapshot = since == nil || since?.pinned != nil
    through = since?.pinned ?? head.newest
    last = through
    self.scanned = scanned
  }

  /// Ends the scan at this tag, that of the last row that may be scanned; nil if there are fewer
  /// rows. The rows beyond it belong to the next page.
  package mutating func endScan(at tag: ChangeTag?) {
    guard let tag, tag < through else { return }
    last = tag
    more = true
  }

  /// Takes the page's next record, in the order of tags. Returns false if the page is full. A store
  /// offers records until then, or until it has no more.
  package mutating func addRecord(_ record: Record) -> Bool {
    let size = record.size
    guard changes.isEmpty || (changes.count < limit && bytes + size <= Limits.pageBytes) else {
      more = true
      isFull = true
      return false
    }
    changes.append(record)
    bytes += size
    return true
  }

  /// Tag above which gaps of this page may end; nil if the page has no gaps.
  package var gapsAfter: ChangeTag? {
    if since == nil { return 0 }
    return isSnapshot || head.rangeStart <= after ? nil : after
  }

  /// Returns the page. `gaps`: see `AccountHead.gaps`; at least those that end above `gapsAfter`.
  package consuming func page(gaps: [TagGap] = []) -> ChangePage {
    var token = head.token
    token.zoneDigest = zones.tokenDigest
    if more {
      token.sequence = (isFull ? changes.last?.tag : nil) ?? last
      if isSnapshot { token.pinned = through }
    } else {
      token.sequence = through
    }
    // A record beyond the token may have had a tag below it before it was saved again, and is left
    // out of the page.
    if token.sequence < head.newest { token.horizon = head.newest }
    let isPassed = { (gap: TagGap) in gap.after >= after && gap.after < token.sequence }
    return ChangePage(
      since: since, token: token, more: more, changes: changes,
      lostTags: since == nil ? gaps : isSnapshot ? [] : gaps.filter(isPassed))
  }
}

/// Zones of which changes are read.
@usableFromInline
package enum ZoneSelection: Hashable, Sendable {
  case all
  /// One zone. Tokens of such pages are valid for it alone.
  case zone(Name)
  /// The zones that a device may read. Its tokens are the account's: every page of the device is
  /// filtered alike.
  case scope([Name])

  /// `zone`: nil selects all zones.
  package init(_ zone: Name?) { self = zone.map { .zone($0) } ?? .all }

  package func includes(_ zone: Name) -> Bool {
    switch self {
    case .all: true
    case .zone(let one): one == zone
    case .scope(let zones): zones.contains(zone)
    }
  }

  fileprivate var tokenDigest: UInt32? {
    switch self {
    case .all, .scope: nil
    case .zone(let zone): ChangeToken.digest(of: zone)
    }
  }
}

extension Record {
  /// Approximate length as JSON, in bytes, without the names of its members.
  var size: Int {
    // A hash has 64 digits, two quotes and a comma.
    zone.text.utf8.count + name.text.utf8.count + type.text.utf8.count + (fields?.count ?? 0)
      + 67 * chunks.count + 19 * includes.count
  }
}

/// Records of a zone that are still to be deleted.
@usableFromInline
package struct ZonePortion: Sendable, Hashable {
  /// Lower bound: only records with greater tags.
  @usableFromInline package var after: ChangeTag
  /// Upper bound, inclusive. Records saved during the deletion have greater tags, and stay.
  @usableFromInline package var end: ChangeTag

  @usableFromInline
  package init(after: ChangeTag, end: ChangeTag) {
    self.after = after
    self.end = end
  }
}

/// Result of a zone's deletion, or of one portion of it.
@usableFromInline
package struct ZoneDeletion: Sendable, Hashable {
  /// The account's newest token before the deletion; below, the one after it.
  @usableFromInline package var since: ChangeToken
  @usableFromInline package var token: ChangeToken
  /// The tombstones; nil if there are more than `Limits.batchRecords`: too many to push, so that
  /// devices get a hint only.
  @usableFromInline package var changed: [Record]?
  /// Records left for a commit of its own, so that other commits can run in between; nil if none
  /// are left.
  @usableFromInline package var rest: ZonePortion?

  @usableFromInline
  package init(
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
