import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepRelay

struct StoreWorkTests {
  private let account = AccountID(rawValue: 1)
  private let device = DeviceID(rawValue: 2)
  private let origin = CommitOrigin(node: 3, connection: ConnectionID(rawValue: 4))

  private func make(_ store: MemoryZoneStore) {
    let made = NewDevice(
      id: device,
      description: DeviceDescription(deviceName: "A", platform: "", appVersion: ""),
      tokenHash: [1])
    let request = CommitRequest.createAccount(
      account, generation: 7, label: "", device: made, pairing: nil)
    let finished = StoreWork.commit([StoreCommitJob(request, by: origin)], on: store, wall: 1)
    #expect(finished.map(\.outcome) == [.success(.done)])
    #expect(finished.allSatisfy { $0.news == nil })
  }

  private func saveJob(_ number: Int, id: Int? = nil) -> StoreCommitJob {
    let request = save("r\(number)", base: 0, id: batch(id ?? number))
    return StoreCommitJob(
      .save(SaveCommit(account: account, device: device, request: request, digest: [9])),
      by: origin)
  }

  @Test func commitsBecomeNewsInTheirOrder() {
    let store = MemoryZoneStore()
    make(store)
    let finished = StoreWork.commit(
      [saveJob(1), saveJob(2), saveJob(1), saveJob(2, id: 9)], on: store, wall: 1)
    let links = finished.map { finished -> [Int64] in
      guard case .changed(let change)? = finished.news else { return [] }
      #expect(change.origin == origin)
      return [change.since.sequence, change.token.sequence]
    }
    // A retry and a conflict change nothing, and make no news.
    #expect(links == [[0, 1], [1, 2], [], []])
  }

  @Test func aLargeCommitHasNoFrame() {
    let fields = Array("{\"v\":\"\(String(repeating: "x", count: Limits.pushBytes))\"}".utf8)
    for (size, isThere) in [(10, true), (fields.count, false)] {
      let record = Record(
        zone: Name(trusted: "z"), name: Name(trusted: "r"), type: Name(trusted: "t"),
        fields: Array(fields.prefix(size)), modifiedAt: 1, device: device, tag: 1)
      var change = AccountChange(
        account: account, zone: record.zone, origin: origin,
        since: ChangeToken(generation: 7, sequence: 0),
        token: ChangeToken(generation: 7, sequence: 1), records: [record], events: [.create])
      change.encode()
      #expect((change.frame != nil) == isThere)
    }
  }

  @Test func aRevocationIsNews() {
    let store = MemoryZoneStore()
    make(store)
    let jobs = (0..<2).map { _ in
      StoreCommitJob(.revokeDevice(account, device), by: origin)
    }
    let finished = StoreWork.commit(jobs, on: store, wall: 1)
    let revoked = finished.map { finished in
      if case .revoked(account, device, origin)? = finished.news { true } else { false }
    }
    #expect(revoked == [true, false])
  }

  @Test func readsAreAnswered() {
    #expect(
      StoreWork.read(.read(.accountCount), on: MemoryZoneStore()) == .read(.success(.count(0))))
  }

  @Test func aStoreThatFailsAnswersAllAndTellsNobody() {
    let finished = StoreWork.commit([saveJob(1), saveJob(2)], on: BrokenStore(), wall: 1)
    #expect(finished.count == 2)
    for one in finished {
      #expect(one.outcome == .failure(BrokenStore.fault))
      #expect(one.news == nil)
    }
    #expect(
      StoreWork.read(.read(.accountCount), on: BrokenStore())
        == .read(.failure(BrokenStore.fault)))
  }
}

private final class BrokenStore: ZoneStore {
  static let fault = StorageError.readOnly(path: "s")

  func commit(_ requests: [CommitRequest], wall: Int64) throws(StorageError) -> [CommitResult] {
    throw BrokenStore.fault
  }

  func read(_ request: ReadRequest) throws(StorageError) -> ReadResult { throw BrokenStore.fault }
}
