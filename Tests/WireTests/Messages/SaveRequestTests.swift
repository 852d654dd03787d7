import LockstepModel
import Testing

@testable import LockstepWire

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

  @Test func timesAreAskedForByAMemberOfItsOwn() throws {
    for (member, isTimed) in [("true", true), ("false", false), ("null", false)] {
      let body = #"{"id":"\#(Self.id)","timed":\#(member),"records":[]}"#
      let request = try SaveRequest.decoded(body: bytes(body), zone: Self.zone)
      #expect(request.timed == isTimed)
      let said = isTimed ? #""timed":true,"# : ""
      #expect(text(request.encodedBody()) == #"{"id":"\#(Self.id)",\#(said)"records":[]}"#)
    }
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
      (#"{"id":"\#(id)","records":[],"timed":1}"#, .badRequest, "`timed` must be true or false."),
      ("[]", .badRequest, "The message or body must be a JSON object."),
    ] as [(String, RefusalCode, String)])
  func wrongBodyIsRefused(_ body: String, _ code: RefusalCode, _ detail: String) {
    let refusal = refusal { () throws(Refusal) in
      try SaveRequest.decoded(body: bytes(body), zone: Self.zone)
    }
    #expect(refusal == Refusal(code, detail))
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
            "The record \"current\" occurs twice in the batch; send each record once."))
    }
    // Texts that look alike but differ in bytes are two names.
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

  /// Some readers take the first value, some the last, and some refuse the record.
  @Test func fieldsRepeatNoName() {
    for fields in [#"{"a":1,"a":2}"#, #"{"a":{"b":[{"c":1,"d":0,"c":1}]}}"#] {
      let record = #"{"name":"a","type":"T","fields":\#(fields),"modifiedAt":1}"#
      #expect(refusal { () throws(Refusal) in try decode(record) }?.code == .badJSON)
    }
  }

  private func decode(_ records: String) throws(Refusal) -> SaveRequest {
    let body = #"{"id":"\#(Self.id)","records":[\#(records)]}"#
    return try SaveRequest.decoded(body: bytes(body), zone: Self.zone)
  }
}
