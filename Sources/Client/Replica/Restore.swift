import LockstepModel

/// What a device knows of a relay that came back from a backup, until all that the relay has lost
/// is on its way back. Kept in the home, so that a crash leaves it standing.
struct Restore: Hashable, Sendable {
  /// The tags that the relay may have lost. Greater ones than the last of these were given by the
  /// relay as it is now: a restore raises the sequence far beyond all that was ever given.
  private(set) var lost: [TagGap]
  /// A snapshot has told what the relay has. What it lacks is in the outbox, or marked as lost.
  var isSnapshotDone = false
  /// Up to this tag nothing is lost, nor was by an earlier restore from which something is still to
  /// be brought back.
  private(set) var least: ChangeTag

  /// `through`: the relay still has what was read from it up to this tag. `held`: the greatest tag
  /// that was held when the device learnt of it.
  init(through: ChangeTag, held: ChangeTag) {
    self.init(lost: [TagGap(after: through, through: held)])
  }

  init(lost: [TagGap]) {
    self.lost = lost
    least = lost.map(\.after).min() ?? 0
  }

  /// As `text` has it; nil where it was not written by this program.
  init?(text: String) {
    let words = text.split(separator: " ")
    guard let end = words.firstIndex(where: { $0 == "open" || $0 == "done" }), end >= 2,
      end.isMultiple(of: 2), words.count <= end + 2
    else { return nil }
    let tags = words[..<end].compactMap { ChangeTag($0) }
    guard tags.count == end else { return nil }
    self.init(
      lost: stride(from: 0, to: end, by: 2).map { TagGap(after: tags[$0], through: tags[$0 + 1]) })
    isSnapshotDone = words[end] == "done"
    guard words.count > end + 1 else { return }
    guard let tag = ChangeTag(words[end + 1]) else { return nil }
    least = tag
  }

  var text: String {
    let tags = lost.map { "\($0.after) \($0.through)" }.joined(separator: " ")
    let isLower = least != lost.map(\.after).min()
    return "\(tags) \(isSnapshotDone ? "done" : "open")\(isLower ? " \(least)" : "")"
  }

  /// The relay may have lost the version of this tag. Once the snapshot is done nothing in the
  /// device refers to such a version by its tag any more.
  func hasLost(_ tag: ChangeTag) -> Bool {
    !isSnapshotDone && lost.contains { $0.contains(tag) }
  }

  /// What is on the relay at this tag was there before the backup was made, so whatever the device
  /// held beyond it was made on top.
  func precedesLoss(_ tag: ChangeTag) -> Bool { tag > 0 && tag <= least }

  /// The same of what is on the relay and `held`, a tag that it has lost: a device whose cursor was
  /// taken back for a zone that was off knows more than its cursor tells. A relay that does not
  /// know the cursor at all counts anew.
  func precedes(_ tag: ChangeTag, _ held: ChangeTag) -> Bool {
    precedesLoss(tag) || (least > 0 && tag > 0 && tag < held)
  }

  /// The relay came back once more, before all was brought back. Where the snapshot of the first
  /// time is here, what the device has taken since is lost only if it was lost this time.
  func joined(with later: Restore) -> Restore {
    var joined = later
    if !isSnapshotDone {
      joined.lost = (lost + later.lost.filter { !lost.contains($0) }).suffix(Limits.tagGaps)
    }
    joined.least = min(least, later.least)
    return joined
  }
}

/// The greatest tag that was held when the first answer of a generation showed that the relay was
/// restored. Kept in the home.
struct PreRestoreTag: Hashable, Sendable {
  var tag: ChangeTag
  var seenIn: UInt32

  init(tag: ChangeTag, seenIn: UInt32) {
    self.tag = tag
    self.seenIn = seenIn
  }

  /// As `text` has it; nil where it was not written by this program.
  init?(text: String) {
    let words = text.split(separator: " ")
    guard words.count == 2, let tag = ChangeTag(words[0]), let seenIn = UInt32(words[1]) else {
      return nil
    }
    self.init(tag: tag, seenIn: seenIn)
  }

  var text: String { "\(tag) \(seenIn)" }
}

/// Where a device stood before it lost its cursor, until a whole snapshot is here. It shows whether
/// the relay was restored meanwhile. Kept in the home.
struct LostCursor: Hashable, Sendable {
  var token: ChangeToken
  /// The generation in which the relay has told, of this place, how far back it went; at first the
  /// token's own. nil: it has told, but not in which.
  var seenIn: UInt32?

  init(token: ChangeToken, seenIn: UInt32?) {
    self.token = token
    self.seenIn = seenIn
  }

  /// As `text` has it; nil where it was not written by this program.
  init?(text: String) {
    let words = text.split(separator: " ")
    guard let first = words.first, let token = ChangeToken(text: String(first)), words.count < 3
    else { return nil }
    self.init(token: token, seenIn: words.count == 2 ? UInt32(words[1]) : nil)
  }

  var text: String { token.text + (seenIn.map { " \($0)" } ?? "") }
}

extension Refusal {
  /// Told about a cursor that this relay gave: up to which tag it still has what it gave, where it
  /// may have lost some. A cursor that it does not know at all is of a history that it has lost.
  var provenLoss: ChangeTag? {
    switch code {
    case .storeRestored: restoredThrough ?? 0
    case .badChangeToken: 0
    default: nil
    }
  }
}
