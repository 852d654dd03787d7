import LockstepWire
import Testing

struct HTTPHeadersTests {
  @Test func namesAreFoundWhateverTheirCase() {
    let headers: HTTPHeaders = ["Content-Type": "text/plain", "X-a": "1"]
    #expect(headers["content-type"] == "text/plain")
    #expect(headers["CONTENT-TYPE"] == "text/plain")
    #expect(headers["x-A"] == "1")
    #expect(headers["content"] == nil)
    #expect(headers.contains("CONTENT-type"))
    #expect(!headers.contains("x"))
  }

  @Test func fieldsOfOneNameKeepTheirOrder() {
    let headers: HTTPHeaders = ["Via": "b", "Host": "x", "via": "a"]
    #expect(headers["Via"] == "b")
    #expect(headers.values("VIA") == ["b", "a"])
    #expect(headers.count == 3)
  }

  @Test func listsAreTakenApartOverAllFields() {
    let headers: HTTPHeaders = ["Connection": " , Upgrade,\tkeep-alive ,", "connection": "x"]
    #expect(headers.list("connection") == ["Upgrade", "keep-alive", "x"])
    #expect(headers.listContains("upgrade", in: "Connection"))
    #expect(headers.listContains("KEEP-ALIVE", in: "Connection"))
    #expect(!headers.listContains("keep", in: "Connection"))
    #expect(headers.list("Upgrade") == [])
  }

  @Test func membersOfAListAreFoundInTheirOwnCase() {
    let headers: HTTPHeaders = ["Sec-WebSocket-Protocol": "x, lockstep.v1", "A": "lockstep.v2"]
    #expect(headers.listContainsExactly("lockstep.v1", in: "sec-websocket-protocol"))
    #expect(!headers.listContainsExactly("Lockstep.v1", in: "Sec-WebSocket-Protocol"))
    #expect(!headers.listContainsExactly("lockstep.v", in: "Sec-WebSocket-Protocol"))
    #expect(!headers.listContainsExactly("lockstep.v2", in: "Sec-WebSocket-Protocol"))
  }

  @Test func theOnlyFieldOfANameIsFound() {
    let headers: HTTPHeaders = ["A": "1", "B": "2", "b": "3", "C": ""]
    #expect(headers.onlyBytes(of: "a").map(Array.init) == Array("1".utf8))
    #expect(headers.onlyBytes(of: "C")?.isEmpty == true)
    #expect(headers.onlyBytes(of: "B") == nil)
    #expect(headers.onlyBytes(of: "D") == nil)
    #expect(headers.count(of: "B") == 2 && headers.count(of: "D") == 0)
  }

  @Test(arguments: ["a\r\nSet-Cookie: b", "a\rb", "a\nb", "a\u{0}b", "a\u{7F}b"])
  func noValueEndsItsLine(value: String) {
    var headers = HTTPHeaders()
    headers.append("X", value)
    let bytes = HTTPWriter.response(status: 204, headers: headers)
    let text = String(decoding: bytes, as: UTF8.self)
    #expect(text.hasPrefix("HTTP/1.1 204 No Content\r\nX: a "))
    #expect(text.utf8.count { $0 == UInt8(ascii: "\n") } == 3)
    #expect(text.utf8.count { $0 == UInt8(ascii: "\r") } == 3)
    #expect(!text.utf8.contains(0))
  }

  @Test func tabsAndOtherScriptsStayInValues() {
    let headers: HTTPHeaders = ["X": "a\tb é"]
    #expect(headers["x"] == "a\tb é")
  }
}
