import LockstepModel

/// Which records a page of changes holds, and the token it ends with. A pure value that takes the
/// records one by one, so that every store cuts its pages alike.
///
///     changes    after < tag ≤ newest    tombstones too
///     snapshot   after < tag ≤ pinned    live records only
///
/// A record that is saved while a snapshot is read moves beyond `pinned` and out of the snapshot;
/// the device gets it with the changes that follow the snapshot's last token.
package struct PagePlan {
  /// Records with a greater tag than this belong to the page,
  package let after: ChangeTag
  /// up to this one,
  package let through: ChangeTag
  /// live ones only.
  package let isSnapshot: Bool
  package let zone: Name?
  /// At most this many records.
  package let limit: Int
  /// Where the looking ends, at `through` or before.
  package private(set) var last: ChangeTag
  /// Rows that are looked at, where some of them are passed over: `isSparse`.
  package let scanned: Int

  private let since: ChangeToken?
  private let head: AccountHead
  private var changes: [Record] = []
  private var bytes = 0
  private var more = false
  private var isFull = false

  /// Some of what lies between may be passed over, so that a page may have to look at many rows for
  /// few records.
  package var isSparse: Bool { isSnapshot || zone != nil }

  /// `endedAt` and `gap` are told in `AccountHead.check`.
  package init(
    since: ChangeToken?, zone: Name?, limit: Int, head: AccountHead, endedAt: ChangeTag? = nil,
    gap: TagGap? = nil, scanned: Int = Limits.scannedRecords
  ) throws(Refusal) {
    if let since {
      try head.check(since, endedAt: endedAt, gap: gap)
      guard since.zoneDigest == zone.map(ChangeToken.digest) else {
        throw Refusal(
          .filterChanged,
          "The token is good only with the zone it was made for; fetch without a token.")
      }
    }
    self.since = since
    self.zone = zone
    self.head = head
    self.limit = max(1, min(limit, Limits.pageRecords))
    after = since?.sequence ?? 0
    isSnapshot = since == nil || since?.pinned != nil
    through = since?.pinned ?? head.newest
    last = through
    self.scanned = scanned
  }

  /// The page ends at this tag, the last of the rows that are looked at for it; nil where there are
  /// fewer. What lies beyond comes with the next page.
  package mutating func stop(at tag: ChangeTag?) {
    guard let tag, tag < through else { return }
    last = tag
    more = true
  }

  /// Takes the page's next record, in the order of tags; false when the page is full. A store
  /// offers records until it is told so, or has no more.
  package mutating func take(_ record: Record) -> Bool {
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

  /// Gaps that end beyond this tag may belong to the page; nil where there are none.
  package var gapsAfter: ChangeTag? {
    if since == nil { return 0 }
    return isSnapshot || head.rangeStart <= after ? nil : after
  }

  /// `gaps`: see `AccountHead.gaps`; of those that end beyond `gapsAfter`, at least.
  package consuming func page(gaps: [TagGap] = []) -> ChangePage {
    var token = head.token
    token.zoneDigest = zone.map(ChangeToken.digest)
    if more {
      token.sequence = (isFull ? changes.last?.tag : nil) ?? last
      if isSnapshot { token.pinned = through }
    } else {
      token.sequence = through
    }
    // What lies beyond the token may have been before it once, and was passed over.
    if token.sequence < head.newest { token.horizon = head.newest }
    let isPassed = { (gap: TagGap) in gap.after >= after && gap.after < token.sequence }
    return ChangePage(
      since: since, token: token, more: more, changes: changes,
      lostTags: since == nil ? gaps : isSnapshot ? [] : gaps.filter(isPassed))
  }
}

extension Record {
  /// About how many bytes of JSON it takes, the names of its members left aside.
  var size: Int {
    // A hash is 64 digits, two quotes and a comma.
    zone.text.utf8.count + name.text.utf8.count + type.text.utf8.count + (fields?.count ?? 0)
      + 67 * chunks.count
  }
}
