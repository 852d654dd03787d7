import LockstepModel
import LockstepSimulation
import LockstepStorage
import Stages
import Testing

@testable import LockstepBench

struct LoadNodeTests {
  private func upload(_ relay: VirtualRelay, _ records: Int, account: Int = 0) throws -> LoadResult
  {
    let token = relay.credentials[account].token
    let task = LoadTask.upload(first: 0, records: records, recordBytes: 200)
    return try LoadStage(relay, [LoadDevice(token: token, task: task)]).next(\.result)
  }

  @Test func anUploadSavesEveryRecordOnce() throws {
    let relay = try VirtualRelay(accounts: 1, devices: 1)
    let result = try upload(relay, 1_001)
    #expect(result.records == 1_001)
    #expect(result.nanoseconds > 0)
    let account = relay.credentials[0].account
    guard case .token(let newest) = try relay.store.read(.newestToken(account)),
      case .page(let page) = try relay.store.read(
        .changes(account, since: nil, zones: .all, limit: 1))
    else {
      Issue.record("the account is gone")
      return
    }
    #expect(newest.sequence == 1_001)
    #expect((180...260).contains(page.changes[0].fields?.count ?? 0))
  }

  @Test func aSnapshotIsReadToItsEnd() throws {
    let relay = try VirtualRelay(accounts: 1, devices: 2)
    _ = try upload(relay, 2_500)
    let reader = LoadDevice(token: relay.credentials[1].token, task: .snapshot)
    let result = try LoadStage(relay, [reader]).next(\.result)
    #expect(result.records == 2_500)
    #expect(result.bytesReceived > 2_500 * 200)
  }

  @Test func whoComesBackGetsWhatItMissed() throws {
    let relay = try VirtualRelay(accounts: 1, devices: 4)
    guard
      case .token(let since) = try relay.store.read(
        .newestToken(relay.credentials[0].account))
    else { return }
    let devices = (1...3).map {
      LoadDevice(token: relay.credentials[$0].token, task: .catchUp(since: since))
    }
    // If nothing was missed, the task ends with the welcome.
    #expect(try LoadStage(relay, devices).next(\.result).records == 0)
    _ = try upload(relay, 2_100)
    let result = try LoadStage(relay, devices).next(\.result)
    #expect(result.records == 3 * 2_100)
    #expect(result.devices.count == 3)
    #expect(result.deferredRequests == 0)
  }

  @Test func onlySavesThatFallIntoTheWindowCount() throws {
    let relay = try VirtualRelay(accounts: 1, devices: 1)
    relay.commitNanoseconds = Span.milliseconds(30)
    let saver = LoadDevice(
      token: relay.credentials[0].token, task: .save(rate: 10, recordBytes: 100))
    let stage = LoadStage(relay, [saver])
    try stage.next(\.isReady)
    stage.run(seconds: 3)
    stage.order(.openWindow)
    stage.run(seconds: 2)
    stage.order(.closeWindow)
    let window = try stage.next(\.window)
    #expect((19...21).contains(window.count))
    #expect(window.leastNanoseconds >= Span.milliseconds(30))
    stage.order(.openWindow)
    stage.run(seconds: 1)
    stage.order(.closeWindow)
    #expect((9...11).contains(try stage.next(\.window).count), "each window begins anew")
    stage.stop()
    #expect(stage.reports.contains { if case .stopped = $0 { true } else { false } })
  }

  @Test func aStallOfTheRelayCountsForEverySaveThatWasDue() throws {
    let relay = try VirtualRelay(accounts: 1, devices: 1)
    relay.commitNanoseconds = Span.seconds(1)
    let saver = LoadDevice(
      token: relay.credentials[0].token, task: .save(rate: 10, recordBytes: 100))
    let stage = LoadStage(relay, [saver])
    stage.order(.openWindow)
    stage.run(seconds: 2)
    stage.order(.closeWindow)
    let window = try stage.next(\.window)
    #expect((18...21).contains(window.count), "they are made on time, whatever became of others")
    #expect(window.leastNanoseconds >= Span.seconds(1))
  }

  @Test func aRefusedTokenEndsTheLoad() throws {
    let relay = try VirtualRelay(accounts: 1, devices: 1)
    let stage = LoadStage(relay, [LoadDevice(token: "unknown", task: .snapshot)])
    #expect(try !stage.next(\.failure).isEmpty)
  }

  @Test func aRelayThatIsGoneEndsTheLoad() throws {
    let relay = try VirtualRelay(accounts: 1, devices: 1)
    let stage = LoadStage(
      relay,
      [LoadDevice(token: relay.credentials[0].token, task: .save(rate: 1, recordBytes: 100))])
    try stage.next(\.isReady)
    relay.kill()
    #expect(try stage.next(\.failure).contains("lost"))
  }
}
