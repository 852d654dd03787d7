import LockstepModel
import Testing

@testable import LockstepWire

@Suite struct ChangePageTests {
  @Test func randomPageSurvivesTheRoundTrip() throws {
    var random = SeededRandom(seed: 51)
    for _ in 0..<1_000 {
      let page = random.page()
      #expect(try ChangePage.decoded(body: page.encodedBody()) == page)
    }
  }

  @Test func pageHasTheFormOfTheProtocol() throws {
    let record = Record(
      zone: Name(trusted: "Z"), name: Name(trusted: "n"), type: Name(trusted: "T"),
      fields: bytes(#"{ }"#), modifiedAt: 5, device: DeviceID(rawValue: 0xFF), tag: 9)
    let page = ChangePage(
      since: ChangeToken(generation: 1, sequence: 8),
      token: ChangeToken(generation: 1, sequence: 9, zoneDigest: 2, pinned: 10), more: false,
      changes: [record])
    #expect(
      text(page.encodedBody())
        == #"{"since":"1.8","token":"1.9.z2.p10","more":false,"changes":[{"zone":"Z","name":"n","#
        + #""type":"T","fields":{ },"modifiedAt":5,"device":"00000000000000ff","tag":9,"#
        + #""deleted":false}]}"#)
  }

  @Test func lostTagsStandBehindTheChangesWhereThereAreAny() throws {
    let token = ChangeToken(generation: 1, sequence: 30)
    let page = ChangePage(
      since: nil, token: token, more: false, changes: [],
      lostTags: [TagGap(after: 1, through: 9), TagGap(after: 12, through: 20)])
    #expect(
      text(page.encodedBody())
        == #"{"since":null,"token":"1.30","more":false,"changes":[],"lostTags":[[1,9],[12,20]]}"#)
    for wrong in ["[[1]]", "[[1,2,3]]", "[1,2]", "{}", #"[["1","2"]]"#] {
      let body = #"{"since":null,"token":"1.1","more":false,"changes":[],"lostTags":\#(wrong)}"#
      #expect(throws: Refusal.self) { try ChangePage.decoded(body: bytes(body)) }
    }
  }

  @Test func wrongChangeIsNamed() {
    let body = #"{"since":null,"token":"1.1","more":false,"changes":[{"zone":"Z","tag":"x"}]}"#
    #expect(
      refusal { () throws(Refusal) in try ChangePage.decoded(body: bytes(body)) }
        == Refusal(
          .badMessage,
          "`changes[0].tag` must be a whole number from 0 to 9007199254740991."))
  }
}
