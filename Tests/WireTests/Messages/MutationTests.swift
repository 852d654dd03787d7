import LockstepModel
import Testing

@testable import LockstepWire

/// The records of a save, one by one.
@Suite struct MutationTests {
  @Test func fieldsKeepTheirBytes() throws {
    let fields = "{ \"b\" : 1.0,\t\"a\":\"\\u0041\\/\", \"A\": {} }"
    let request = try decode(#"{"name":"a","type":"T","fields":\#(fields) ,"modifiedAt":1}"#)
    #expect(request.mutations[0].fields.map(text) == fields)
  }

  @Test(
    arguments: [
      (#"{"type":"T","fields":{},"modifiedAt":1}"#, .badRequest, "`records[1].name` is missing."),
      (#"{"name":"a","fields":{},"modifiedAt":1}"#, .badRequest, "`records[1].type` is missing."),
      (#"{"name":"a","type":"T","modifiedAt":1}"#, .badRequest, "`records[1].fields` is missing."),
      (
        #"{"name":"","type":"T","fields":{},"modifiedAt":1}"#, .badName,
        "`records[1].name` must be 1 to 255 bytes of UTF-8 without control characters."
      ),
      (
        #"{"name":"a","type":"\u0085","fields":{},"modifiedAt":1}"#, .badName,
        "`records[1].type` must be 1 to 255 bytes of UTF-8 without control characters."
      ),
      (#"{"name":1}"#, .badRequest, "`records[1].name` must be a string."),
      (#"{"type":[]}"#, .badRequest, "`records[1].type` must be a string."),
      (#"{"fields":[]}"#, .badRequest, "`records[1].fields` must be a JSON object."),
      (#"{"fields":"{}"}"#, .badRequest, "`records[1].fields` must be a JSON object."),
      (
        #"{"name":"a","type":"T","fields":null,"modifiedAt":1}"#, .badRequest,
        "`records[1].fields` must be a JSON object; to delete a record send \"deleted\":true."
      ),
      (#"{"deleted":1}"#, .badRequest, "`records[1].deleted` must be true or false."),
      (
        #"{"name":"a","type":"T","fields":{},"deleted":true,"modifiedAt":1}"#, .badRequest,
        "`records[1]` has both `fields` and `deleted`; send one of the two."
      ),
      (#"{"chunks":{}}"#, .badRequest, "`records[1].chunks` must be an array."),
      (
        #"{"chunks":["ab"]}"#, .badRequest,
        "`records[1].chunks` must be an array of SHA-256 hashes, each 64 hexadecimal digits as a string."
      ),
    ] as [(String, RefusalCode, String)])
  func wrongRecordIsNamed(_ record: String, _ code: RefusalCode, _ detail: String) {
    let refusal = refusal { () throws(Refusal) in
      try decode(#"{"name":"first","deleted":true,"modifiedAt":1},"# + record)
    }
    #expect(refusal == Refusal(code, detail))
  }

  @Test(arguments: ["-1", "1.5", "9007199254740992", "1e30", "\"1\"", "true", "-0.5"])
  func timeThatIsNoneIsRefused(_ number: String) {
    let refusal = refusal { () throws(Refusal) in
      try decode(#"{"name":"a","deleted":true,"modifiedAt":\#(number)}"#)
    }
    let expectation = "a whole number of milliseconds since 1970 from 0 to 9007199254740991"
    #expect(refusal == Refusal(.badRequest, "`records[0].modifiedAt` must be \(expectation)."))
  }

  @Test(arguments: ["-1", "0.5", "9007199254740992", "true"])
  func baseTagThatIsNoneIsRefused(_ number: String) {
    let refusal = refusal { () throws(Refusal) in
      try decode(#"{"name":"a","deleted":true,"modifiedAt":1,"baseTag":\#(number)}"#)
    }
    #expect(
      refusal
        == Refusal(
          .badRequest, "`records[0].baseTag` must be a whole number from 0 to 9007199254740991."))
  }

  @Test(arguments: ["1", "", "ANY", "*"])
  func theOnlyWordForABaseTagIsAny(_ word: String) {
    let refusal = refusal { () throws(Refusal) in
      try decode(#"{"name":"a","type":"T","fields":{},"baseTag":"\#(word)"}"#)
    }
    #expect(
      refusal
        == Refusal(
          .badRequest,
          "`records[0].baseTag` must be the tag of a version, 0 for a new record, or \"any\" for "
            + "any version."))
  }

  /// Only the word "any" overwrites a version that was not read; only a deletion may omit its base.
  @Test(
    arguments: [
      ("", 0), (#","baseTag":null"#, 0), (#","baseTag":null,"tag":null"#, 0), (#","tag":7"#, 7),
      (#","tag":0"#, 0), (#","tag":7,"baseTag":null"#, 7), (#","tag":7,"baseTag":3"#, 3),
      (#","tag":7,"baseTag":"any""#, nil), (#","baseTag":"any""#, nil), (#","baseTag":3"#, 3),
    ] as [(String, ChangeTag?)])
  func theBaseIsStatedOrTheTagThatWasRead(_ members: String, _ base: ChangeTag?) throws {
    let request = try decode(
      #"{"name":"a","type":"T","fields":{}\#(members)},{"name":"b","deleted":true\#(members)}"#)
    let isStated = members.contains("3") || members.contains("7") || members.contains(#""tag":0"#)
    #expect(request.mutations.map(\.baseTag) == [base, isStated ? base : nil])
    let again = try DeviceMessage.decode(DeviceMessage.save(request).encoded())
    #expect(again == .save(request))
  }

  @Test(arguments: ["", #","modifiedAt":null"#])
  func aTimeThatIsOmittedIsTheRelays(_ members: String) throws {
    let request = try decode(
      #"{"name":"a","type":"T","fields":{}\#(members)},{"name":"b","deleted":true,"modifiedAt":0}"#)
    #expect(request.mutations.map(\.isStampedByRelay) == [true, false])
    let again = try DeviceMessage.decode(DeviceMessage.save(request).encoded())
    #expect(again == .save(request))
  }

  @Test func wholeNumbersMayBeWrittenOtherwise() throws {
    let request = try decode(#"{"name":"a","deleted":true,"modifiedAt":1.5e3,"baseTag":2.0}"#)
    #expect(request.mutations[0].modifiedAt == 1500)
    #expect(request.mutations[0].baseTag == 2)
  }

  @Test func recordThatIsTooLargeIsRefusedAlone() throws {
    func record(_ name: String, bytes: Int) -> String {
      let filler = String(repeating: "x", count: bytes - 8)
      return
        "{\"name\":\"\(name)\",\"type\":\"T\",\"fields\":{\"a\":\"\(filler)\"},\"modifiedAt\":1}"
    }
    let request = try decode(
      record("a", bytes: Limits.recordBytes) + "," + record("b", bytes: Limits.recordBytes + 1)
        + "," + record("c", bytes: 10))
    #expect(request.mutations.map { $0.refusal?.code } == [nil, .recordTooLarge, nil])
    #expect(request.mutations.map { $0.fields?.count } == [1_048_576, 1_048_577, 10])
  }

  @Test func aDeleteMayNameTheType() throws {
    let request = try decode(
      #"{"name":"a","type":"T","fields":null,"deleted":true,"modifiedAt":1},"#
        + #"{"name":"b","deleted":true,"modifiedAt":1},"#
        + #"{"name":"c","type":"T","fields":{},"deleted":false,"modifiedAt":1}"#)
    #expect(request.mutations.map(\.isDelete) == [true, true, false])
    let type = Name(trusted: "T")
    #expect(request.mutations.map(\.type) == [type, nil, type])
    let again = try DeviceMessage.decode(DeviceMessage.save(request).encoded())
    #expect(again == .save(request))
  }

  private func decode(_ records: String) throws(Refusal) -> SaveRequest {
    let body = #"{"id":"0b5e7c1e-3f0a-4d6c-9a52-7d0f6a1b2c3d","records":[\#(records)]}"#
    return try SaveRequest.decoded(body: bytes(body), zone: Name(trusted: "Timer"))
  }
}
