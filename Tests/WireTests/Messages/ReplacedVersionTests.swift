import LockstepModel
import Testing

@testable import LockstepWire

/// The body of a `PUT` of one record.
@Suite struct ReplacedVersionTests {
  private let name = Name(trusted: "a")

  @Test(
    arguments: [
      ("", nil), (#","baseTag":null"#, nil), (#","tag":7"#, .version(7)),
      (#","baseTag":3,"tag":7"#, .version(3)), (#","baseTag":0"#, .absent),
      (#","tag":0"#, .absent), (#","baseTag":"any","tag":7"#, .any),
    ] as [(String, ReplacedVersion?)])
  func theBodyNamesTheVersionThatItReplaces(_ members: String, _ base: ReplacedVersion?) throws {
    let body = #"{"type":"T","fields":{"n":1}\#(members)}"#
    let read = try Mutation.decoded(recordBody: bytes(body), name: name)
    #expect(read.base == base)
    #expect(read.mutation.name == name)
    #expect(read.mutation.fields.map(text) == #"{"n":1}"#)
    #expect(read.mutation.isStampedByRelay)
  }

  /// A record may be sent back as it was read, under any name.
  @Test func aRecordThatWasReadIsABody() throws {
    let record = Record(
      zone: Name(trusted: "z"), name: Name(trusted: "other"), type: Name(trusted: "T"),
      fields: bytes("{}"), modifiedAt: 5, device: DeviceID(rawValue: 1), tag: 9)
    let read = try Mutation.decoded(recordBody: record.encodedBody(), name: name)
    #expect(read.base == .version(9))
    #expect(
      read.mutation
        == Mutation(
          name: name, type: record.type, fields: record.fields, modifiedAt: 5, baseTag: 0))
  }

  @Test(
    arguments: [
      (#"{"fields":{}}"#, .badRequest, "`type` is missing."),
      (#"{"type":"T"}"#, .badRequest, "`fields` is missing."),
      (#"{"type":"T","fields":[]}"#, .badRequest, "`fields` must be a JSON object."),
      (
        #"{"deleted":true}"#, .badRequest,
        "A body with \"deleted\":true saves nothing; send DELETE to delete the record."
      ),
      ("[]", .badRequest, "The message or body must be a JSON object."),
    ] as [(String, RefusalCode, String)])
  func aBodyWithoutContentIsRefused(_ body: String, _ code: RefusalCode, _ detail: String) {
    let refusal = refusal { () throws(Refusal) in
      _ = try Mutation.decoded(recordBody: bytes(body), name: name)
    }
    #expect(refusal == Refusal(code, detail))
  }

  @Test(
    arguments: [
      (.any, nil, false), (.existing, nil, true), (.absent, 0, false), (.version(7), 7, false),
    ] as [(ReplacedVersion, ChangeTag?, Bool)])
  func eachBaseIsACondition(_ base: ReplacedVersion, _ baseTag: ChangeTag?, _ onlyExisting: Bool) {
    var mutation = Mutation(name: name, type: nil, fields: nil, modifiedAt: 0, baseTag: 3)
    mutation.setReplacedVersion(base)
    #expect(mutation.baseTag == baseTag)
    #expect(mutation.onlyExisting == onlyExisting)
  }
}
