import Changes
import Storage

/// Something that a person did to a record, as it stands in the record's fields: an edit of a
/// timer, a setting's new value. Two that are equal are the same deed.
package protocol Deed: Hashable {
  /// The deeds that stand in a record's fields; empty where there are none to read.
  static func list(in fields: [UInt8]) -> [Self]
  /// Whether this one, done with knowledge of `other`, takes its place.
  func replaces(_ other: Self) -> Bool
  /// Whether this is `other` with its stamp corrected by so many milliseconds: the same deed, which
  /// takes no one's place but that one's.
  func corrects(_ other: Self, by milliseconds: Int64) -> Bool
}

/// Who had seen what when each deed was done, taken from what the devices and the relay wrote, and
/// from nothing else. From it follows what a record must be in the end, without asking a resolver.
///
/// One of these a record. A version's *past* is the set of acts that it was made with knowledge
/// of, its own included. An act is one device doing a deed: what time does (a countdown that ends),
/// several devices do without knowing of one another.
package final class CausalHistory<Fact: Deed> {
  private unowned let outside: Outside
  private var deeds: [Fact] = []
  private var numbers: [Fact: Int] = [:]
  /// Of each act, the deed.
  private var acts: [Int] = []
  /// Acts whose place another took that was done with knowledge of them.
  private var replaced = EditSet()
  /// What each device has seen, by its own record.
  private var seen: [DeviceID: EditSet] = [:]
  private var pastOfTag: [ChangeTag: EditSet] = [:]
  private var pastOfVersion: [VersionKey: EditSet] = [:]
  /// What those who deleted the record had seen; nil while nobody did.
  private var pastOfDeletes: EditSet?

  /// A version that a device made, as its entry of the outbox and its save name it.
  private struct VersionKey: Hashable {
    var device: DeviceID
    var fields: [UInt8]?
    var modifiedAt: Int64
    var baseTag: ChangeTag
  }

  package init(outside: Outside) { self.outside = outside }

  package var count: Int { deeds.count }

  /// The deeds whose place nobody took, in the order in which they were done.
  package var standing: [Fact] {
    deeds.indices.filter { deed in
      acts.indices.allSatisfy { acts[$0] != deed || !replaced.contains($0) }
    }.map { deeds[$0] }
  }

  /// The deeds whose place was taken by somebody who did them too, but who had not heard that
  /// another had. They may stand or not: it depends on who hears of what first.
  package var doubtful: [Fact] {
    deeds.indices.filter { deed in
      let own = acts.indices.filter { acts[$0] == deed }
      return own.contains { replaced.contains($0) } && own.contains { !replaced.contains($0) }
    }.map { deeds[$0] }
  }

  /// Whether the record may be gone: somebody deleted it, and had seen what stands, or at least
  /// something that may have won over it before.
  package var mayBeGone: Bool {
    guard let pastOfDeletes else { return false }
    return acts.indices.allSatisfy { replaced.contains($0) || pastOfDeletes.contains($0) }
      || acts.indices.contains { pastOfDeletes.contains($0) }
  }

  /// A device holds a version that it made itself: `entry` stands in its outbox, where `before`
  /// stood under the same number.
  package func deviceMade(
    _ entry: OutboxEntry, insteadOf before: OutboxEntry? = nil, on device: DeviceID
  ) {
    let known = (seen[device] ?? EditSet()).union(pastOfTag[entry.base?.tag ?? 0] ?? EditSet())
    var past = known
    for fact in Fact.list(in: entry.fields ?? []) {
      let deed = number(of: fact)
      guard !acts.indices.contains(where: { acts[$0] == deed && known.contains($0) }) else {
        continue
      }
      past.insert(acts.count)
      acts.append(deed)
      let old = corrected(by: fact, entry, before)
      for act in acts.indices where known.contains(act) {
        let takesPlace = old.map { acts[act] == $0 } ?? fact.replaces(deeds[acts[act]])
        if takesPlace { replaced.insert(act) }
      }
    }
    seen[device] = past
    if entry.fields == nil { pastOfDeletes = (pastOfDeletes ?? EditSet()).union(past) }
    let key = VersionKey(
      device: device, fields: entry.fields, modifiedAt: entry.modifiedAt,
      baseTag: entry.base?.tag ?? 0)
    pastOfVersion[key] = (pastOfVersion[key] ?? EditSet()).union(past)
  }

  /// The deed of `before` that `fact` is with another stamp.
  private func corrected(
    by fact: Fact, _ entry: OutboxEntry, _ before: OutboxEntry?
  ) -> Int? {
    guard let before, before.modifiedAt != entry.modifiedAt else { return nil }
    return Fact.list(in: before.fields ?? [])
      .first { fact.corrects($0, by: entry.modifiedAt - before.modifiedAt) }
      .flatMap { numbers[$0] }
  }

  /// A device holds what the relay told it.
  package func deviceTook(tag: ChangeTag, on device: DeviceID) {
    seen[device] = (seen[device] ?? EditSet()).union(pastOfTag[tag] ?? EditSet())
  }

  /// The relay saved a version.
  package func relaySaved(_ record: Record, baseTag: ChangeTag?) {
    let key = VersionKey(
      device: record.device, fields: record.fields, modifiedAt: record.modifiedAt,
      baseTag: baseTag ?? 0)
    guard let past = pastOfVersion[key] else {
      outside.fault("the relay saved a version (tag \(record.tag)) that no device's outbox held")
      return
    }
    pastOfTag[record.tag] = past
  }

  private func number(of fact: Fact) -> Int {
    if let number = numbers[fact] { return number }
    numbers[fact] = deeds.count
    deeds.append(fact)
    return deeds.count - 1
  }

  package var description: String {
    let standing = standing
    let doubtful = doubtful
    return deeds.map { deed in
      let word =
        standing.contains(deed) ? "STANDS  " : doubtful.contains(deed) ? "doubtful" : "replaced"
      return "  \(word) \(deed)"
    }.joined(separator: "\n")
  }
}
