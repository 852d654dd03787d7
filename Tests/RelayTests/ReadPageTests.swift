import LockstepModel
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepRelay

struct ReadPageTests {
  private let token = ChangeToken(generation: 7, sequence: 9)

  private func page(records: Int) -> ChangePage {
    let record = Record(
      zone: Name(trusted: "z"), name: Name(trusted: "n"), type: Name(trusted: "t"),
      fields: Array(#"{"v":1}"#.utf8), modifiedAt: 1, device: DeviceID(rawValue: 1), tag: 9)
    return ChangePage(
      since: nil, token: token, more: true, changes: Array(repeating: record, count: records))
  }

  @Test func aFrameIsTheMessageThatASocketIsSent() throws {
    for request in [nil, "f"] {
      let read = ReadPage(page(records: 2), as: PageForm(shape: .frame(request: request)))
      var reader = WebSocketReader(role: .client, maximumMessageBytes: 1 << 20)
      reader.receive(read.bytes.span.bytes)
      guard case .text(let text)? = try reader.next() else {
        Issue.record("it is no text")
        return
      }
      #expect(try RelayMessage.decode(text) == .changes(id: request, page(records: 2)))
      #expect(read.token == token && read.more && read.since == nil)
      #expect(read.records.isEmpty && !read.isEmpty)
    }
  }

  @Test func anEventIsAChunkWhereTheStreamHasChunks() {
    let event = EncodedChanges(page(records: 1).changes)
      .event(since: nil, token: token, more: true)
    for (isChunked, bytes) in [(false, event), (true, HTTPWriter.chunk(event))] {
      let form = PageForm(shape: .event(isChunked: isChunked))
      #expect(ReadPage(page(records: 1), as: form).bytes == bytes)
    }
  }

  @Test(arguments: [true, false])
  func aBodyKeepsItsRecordsWhereTheyAreWanted(_ keepsRecords: Bool) throws {
    let read = ReadPage(page(records: 2), as: PageForm(shape: .body, keepsRecords: keepsRecords))
    #expect(try ChangePage.decoded(body: read.bytes) == page(records: 2))
    #expect(read.records == (keepsRecords ? page(records: 2).changes : []))
    #expect(ReadPage(page(records: 0), as: PageForm(shape: .body, keepsRecords: true)).isEmpty)
  }

  @Test func thePageIsMadeWhereItIsRead() {
    let store = MemoryZoneStore()
    let request = ReadRequest.changes(
      AccountID(rawValue: 1), since: nil, zones: .all, limit: 1)
    // The reason for a missing page is reported as for any other read.
    #expect(
      StoreWork.read(.page(request, as: PageForm(shape: .frame(request: nil))), on: store)
        == .read(.success(.refused(StoreRefusals.unknownAccount))))
  }
}
