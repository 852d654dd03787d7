import LockstepModel

/// A device's knowledge of a relay's restore from a backup, until all that the relay has lost is
/// being saved again. Stored in the home, so that it survives a crash.
struct Restore: Hashable, Sendable {
  /// Tags that the relay may have lost. Tags greater than the last of these are of the relay's
  /// present history: a restore raises the sequence far beyond all that was ever assigned.
  private(set) var lost: [TagGap]
  /// True if a snapshot has shown the relay's content. Records that it lacks are in the outbox, or
  /// marked as lost.
  var isSnapshotDone = false
  /// Tag up to which nothing is lost, nor was lost by an earlier restore whose records are not all
  /// saved again.
  private(set) var least: ChangeTag
  /// The account's newest tag when the snapshot began, if a greater one was held then; else nil.
  private(set) var newest: ChangeTag?

  /// `through`: the relay still has what was read from it up to this tag. `held`: the greatest tag
  /// that was held when the device detected the restore.
  init(through: ChangeTag, held: ChangeTag) {
    self.init(lost: [TagGap(after: through, through: held)])
  }

  /// `newest`: the account's newest tag, if a greater one is held.
  init(lost: [TagGap], newest: ChangeTag? = nil) {
    self.lost = lost
    self.newest = newest
    least = lost.map(\.after).min() ?? 0
  }

  /// Parses `text`; returns nil if this program did not write it.
  init?(text: String) {
    let words = text.split(separator: " ")
    guard let end = words.firstIndex(where: { $0 == "open" || $0 == "done" }), end >= 2,
      end.isMultiple(of: 2), words.count <= end + 3
    else { return nil }
    let tags = words[..<end].compactMap { ChangeTag($0) }
    guard tags.count == end else { return nil }
    self.init(
      lost: stride(from: 0, to: end, by: 2).map { TagGap(after: tags[$0], through: tags[$0 + 1]) })
    isSnapshotDone = words[end] == "done"
    guard words.count > end + 1 else { return }
    guard let tag = ChangeTag(words[end + 1]) else { return nil }
    least = tag
    guard words.count > end + 2 else { return }
    guard let tag = ChangeTag(words[end + 2]) else { return nil }
    newest = tag
  }

  var text: String {
    let tags = lost.map { "\($0.after) \($0.through)" }.joined(separator: " ")
    let isLower = least != lost.map(\.after).min()
    let limits = isLower || newest != nil ? [least, newest].compactMap(\.self) : []
    return ([tags, isSnapshotDone ? "done" : "open"] + limits.map(String.init))
      .joined(separator: " ")
  }

  /// True if the relay may have lost the version of this tag. Once the snapshot is complete,
  /// nothing in the device refers to such a version by its tag.
  func hasLost(_ tag: ChangeTag) -> Bool {
    !isSnapshotDone && lost.contains { $0.contains(tag) }
  }

  /// True if the relay's version of this tag was there before the backup was made, so that all
  /// later versions held by the device were made on top of it.
  func precedesLoss(_ tag: ChangeTag) -> Bool { tag > 0 && tag <= least }

  /// True if the same holds for the relay's version and `held`, a tag that the relay has lost. A
  /// device whose cursor was set back for a zone that was off has read more than its cursor shows.
  /// A relay that does not know the cursor at all has a new sequence of tags. A held tag that was
  /// greater than all of the relay's is not comparable with its tags, because the relay's clock may
  /// have been set back.
  func precedes(_ tag: ChangeTag, _ held: ChangeTag) -> Bool {
    if precedesLoss(tag) { return true }
    return least > 0 && tag > 0 && tag < held && held <= newest ?? .max
  }

  /// Joins a later restore, if not everything was saved again. If the snapshot of the first restore
  /// is complete, records that arrived since are lost only if the later restore lost them.
  func joined(with later: Restore) -> Restore {
    var joined = later
    if !isSnapshotDone {
      joined.lost = (lost + later.lost.filter { !lost.contains($0) }).suffix(Limits.tagGaps)
    }
    joined.least = min(least, later.least)
    joined.newest = [newest, later.newest].compactMap(\.self).min()
    return joined
  }
}

/// Greatest tag that was held when the first answer of a generation showed that the relay was
/// restored. Stored in the home.
struct PreRestoreTag: Hashable, Sendable {
  var tag: ChangeTag
  var seenIn: UInt32

  init(tag: ChangeTag, seenIn: UInt32) {
    self.tag = tag
    self.seenIn = seenIn
  }

  /// Parses `text`; returns nil if this program did not write it.
  init?(text: String) {
    let words = text.split(separator: " ")
    guard words.count == 2, let tag = ChangeTag(words[0]), let seenIn = UInt32(words[1]) else {
      return nil
    }
    self.init(tag: tag, seenIn: seenIn)
  }

  var text: String { "\(tag) \(seenIn)" }
}

/// The device's position before it lost its cursor, until a whole snapshot is complete. It shows if
/// the relay was restored meanwhile. Stored in the home.
struct LostCursor: Hashable, Sendable {
  var token: ChangeToken
  /// Generation in which the relay has reported, for this position, how far back it went; at first
  /// the token's own. nil: it has reported, but the generation is unknown.
  var seenIn: UInt32?

  init(token: ChangeToken, seenIn: UInt32?) {
    self.token = token
    self.seenIn = seenIn
  }

  /// Parses `text`; returns nil if this program did not write it.
  init?(text: String) {
    let words = text.split(separator: " ")
    guard let first = words.first, let token = ChangeToken(text: String(first)), words.count < 3
    else { return nil }
    self.init(token: token, seenIn: words.count == 2 ? UInt32(words[1]) : nil)
  }

  var text: String { token.text + (seenIn.map { " \($0)" } ?? "") }
}

extension Refusal {
  /// Tag up to which the relay still has what it sent, if it may have lost some; reported about a
  /// cursor that it issued. A cursor that it does not know belongs to a history that it has lost.
  var provenLoss: ChangeTag? {
    switch code {
    case .storeRestored: restoredThrough ?? 0
    case .badChangeToken: 0
    default: nil
    }
  }
}
