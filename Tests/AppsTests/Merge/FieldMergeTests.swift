import LockstepApps
import LockstepJSON
import Testing

struct FieldMergeTests {
  private func merge(_ base: String?, newer: String, older: String) throws -> JSONValue {
    FieldMerge.merge(
      base: try base.map(json), newer: try json(newer), older: try json(older))
  }

  @Test func changeOfOneSideIsTaken() throws {
    let base = #"{"a": 1, "b": 1}"#
    #expect(
      try merge(base, newer: #"{"a": 2, "b": 1}"#, older: #"{"a": 1, "b": 3}"#)
        == json(#"{"a": 2, "b": 3}"#))
  }

  @Test func changeOfBothIsTheNewers() throws {
    #expect(
      try merge(#"{"a": 1}"#, newer: #"{"a": 2}"#, older: #"{"a": 3}"#) == json(#"{"a": 2}"#))
  }

  @Test func removalIsAChange() throws {
    #expect(try merge(#"{"a": 1}"#, newer: "{}", older: #"{"a": 1}"#) == json("{}"))
    #expect(try merge(#"{"a": 1}"#, newer: #"{"a": 1}"#, older: "{}") == json("{}"))
    #expect(try merge(#"{"a": 1}"#, newer: "{}", older: #"{"a": 2}"#) == json("{}"))
    #expect(try merge(#"{"a": 1}"#, newer: #"{"a": 2}"#, older: "{}") == json(#"{"a": 2}"#))
    #expect(try merge(#"{"a": 1}"#, newer: "{}", older: "{}") == json("{}"))
  }

  @Test func withoutBaseAllIsChange() throws {
    #expect(
      try merge(nil, newer: #"{"a": 1, "b": 1}"#, older: #"{"a": 2, "c": 2}"#)
        == json(#"{"a": 1, "b": 1, "c": 2}"#))
  }

  @Test func nullIsAValueAndNotAnAbsence() throws {
    #expect(
      try merge(#"{"a": 1}"#, newer: #"{"a": null}"#, older: #"{"a": 1}"#)
        == json(#"{"a": null}"#))
    #expect(try merge(#"{"a": null}"#, newer: "{}", older: #"{"a": null}"#) == json("{}"))
  }

  @Test func equalNumbersAreNoChange() throws {
    #expect(
      try merge(#"{"a": 1}"#, newer: #"{"a": 1.0}"#, older: #"{"a": 2}"#) == json(#"{"a": 2}"#))
  }

  @Test func namesAreToldApartByTheirBytes() throws {
    let fields = try merge(nil, newer: "{\"caf\u{E9}\": 1}", older: "{\"cafe\u{301}\": 2}")
    #expect(fields.members?.count == 2)
  }

  @Test func whatIsNoObjectHasNoFields() throws {
    #expect(try merge("[]", newer: "[1]", older: #"{"a": 1}"#) == json(#"{"a": 1}"#))
  }
}
