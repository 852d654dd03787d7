import LockstepModel
import Testing

@testable import LockstepWire

@Suite struct EncodedChangesTests {
  @Test func messageAndBodyWrapTheSameRecords() throws {
    var random = SeededRandom(seed: 61)
    for _ in 0..<300 {
      let page = random.page()
      let changes = EncodedChanges(page.changes, lostTags: page.lostTags)
      #expect(changes.count == page.changes.count)
      for id in [nil, random.text()] {
        let message = changes.message(
          id: id, since: page.since, token: page.token, more: page.more)
        #expect(try RelayMessage.decode(message) == .changes(id: id, page))
        #expect(message == RelayMessage.changes(id: id, page).encoded())
      }
      let body = changes.body(since: page.since, token: page.token, more: page.more)
      #expect(try ChangePage.decoded(body: body) == page)
      #expect(changes.bytes < body.count)
    }
  }
}
