import LockstepModel
import LockstepStorage
import Testing

/// Test case of the contract of every device's store: a claim, and its test on an empty store.
package struct ReplicaStory: Sendable, CustomTestStringConvertible {
  package let claim: String
  package let tell: @Sendable (ReplicaScene) throws -> Void

  init(_ claim: String, _ tell: @escaping @Sendable (ReplicaScene) throws -> Void) {
    self.claim = claim
    self.tell = tell
  }

  package var testDescription: String { claim }

  package static let all = ReplicaStories.all + ChunkStories.all
}

/// Device's store with helpers for the test cases.
package final class ReplicaScene {
  package private(set) var store: any ReplicaStore
  private let reopening: (any ReplicaStore) throws -> any ReplicaStore

  let zone = Name(trusted: "Notes")
  let type = Name(trusted: "Note")
  /// Versions of two writers.
  let vector = VersionVector()
    .adding(VersionID(writer: WriterID(rawValue: 1), number: 5))
    .adding(VersionID(writer: WriterID(rawValue: 9), number: 8))

  /// `reopening` closes a store and returns the reopened one.
  package init(
    _ store: any ReplicaStore, reopening: @escaping (any ReplicaStore) throws -> any ReplicaStore
  ) {
    self.store = store
    self.reopening = reopening
  }

  func reopen() throws { store = try reopening(store) }

  func write(_ changes: ReplicaChange...) throws { try store.write(changes) }

  func record(
    _ name: String, _ fields: String? = "{}", tag: ChangeTag = 1, zone: Name? = nil,
    type: Name? = nil
  ) -> Record {
    Record(
      zone: zone ?? self.zone, name: Name(trusted: name), type: type ?? self.type,
      fields: fields.map { Array($0.utf8) }, modifiedAt: 50, device: DeviceID(rawValue: .max),
      tag: tag)
  }

  func entry(
    _ number: Int64, _ name: String = "a", state: OutboxEntry.State = .waiting,
    base: Record? = nil, fields: String? = "{}", group: Int64? = nil,
    timeMade: Record? = nil
  ) -> OutboxEntry {
    OutboxEntry(
      number: number, key: RecordKey(zone: zone, name: Name(trusted: name)), type: type,
      fields: fields.map { Array($0.utf8) }, modifiedAt: -7, isStampTrusted: number % 2 == 0,
      base: base, state: state, group: group, timeMade: timeMade)
  }
}
