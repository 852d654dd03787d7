import LockstepJSON
import LockstepModel
import Testing

@testable import LockstepWire

@Suite struct RecordTests {
  @Test func randomRecordSurvivesTheRoundTrip() throws {
    var random = SeededRandom(seed: 71)
    for _ in 0..<1_000 {
      let record = random.record()
      #expect(try Record.decoded(body: record.encodedBody()) == record)
    }
  }

  @Test(arguments: ["zone", "name", "type", "modifiedAt", "device", "tag"])
  func recordThatLacksAMemberIsRefused(_ member: String) throws {
    var random = SeededRandom(seed: 72)
    let whole = try JSONValue(parsing: random.record().encodedBody())
    let body = whole.setting(member, to: nil as JSONValue?).serialized()
    #expect(
      refusal { () throws(Refusal) in try Record.decoded(body: body) }
        == Refusal(.badMessage, "`\(member)` is missing."))
  }

  @Test func recordIsEitherDeletedOrHasFields() throws {
    var random = SeededRandom(seed: 73)
    for _ in 0..<20 {
      let record = random.record()
      let whole = try JSONValue(parsing: record.encodedBody())
      let body = whole.setting("deleted", to: .bool(!record.isDeleted)).serialized()
      #expect(
        refusal { () throws(Refusal) in try Record.decoded(body: body) }?.code == .badMessage)
    }
  }
}
