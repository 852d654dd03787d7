import LockstepJSON
import LockstepModel
import Testing

@testable import LockstepWire

@Suite struct MessageReaderTests {
  @Test func memberThatStandsTwiceIsRefusedByName() {
    let texts = [
      #"{"op":"time","id":"1","t0":1,"t0":2}"#, #"{"op":"time","id":"1","t0":1,"\u00740":2}"#,
    ]
    for text in texts {
      let refusal = refusal { () throws(Refusal) in try DeviceMessage.decode(bytes(text)) }
      #expect(refusal?.code == .badMessage)
      #expect(refusal?.detail == "`t0` occurs twice in one object; send it once.")
    }
    let twice = #"{"op":"hello","op":"hello"}"#
    #expect(
      refusal { () throws(Refusal) in try DeviceMessage.decode(bytes(twice)) }?.code == .badMessage)
  }

  @Test func opMayStandAnywhere() throws {
    let text = #" { "t0" : 1.50 , "id" : "x" , "later" : [ { } ] , "op" : "time" } "#
    let expected = DeviceMessage.time(id: "x", t0: try #require(JSONNumber("1.50")))
    #expect(try DeviceMessage.decode(bytes(text)) == expected)
    #expect(try DeviceMessage.decode(bytes(#"{"\u006fp":"time","id":"x","t0":1.50}"#)) == expected)
  }

  @Test func membersOfOtherMessagesAreIgnored() throws {
    // Their values are not validated either.
    let text = #"{"records":5,"zone":{},"since":[],"op":"time","id":"x","t0":1}"#
    #expect(
      try DeviceMessage.decode(bytes(text)) == .time(id: "x", t0: JSONNumber(1)))
  }

  @Test(arguments: [
    "", "{", #"{"op":"hello""#, #"{"op":"hello"}}"#, #"{"op":"hello"} x"#, #"{"op":"hello",}"#,
    #"{"op":"hello","x":01}"#, #"{"op":"hello","x":"\ud800"}"#, "{\"op\":\"hello\",\"x\":\"\n\"}",
    #"{"op":"later"#, #"{op:"hello"}"#, "nul",
  ]) func brokenJSONIsTold(_ text: String) {
    for refusal in [
      refusal { () throws(Refusal) in _ = try DeviceMessage.decode(bytes(text)) },
      refusal { () throws(Refusal) in _ = try RelayMessage.decode(bytes(text)) },
    ] {
      #expect(refusal?.code == .badJSON || text == "nul", "\(text)")
      #expect(refusal != nil)
    }
  }

  @Test(arguments: ["[]", "1", "null", #""hello""#, "true"])
  func messageThatIsNoObjectIsRefused(_ text: String) {
    let refusal = refusal { () throws(Refusal) in try DeviceMessage.decode(bytes(text)) }
    #expect(refusal == Refusal(.badMessage, "The message or body must be a JSON object."))
  }

  @Test func theWholeMessageIsValidatedWhateverItIs() {
    // After an unknown op, and in members that are not read.
    for text in [#"{"op":"later","x":[1,}"#, #"{"op":"changed","token":"1.1","x":"\q"}"#] {
      #expect(
        refusal { () throws(Refusal) in try RelayMessage.decode(bytes(text)) }?.code == .badJSON)
    }
  }
}
