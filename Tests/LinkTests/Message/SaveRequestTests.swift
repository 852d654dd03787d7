import Changes
import Testing

@testable import Link

@Suite struct SaveRequestTests {
  static let id = "0b5e7c1e-3f0a-4d6c-9a52-7d0f6a1b2c3d"
  static let zone = Name(trusted: "Timer")

  @Test func bodyHasTheFormOfTheProtocol() throws {
    let body =
      #"{"id":"\#(Self.id)","atomic":false,"zone":5,"records":[{"name":"a","type":"T","#
      + #""fields":{"x":[1, 2]},"chunks":[],"modifiedAt":7,"baseTag":3,"later":{}}]}"#
    let request = try SaveRequest.decoded(body: bytes(body), zone: Self.zone)
    #expect(
      request
        == SaveRequest(
          id: try #require(BatchID(text: Self.id)), zone: Self.zone, atomic: false,
          mutations: [
            Mutation(
              name: Name(trusted: "a"), type: Name(trusted: "T"), fields: bytes(#"{"x":[1, 2]}"#),
              modifiedAt: 7, baseTag: 3)
          ]))
    #expect(
      text(request.encodedBody())
        == #"{"id":"\#(Self.id)","records":[{"name":"a","type":"T","fields":{"x":[1, 2]},"#
        + #""modifiedAt":7,"baseTag":3}]}"#)
  }

  @Test func randomRequestSurvivesTheRoundTrip() throws {
    var random = SeededRandom(seed: 21)
    for _ in 0..<1_000 {
      let request = random.saveRequest()
      let body = request.encodedBody()
      #expect(try SaveRequest.decoded(body: body, zone: request.zone) == request)
      #expect(body.count <= request.encodedBytes * 2)
    }
  }

  @Test func fieldsKeepTheirBytes() throws {
    let fields = "{ \"b\" : 1.0,\t\"a\":\"\\u0041\\/\", \"a\": {} }"
    let request = try decode(#"{"name":"a","type":"T","fields":\#(fields) ,"modifiedAt":1}"#)
    #expect(request.mutations[0].fields.map(text) == fields)
  }

  @Test(
    arguments: [
      (#"{"records":[]}"#, .badRequest, "`id` is missing."),
      (#"{"id":"\#(id)"}"#, .badRequest, "`records` is missing."),
      (
        #"{"id":"x","records":[]}"#, .badRequest,
        "`id` must be a random UUID, such as 0b5e7c1e-3f0a-4d6c-9a52-7d0f6a1b2c3d."
      ),
      (#"{"id":7,"records":[]}"#, .badRequest, "`id` must be a string."),
      (#"{"id":"\#(id)","records":{}}"#, .badRequest, "`records` must be an array."),
      (#"{"id":"\#(id)","records":null}"#, .badRequest, "`records` must be an array."),
      (#"{"id":"\#(id)","records":[1]}"#, .badRequest, "`records[0]` must be a JSON object."),
      (#"{"id":"\#(id)","records":[],"atomic":1}"#, .badRequest, "`atomic` must be true or false."),
      ("[]", .badRequest, "The message or body must be a JSON object."),
    ] as [(String, RefusalCode, String)])
  func wrongBodyIsRefused(_ body: String, _ code: RefusalCode, _ detail: String) {
    let refusal = refusal { () throws(Refusal) in
      try SaveRequest.decoded(body: bytes(body), zone: Self.zone)
    }
    #expect(refusal == Refusal(code, detail))
  }

  @Test(
    arguments: [
      (#"{"type":"T","fields":{},"modifiedAt":1}"#, .badRequest, "`records[1].name` is missing."),
      (#"{"name":"a","fields":{},"modifiedAt":1}"#, .badRequest, "`records[1].type` is missing."),
      (#"{"name":"a","type":"T","modifiedAt":1}"#, .badRequest, "`records[1].fields` is missing."),
      (#"{"name":"a","type":"T","fields":{}}"#, .badRequest, "`records[1].modifiedAt` is missing."),
      (#"{"name":"a","deleted":true}"#, .badRequest, "`records[1].modifiedAt` is missing."),
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
        "`records[1].chunks` must be a string of 64 to 64 bytes."
      ),
    ] as [(String, RefusalCode, String)])
  func wrongRecordIsNamed(_ record: String, _ code: RefusalCode, _ detail: String) {
    let refusal = refusal { () throws(Refusal) in
      try decode(#"{"name":"first","deleted":true,"modifiedAt":1},"# + record)
    }
    #expect(refusal == Refusal(code, detail))
  }

  @Test(arguments: ["-1", "1.5", "9007199254740992", "1e30", "\"1\"", "null", "true", "-0.5"])
  func timeThatIsNoneIsRefused(_ number: String) {
    let refusal = refusal { () throws(Refusal) in
      try decode(#"{"name":"a","deleted":true,"modifiedAt":\#(number)}"#)
    }
    let expectation = "a whole number of milliseconds since 1970 from 0 to 9007199254740991"
    #expect(refusal == Refusal(.badRequest, "`records[0].modifiedAt` must be \(expectation)."))
  }

  @Test(arguments: ["-1", "0.5", "9007199254740992", "\"1\"", "null"])
  func baseTagThatIsNoneIsRefused(_ number: String) {
    // A null would otherwise mean to overwrite, which nobody may ask for by mistake.
    let refusal = refusal { () throws(Refusal) in
      try decode(#"{"name":"a","deleted":true,"modifiedAt":1,"baseTag":\#(number)}"#)
    }
    #expect(
      refusal
        == Refusal(
          .badRequest, "`records[0].baseTag` must be a whole number from 0 to 9007199254740991."))
  }

  @Test func wholeNumbersMayBeWrittenOtherwise() throws {
    let request = try decode(#"{"name":"a","deleted":true,"modifiedAt":1.5e3,"baseTag":2.0}"#)
    #expect(request.mutations[0].modifiedAt == 1500)
    #expect(request.mutations[0].baseTag == 2)
  }

  @Test func nameThatStandsTwiceIsRefusedByName() {
    let delete = #"{"name":"current","deleted":true,"modifiedAt":1}"#
    let other = #"{"name":"other","deleted":true,"modifiedAt":1}"#
    let escaped = #"{"name":"\u0063urrent","deleted":true,"modifiedAt":1}"#
    for records in [delete + "," + delete, delete + "," + other + "," + escaped] {
      #expect(
        refusal { () throws(Refusal) in try decode(records) }
          == Refusal(
            .badRequest,
            "The record \"current\" stands twice in the batch; send each record once."))
    }
    // Texts that look alike and differ in bytes are two names.
    let alike =
      #"{"name":"\u00e9","deleted":true,"modifiedAt":1},"#
      + #"{"name":"e\u0301","deleted":true,"modifiedAt":1}"#
    #expect(refusal { () throws(Refusal) in try decode(alike) } == nil)
  }

  @Test func batchHoldsSoManyRecords() {
    func records(_ count: Int) -> String {
      (0..<count).map { "{\"name\":\"\($0)\",\"deleted\":true,\"modifiedAt\":1}" }
        .joined(separator: ",")
    }
    #expect(refusal { () throws(Refusal) in try decode(records(Limits.batchRecords)) } == nil)
    #expect(
      refusal { () throws(Refusal) in try decode(records(Limits.batchRecords + 1)) }
        == Refusal(
          .tooManyRecords, "A batch holds at most 400 records; send the rest in another batch."))
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

  @Test func recordThatNamesPiecesIsRefusedAlone() throws {
    let hash = String(repeating: "0aF9", count: 16)
    let request = try decode(
      #"{"name":"a","type":"T","fields":{},"chunks":["\#(hash)","\#(hash)"],"modifiedAt":1},"#
        + #"{"name":"b","type":"T","fields":{},"chunks":[],"modifiedAt":1}"#)
    #expect(request.mutations.map { $0.refusal?.code } == [.chunksMissing, nil])
  }

  @Test func deleteKeepsNoType() throws {
    let request = try decode(
      #"{"name":"a","type":"T","fields":null,"deleted":true,"modifiedAt":1},"#
        + #"{"name":"b","type":"T","fields":{},"deleted":false,"modifiedAt":1}"#)
    #expect(request.mutations.map(\.isDelete) == [true, false])
    #expect(request.mutations.map(\.type) == [nil, Name(trusted: "T")])
  }

  @Test func socketSaveNamesItsZone() {
    let without = #"{"op":"save","id":"\#(Self.id)","records":[]}"#
    #expect(
      refusal { () throws(Refusal) in try DeviceMessage.decode(bytes(without)) }
        == Refusal(.badMessage, "`zone` is missing."))
    let long = String(repeating: "z", count: 256)
    let bad = #"{"op":"save","id":"\#(Self.id)","records":[],"zone":"\#(long)"}"#
    #expect(
      refusal { () throws(Refusal) in try DeviceMessage.decode(bytes(bad)) }?.code == .badName)
  }

  @Test func fieldsMayBeAsDeepInAnAnswerAsInASave() throws {
    let depth = Limits.jsonDepth
    func fields(_ depth: Int) -> String {
      String(repeating: #"{"a":"#, count: depth) + "1" + String(repeating: "}", count: depth)
    }
    let request = try decode(#"{"name":"a","type":"T","fields":\#(fields(depth)),"modifiedAt":1}"#)
    let record = Record(
      zone: Self.zone, name: Name(trusted: "a"), type: Name(trusted: "T"),
      fields: request.mutations[0].fields, modifiedAt: 1, device: DeviceID(rawValue: 1), tag: 1)
    let token = ChangeToken(generation: 1, sequence: 1)
    let answer = SaveAnswer(
      since: token, token: token, results: [.conflict(name: record.name, record: record)])
    #expect(try SaveAnswer.decoded(body: answer.encodedBody()) == answer)
    let deeper = #"{"name":"a","type":"T","fields":\#(fields(depth + 1)),"modifiedAt":1}"#
    #expect(refusal { () throws(Refusal) in try decode(deeper) }?.code == .badJSON)
  }

  private func decode(_ records: String) throws(Refusal) -> SaveRequest {
    let body = #"{"id":"\#(Self.id)","records":[\#(records)]}"#
    return try SaveRequest.decoded(body: bytes(body), zone: Self.zone)
  }
}
