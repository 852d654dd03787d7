import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepRelay

/// The node's small parts, each by itself.
struct PartsTests {
  @Test func differentBatchesHaveDifferentDigests() {
    let base = save("ab", id: batch(1))
    var others: [SaveRequest] = []
    func change(_ edit: (inout SaveRequest) -> Void) {
      var other = base
      edit(&other)
      others.append(other)
    }
    change { $0.zone = Name(trusted: "y") }
    change { $0.atomic = true }
    change { $0.mutations[0].name = Name(trusted: "a") }
    change { $0.mutations[0].type = Name(trusted: "bt") }
    change { $0.mutations[0].fields = nil }
    change { $0.mutations[0].fields = [] }
    change { $0.mutations[0].modifiedAt += 1 }
    change { $0.mutations[0].baseTag = 0 }
    change { $0.mutations[0].refusal = Refusal(.chunksMissing, "") }
    change { $0.mutations.append($0.mutations[0]) }
    change { $0.mutations = [] }
    let digests = ([base] + others).map { BatchDigest.hash(of: $0) }
    #expect(Set(digests).count == digests.count)
    // The id is the batch's name, and not a part of its digest.
    var renamed = base
    renamed.id = batch(2)
    #expect(BatchDigest.hash(of: renamed) == digests[0])
  }

  @Test func aQueueIsCloggedOnlyByWhatTheDriverTold() {
    var queue = SendQueue()
    let now = Instant(nanoseconds: 1)
    queue.recordSent(100, at: now)
    #expect(!queue.isClogged(limit: 50))
    #expect(queue.isCrowded(limit: 50, at: now))
    #expect(!queue.isCrowded(limit: 50, at: Instant(nanoseconds: 2)))
    queue.recordUnsent(60, at: now)
    #expect(queue.isClogged(limit: 50))
    queue.recordSent(100, at: now)
    #expect(queue.unsent == 160)
    queue.recordUnsent(0, at: now)
    #expect(!queue.isCrowded(limit: 50, at: now))
  }

  @Test func theHubTellsInTheOrderOfComing() {
    var hub = Hub()
    let account = AccountID(rawValue: 1)
    for slot in [4, 2, 9] as [Hub.Slot] {
      hub.addMember(slot, account)
      hub.addSocket(slot, account)
    }
    hub.addPoll(2, account)
    #expect(hub.watchers(of: account)?.sockets == [4, 2, 9])
    #expect(hub.pollCount == 1)
    hub.removeMember(2, account)
    #expect(hub.pollCount == 0)
    #expect(hub.watchers(of: account)?.sockets == [4, 9])
    hub.removeMember(4, account)
    hub.removeMember(9, account)
    #expect(hub.watchers(of: account) == nil)
    #expect(hub.accountCount == 0)
  }

  @Test func aConnectionIsSmall() {
    #expect(MemoryLayout<Connection>.stride <= 376)
    #expect(MemoryLayout<HTTPConnection>.stride <= 208)
  }

  @Test func theStoreQueueIsBounded() {
    var queue = StoreQueue(limit: 1)
    guard let id = queue.add(.sightings([]), .touchDevices([])) else {
      Issue.record("the first was refused")
      return
    }
    expect(queue.add(.sightings([]), .touchDevices([])), is: nil)
    expect(queue.add(.sweep), is: nil)
    expect(queue.removeRead(id).map { _ in true }, is: nil)
    expect(queue.removeCommit(id).map { _ in true }, is: true)
    expect(queue.removeCommit(id).map { _ in true }, is: nil)
    #expect(queue.count == 0)
    expect(queue.add(.sightings([]), .touchDevices([])) == nil, is: false)
  }

  @Test func slotsAreUsedAgainAndNamesAreNot() {
    var table = ConnectionTable()
    func connection(_ number: UInt64) -> Connection {
      Connection(
        id: ConnectionID(rawValue: number),
        opening: Opening(listenerKind: .public, peer: .local(path: "")))
    }
    let first = table.insert(connection(1))
    let second = table.insert(connection(2))
    table.remove(first)
    #expect(table.slot(of: ConnectionID(rawValue: 1)) == nil)
    expect(table.insert(connection(3)), is: first)
    #expect(table.slotsInUse == [first, second])
    #expect(table.count == 2)
  }

  @Test func aCommitMakesTheStoreGoodAgain() {
    var health = StoreHealth()
    let error = StorageError.readOnly(path: "s")
    expect(health.recordReadFailure(error), is: true)
    expect(health.recordCommitFailure(error), is: false)
    expect(health.recordReadSuccess(), is: false)
    #expect(health.fault == error)
    expect(health.recordCommitSuccess(), is: true)
    expect(health.recordCommitSuccess(), is: false)
    #expect(health.fault == nil)
  }

  @Test func aBadConfigurationIsToldWhole() {
    var configuration = RelayConfiguration()
    #expect(configuration.validate().isEmpty)
    configuration.nodes = 65
    configuration.node = 65
    configuration.keepAliveMilliseconds = 1
    configuration.limits.sendQueueBytes = 0
    #expect(configuration.validate().count == 4)
  }

  @Test func theBudgetIsForAll() {
    var configuration = RelayConfiguration()
    configuration.limits.bodyBudgetBytes = 100
    var admission = Admission(configuration)
    expect(admission.recordUse(60, before: 0, by: .anybody), is: true)
    expect(admission.recordUse(60, before: 0, by: .anybody), is: false)
    expect(admission.recordUse(0, before: 60, by: .anybody), is: true)
    #expect(admission.bodyBytes == 60)
  }
}
