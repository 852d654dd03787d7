import LockstepModel
import Testing

@testable import LockstepClient

struct ArrivalQueueTests {
  private func page(_ token: Int64, bytes: Int = 2) -> ChangePage {
    let record = Record(
      zone: TestApp.zone, name: Name(trusted: "a"), type: TestApp.note,
      fields: [UInt8](repeating: 32, count: bytes), modifiedAt: 1, device: DeviceID(rawValue: 9),
      tag: token)
    return ChangePage(
      since: nil, token: ChangeToken(generation: 1, sequence: token), more: false,
      changes: [record])
  }

  @Test func whatWasFetchedPrecedesWhatWasPushed() {
    var queue = ArrivalQueue()
    #expect(queue.isEmpty)
    let fits = [queue.add(page(2), isFetched: false), queue.add(page(1), isFetched: true)]
    #expect(fits == [true, true])
    let answer = SaveAnswer(
      since: ChangeToken(generation: 1, sequence: 2),
      token: ChangeToken(generation: 1, sequence: 3), results: [])
    let id = BatchID(high: 1, low: 1)
    queue.add(id, answer, isLink: true)
    #expect(queue.last == .answer(id, answer, isLink: true))
    let all = queue.drain()
    #expect(all == [.page(page(1)), .page(page(2)), .answer(id, answer, isLink: true)])
    #expect(queue.isEmpty)
  }

  @Test func onlyAFewSmallPagesAreAskedForAhead() {
    var queue = ArrivalQueue()
    #expect(queue.hasRoomAhead)
    for token in 1..<Int64(Limits.pagesAhead) { _ = queue.add(page(token), isFetched: true) }
    #expect(queue.hasRoomAhead)
    _ = queue.add(page(9), isFetched: true)
    #expect(!queue.hasRoomAhead)
    #expect(queue.isFetched)
    let pages = queue.drain()
    #expect(pages == [1, 2, 3, 9].map { .page(page($0)) })
    _ = queue.add(page(1, bytes: Limits.pagesAheadBytes), isFetched: true)
    #expect(!queue.hasRoomAhead)
    _ = queue.drain()
    _ = queue.add(page(1), isFetched: false)
    #expect(!queue.hasRoomAhead)
    #expect(!queue.isFetched)
  }

  @Test func aPageThatDoesNotFitIsTurnedDown() {
    var queue = ArrivalQueue()
    let full = Limits.waitingArrivalBytes
    let fits = [full - 8, 8, 7].map { queue.add(page(1, bytes: $0), isFetched: false) }
    #expect(fits == [true, false, true])
    _ = queue.drain()
    let fitsNow = queue.add(page(2, bytes: 8), isFetched: false)
    #expect(fitsNow)
  }
}
