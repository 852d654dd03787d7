import LockstepModel
import Testing

@testable import LockstepWire

struct RequestTargetTests {
  private typealias Item = RequestTarget.QueryItem

  private func parsed(_ text: String) throws(Refusal) -> RequestTarget {
    try RequestTarget(parsing: Array(text.utf8).span)
  }

  @Test(arguments: [
    ("/", []), ("//", ["", ""]), ("/v1/time", ["v1", "time"]), ("/v1/time/", ["v1", "time", ""]),
    ("/a%2Fb/c", ["a/b", "c"]), ("/a%2fb", ["a/b"]), ("/%C3%A9%20+", ["é +"]),
    ("/%00", ["\u{0}"]), ("/a;b=c/..", ["a;b=c", ".."]), ("/%2E%2e", [".."]),
    ("/|[]{}^`", ["|[]{}^`"]), ("http://relay:5625/v1/x", ["v1", "x"]),
    ("HTTPS://[::1]:80/a", ["a"]), ("http://relay", []), ("http://relay/", []),
  ])
  func pathsAreSplitBeforeTheyAreUnescaped(text: String, path: [String]) throws {
    #expect(try parsed(text).path == path)
    #expect(try parsed(text).query == [])
  }

  @Test func queriesAreUnescapedByItem() throws {
    let target = try parsed("/x?since=a%26b&zone=a+b%2Bc&flag&=v&a=b=c&&q=?/")
    #expect(target.path == ["x"])
    #expect(
      target.query == [
        Item(name: "since", value: "a&b"), Item(name: "zone", value: "a b+c"),
        Item(name: "flag", value: ""), Item(name: "", value: "v"), Item(name: "a", value: "b=c"),
        Item(name: "", value: ""), Item(name: "q", value: "?/"),
      ])
    #expect(target["since"] == "a&b")
    #expect(target["flag"] == "")
    #expect(target["none"] == nil)
    #expect(target.repeatedName == nil)
    #expect(try parsed("/x?a=1&b=2&a=1").repeatedName == "a")
    #expect(try parsed("/x?&&=").repeatedName == nil)
    #expect(try parsed("/x?").query == [])
    #expect(
      try parsed("http://h:1?a=b")
        == RequestTarget(path: [], query: [Item(name: "a", value: "b")], authority: "h:1"))
    #expect(try parsed("/x").authority == nil)
  }

  @Test(arguments: [
    "", "x", "*", "v1/time", "relay:80", "ftp://relay/", "http:/x", "http://", "http:///x",
    "http://u@relay/", "http://re lay/", "/%", "/%2", "/%zz", "/a%2", "/%C3", "/%ff", "/%ED%A0%80",
    "/é", "/a#b", "/a b", "/\u{0}", "/\t", "/a\"b", "/<", "/>", "/\\", "/x?a=%", "/x?%FF",
    "/x?a=\u{7F}",
  ])
  func brokenTargetsAreRefused(text: String) {
    #expect(throws: Refusal.self) { try parsed(text) }
  }

  @Test func whatIsWrittenIsReadAgain() throws {
    var random = SeededRandom(seed: 11)
    let letters = Array("ab/?&=+%#é 日\u{1}~.-_:😀")
    func word() -> String {
      String(
        (0..<Int.random(in: 0...6, using: &random)).map { _ in
          letters[Int.random(in: 0..<letters.count, using: &random)]
        })
    }
    for _ in 0..<500 {
      // A path of one empty segment has the same text as the empty path.
      var path = (0..<Int.random(in: 0...4, using: &random)).map { _ in word() }
      if path == [""] { path = [] }
      let query = (0..<Int.random(in: 0...3, using: &random)).map { _ in
        Item(name: word(), value: word())
      }
      let target = RequestTarget(path: path, query: query)
      #expect(try parsed(target.text) == target)
    }
  }
}
