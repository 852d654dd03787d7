import LockstepModel
import Testing

@testable import LockstepWire

@Suite struct ZoneListTests {
  @Test func zonesAreToldInTheirOrder() {
    let zones = ["a/b", "\"q\"", "日記"].map { Name(trusted: $0) }
    #expect(
      text(ZoneList(zones, more: true).encodedBody())
        == #"{"zones":[{"zone":"a/b"},{"zone":"\"q\""},{"zone":"日記"}],"more":true}"#)
    #expect(text(ZoneList([], more: false).encodedBody()) == #"{"zones":[],"more":false}"#)
  }
}
