import LockstepJSON
import LockstepModel
import Testing

@testable import LockstepWire

@Suite struct DeviceMessageTests {
  @Test func messagesHaveTheFormOfTheProtocol() throws {
    let token = ChangeToken(generation: 0xAB, sequence: 7)
    let zone = Name(trusted: "Timer")
    let id = try #require(BatchID(text: "0b5e7c1e-3f0a-4d6c-9a52-7d0f6a1b2c3d"))
    let mutations = [
      Mutation(
        name: Name(trusted: "current"), type: Name(trusted: "TimerState"),
        fields: bytes(#"{ "a" : 1 }"#), modifiedAt: 1_790_000_000_000, baseTag: 0),
      Mutation(
        name: Name(trusted: "old"), type: nil, fields: nil, modifiedAt: 5, baseTag: nil),
    ]
    let expected: [(DeviceMessage, String)] = [
      (.hello(token: nil, since: nil), #"{"op":"hello"}"#),
      (.hello(token: "s\"", since: token), #"{"op":"hello","token":"s\"","since":"ab.7"}"#),
      (.fetch(id: "1", FetchQuery()), #"{"op":"fetch","id":"1"}"#),
      (
        .fetch(id: "1", FetchQuery(since: token, zone: zone, limit: 5)),
        #"{"op":"fetch","id":"1","since":"ab.7","zone":"Timer","limit":5}"#
      ),
      (.time(id: "t", t0: JSONNumber(12)), #"{"op":"time","id":"t","t0":12}"#),
      (
        .save(SaveRequest(id: id, zone: zone, atomic: true, mutations: mutations)),
        #"{"op":"save","zone":"Timer","id":"0b5e7c1e-3f0a-4d6c-9a52-7d0f6a1b2c3d","atomic":true,"#
          + #""records":[{"name":"current","type":"TimerState","fields":{ "a" : 1 },"#
          + #""modifiedAt":1790000000000,"baseTag":0},"#
          + #"{"name":"old","deleted":true,"modifiedAt":5}]}"#
      ),
    ]
    for (message, json) in expected {
      #expect(text(message.encoded()) == json)
      #expect(try DeviceMessage.decode(bytes(json)) == message)
    }
  }

  @Test func randomMessageSurvivesTheRoundTrip() throws {
    var random = SeededRandom(seed: 11)
    for _ in 0..<2_000 {
      let message = random.deviceMessage()
      #expect(try DeviceMessage.decode(message.encoded()) == message)
    }
  }

  @Test func truncatedMessageIsRefused() {
    var random = SeededRandom(seed: 12)
    for _ in 0..<30 {
      let whole = random.deviceMessage().encoded()
      for length in 0..<whole.count {
        let refusal = refusal { () throws(Refusal) in
          try DeviceMessage.decode(Array(whole[..<length]))
        }
        #expect(refusal?.code == .badJSON)
      }
      let trailing = refusal { () throws(Refusal) in try DeviceMessage.decode(whole + [0x7D]) }
      #expect(trailing?.code == .badJSON)
    }
  }

  @Test func mutatedMessageIsDecodedOrRefused() {
    var random = SeededRandom(seed: 13)
    var refused = 0
    for _ in 0..<20_000 {
      var text = random.deviceMessage().encoded()
      for _ in 0..<random.count(1...3) { text.mutate(using: &random) }
      do throws(Refusal) {
        let message = try DeviceMessage.decode(text)
        // A decoded message can be encoded and decoded again.
        if case .save(let request) = message,
          request.mutations.contains(where: { $0.refusal != nil })
        {
          continue
        }
        #expect(
          refusal { () throws(Refusal) in try DeviceMessage.decode(message.encoded()) } == nil)
      } catch {
        refused += 1
        #expect(error.code.status == 400)
        #expect(!error.detail.isEmpty)
      }
      _ = DeviceMessage.requestID(in: text)
    }
    #expect(refused > 5_000)
  }

  @Test(
    arguments: [
      (#"{}"#, .badMessage, "`op` is missing."),
      (#"{"op":1}"#, .badMessage, "`op` must be a string."),
      (#"{"op":"sing"}"#, .badMessage, "`op` must be one of hello, save, fetch and time."),
      (#"{"op":"hello","token":5}"#, .badMessage, "`token` must be a string."),
      (#"{"op":"hello","since":5}"#, .badMessage, "`since` must be a string."),
      (
        #"{"op":"hello","since":"x"}"#, .badChangeToken,
        "`since` must be a token that the relay sent; omit it to start with a snapshot."
      ),
      (#"{"op":"fetch"}"#, .badMessage, "`id` is missing."),
      (#"{"op":"fetch","id":1}"#, .badMessage, "`id` must be a string of 1 to 128 bytes."),
      (#"{"op":"fetch","id":""}"#, .badMessage, "`id` must be a string of 1 to 128 bytes."),
      (#"{"op":"fetch","id":null}"#, .badMessage, "`id` must be a string of 1 to 128 bytes."),
      (
        #"{"op":"fetch","id":"1","zone":""}"#, .badName,
        "`zone` must be 1 to 255 bytes of UTF-8 without control characters."
      ),
      (
        #"{"op":"fetch","id":"1","limit":"5"}"#, .badMessage,
        "`limit` must be a whole number of records from 1 to 9007199254740991."
      ),
      (
        #"{"op":"fetch","id":"1","limit":0}"#, .badMessage,
        "`limit` must be a whole number of records from 1 to 9007199254740991."
      ),
      (#"{"op":"time","id":"1"}"#, .badMessage, "`t0` is missing."),
      (#"{"op":"time","t0":1}"#, .badMessage, "`id` is missing."),
      (#"{"op":"time","id":"1","t0":"1"}"#, .badMessage, "`t0` must be a number."),
    ] as [(String, RefusalCode, String)])
  func wrongMemberIsNamed(_ text: String, _ code: RefusalCode, _ detail: String) {
    let refusal = refusal { () throws(Refusal) in try DeviceMessage.decode(bytes(text)) }
    #expect(refusal == Refusal(code, detail))
  }

  @Test func idsAndNumbersThatAreEchoedHaveALimit() {
    let long = String(repeating: "1", count: Limits.requestIDBytes)
    func code(_ text: String) -> RefusalCode? {
      refusal { () throws(Refusal) in try DeviceMessage.decode(bytes(text)) }?.code
    }
    #expect(code("{\"op\":\"time\",\"id\":\"\(long)\",\"t0\":\(long)}") == nil)
    #expect(code("{\"op\":\"time\",\"id\":\"\(long)1\",\"t0\":1}") == .badMessage)
    #expect(code("{\"op\":\"time\",\"id\":\"1\",\"t0\":\(long)1}") == .badMessage)
  }

  @Test func nullMeansLeftOutWhereAMemberIsOptional() throws {
    #expect(
      try DeviceMessage.decode(bytes(#"{"op":"hello","token":null,"since":null}"#))
        == .hello(token: nil, since: nil))
    #expect(
      try DeviceMessage.decode(
        bytes(#"{"op":"fetch","id":"1","since":null,"zone":null,"limit":null}"#))
        == .fetch(id: "1", FetchQuery()))
  }

  @Test func moreThanAPageCountsAsAPage() throws {
    let cases = [(1, 1), (1000, 1000), (1001, 1000), (9_007_199_254_740_991, 1000)]
    for (wanted, given) in cases {
      let text = "{\"op\":\"fetch\",\"id\":\"1\",\"limit\":\(wanted)}"
      #expect(
        try DeviceMessage.decode(bytes(text)) == .fetch(id: "1", FetchQuery(limit: given)))
    }
  }

  @Test func idOfARefusedMessageIsFound() {
    let found: [(String, String?)] = [
      (#"{"op":"save","records":[],"id":"x"}"#, "x"), (#"{"id":"x","op":"#, "x"),
      (#"{"id":5}"#, nil), (#"{"id":""}"#, nil), ("[]", nil), ("{", nil), ("{}", nil),
      (#"{"op":01,"id":"x"}"#, nil),
    ]
    for (text, id) in found { #expect(DeviceMessage.requestID(in: bytes(text)) == id) }
  }
}
