import Testing

@testable import LockstepWire

struct WebSocketExtensionTests {
  private func list(_ fields: String...) -> [WebSocketExtension]? {
    var headers = HTTPHeaders()
    for field in fields { headers.append("Sec-WebSocket-Extensions", field) }
    return WebSocketExtension.list(of: headers)
  }

  private func member(_ name: String, _ parameters: (String, String?)...) -> WebSocketExtension {
    WebSocketExtension(name: name, parameters: parameters.map { .init(name: $0, value: $1) })
  }

  @Test func membersHaveParametersWithAndWithoutValues() {
    #expect(list() == [])
    #expect(list("") == [])
    #expect(list("a") == [member("a")])
    #expect(list("a, b;c ; d=e") == [member("a"), member("b", ("c", nil), ("d", "e"))])
    #expect(list("a;b=\"10\"; c = \"x\\y\"") == [member("a", ("b", "10"), ("c", "xy"))])
    #expect(list("a;x", "b") == [member("a", ("x", nil)), member("b")])
    #expect(list(" ,, a ,\t") == [member("a")])
  }

  @Test(arguments: [
    "a;", "a;;b", ";a", "a b", "a;b=", "a;b=\"", "a;b=\"\"", "a;b=\"c", "a;b=\"c d\"", "a;b=\"c\"d",
    "a;b=\"c\\", "a;=c", "=", "a=b", "a/b", "é", "a,b;", "a;b==c", "a;b=\"c,d\"",
  ])
  func whatBreaksTheGrammarIsNoList(_ field: String) {
    #expect(list(field) == nil)
    #expect(list("a", field) == nil)
  }
}
