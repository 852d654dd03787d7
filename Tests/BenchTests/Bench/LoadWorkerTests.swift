import LockstepModel
import LockstepWire
import Testing

@testable import LockstepBench

struct LoadWorkerTests {
  private let start = Instant(nanoseconds: 0)
  private let token = ChangeToken(generation: 1, sequence: 5)

  private func worker(_ task: LoadTask) -> LoadWorker {
    LoadWorker(task, random: SeededRandom(seed: 1))
  }

  private func welcome(_ worker: inout LoadWorker, newest: ChangeToken) {
    let message = RelayMessage.welcome(
      account: AccountID(rawValue: 1), device: DeviceID(rawValue: 1), token: newest, time: 0,
      keepAliveMilliseconds: 1)
    worker.handleMessage(message.encoded(), at: start)
  }

  private func fetched(_ worker: inout LoadWorker) -> ChangeToken?? {
    guard case .send(.fetch(_, let query)) = worker.drainSteps().first else { return .none }
    return .some(query.since)
  }

  private func page(to sequence: Int64, more: Bool) -> [UInt8] {
    RelayMessage.changes(
      id: nil,
      ChangePage(
        since: token, token: ChangeToken(generation: 1, sequence: sequence), more: more, changes: []
      )
    ).encoded()
  }

  @Test func aReaderThatIsPutOffAsksAgainWhenItIsTold() {
    var worker = worker(.snapshot)
    welcome(&worker, newest: token)
    #expect(fetched(&worker) == .some(nil))
    let refusal = Refusal(.overloaded, "Later.", retryAfterMilliseconds: 2_000)
    worker.handleMessage(RelayMessage.error(id: "1", refusal).encoded(), at: start)
    #expect(worker.deferredRequests == 1)
    #expect(worker.deadline == start.advanced(milliseconds: 2_000))
    worker.handleDeadline(at: start)
    #expect(worker.drainSteps().isEmpty)
    worker.handleDeadline(at: start.advanced(milliseconds: 2_000))
    #expect(fetched(&worker) == .some(nil))
  }

  @Test func anyOtherRefusalIsTheEnd() {
    var worker = worker(.upload(first: 0, records: 1, recordBytes: 1))
    welcome(&worker, newest: token)
    _ = worker.drainSteps()
    worker.handleMessage(
      RelayMessage.error(id: nil, Refusal(.overloaded, "No.")).encoded(), at: start)
    guard case .failed("No.")? = worker.drainSteps().first else {
      Issue.record("an upload that is refused is no measurement")
      return
    }
  }

  @Test func aHintMakesAReaderFetchFromWhereItStands() {
    var worker = worker(.catchUp(since: token))
    let newest = ChangeToken(generation: 1, sequence: 9)
    welcome(&worker, newest: newest)
    worker.handleMessage(page(to: 7, more: true), at: start)
    #expect(worker.drainSteps().isEmpty, "the rest comes by itself")
    worker.handleMessage(RelayMessage.changed(token: newest).encoded(), at: start)
    #expect(fetched(&worker) == .some(ChangeToken(generation: 1, sequence: 7)))
    worker.handleMessage(page(to: 9, more: false), at: start)
    #expect(worker.isDone)
  }

  @Test func aSocketHasNoMoreBatchesUnderWayThanItMay() {
    var worker = worker(.upload(first: 10, records: 100_000, recordBytes: 200))
    welcome(&worker, newest: token)
    var batches: [SaveRequest] = []
    for case .send(.save(let request)) in worker.drainSteps() { batches.append(request) }
    #expect(batches.count == Limits.socketRequests)
    #expect(batches.allSatisfy { $0.mutations.count == Limits.batchRecords })
    #expect(batches[0].mutations[0].name.text == "10")
    let answer = SaveAnswer(
      since: token, token: token,
      results: batches[0].mutations.map { .saved(name: $0.name, tag: 1) })
    worker.handleMessage(RelayMessage.saved(id: batches[0].id, answer).encoded(), at: start)
    #expect(worker.drainSteps().count == 1)
    #expect(worker.records == Limits.batchRecords)
  }

  @Test func batchesOfLargeRecordsKeepToTheBytesOfABatch() {
    var worker = worker(.upload(first: 0, records: 100, recordBytes: 100_000))
    welcome(&worker, newest: token)
    for case .send(let message) in worker.drainSteps() {
      #expect(message.encoded().count <= Limits.batchBytes)
    }
  }
}
