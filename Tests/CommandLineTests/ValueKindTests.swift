import LockstepClient
import LockstepCommand
import LockstepCommandLine
import LockstepModel
import LockstepWire
import Testing

struct ValueKindTests {
  private enum Rung: String, CaseIterable { case websocket, poll }

  private func value<Value>(_ kind: ValueKind<Value>, _ text: String) -> Value? {
    do throws(ValueFault) {
      return try kind.parse(text)
    } catch { return nil }
  }

  @Test func listenersAreAddressAndPort() {
    for (text, host, port) in [
      ("127.0.0.1:5625", "127.0.0.1", 5625), ("localhost:0", "localhost", 0), ("[::1]:1", "::1", 1),
      ("0.0.0.0:65535", "0.0.0.0", 65_535),
    ] {
      #expect(value(.listener, text) == .host(host, port: UInt16(port)), "\(text)")
    }
    for text in [
      "", ":", "127.0.0.1", "5625", ":5625", "a:", "a:65536", "a:-1", "a: 1", "::1:5625", "[::1]",
      "[]:1", "[a]:1", "http://a:1", "a b:1",
    ] {
      #expect(value(.listener, text) == nil, "\(text)")
    }
  }

  @Test func relaysAreURLs() {
    #expect(value(.relay, "http://h:7") == RelayAddress(host: "h", port: 7))
    #expect(value(.relay, "h:7") == nil)
  }

  @Test func numbersHaveBounds() {
    #expect(value(.integer(0...5), "5") == 5)
    for text in ["6", "-1", "1.0", "", " 1", "99999999999999999999"] {
      #expect(value(.integer(0...5), text) == nil, "\(text)")
    }
    #expect(value(.decimal(0...5, "M"), "0.05") == 0.05)
    #expect(value(.decimal(0...5, "M"), "5") == 5)
    for text in ["5.1", "-0.1", "nan", "inf", "0x1", "", "1e", "1,5"] {
      #expect(value(.decimal(0...5, "M"), text) == nil, "\(text)")
    }
    #expect(value(.seed, "18446744073709551615") == .max)
    #expect(value(.seed, "-1") == nil)
  }

  @Test func choicesAreTheirWords() {
    #expect(ValueKind<Rung>.choice.placeholder == "websocket|poll")
    #expect(value(.choice, "poll") == Rung.poll)
    #expect(value(ValueKind<Rung>.choice, "Poll") == nil)
  }

  @Test func textsAreNotEmpty() {
    #expect(value(.folder, "x") == "x")
    #expect(value(.folder, "") == nil)
  }
}
