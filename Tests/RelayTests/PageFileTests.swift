import LockstepWire
import Testing

@testable import LockstepRelay

/// Pages that browsers load from the relay.
struct PageFileTests {
  private func relay() -> TestRelay {
    TestRelay {
      $0.pages = WebAssetCache([
        PageFile(path: "index.html", bytes: Array("<!doctype html>".utf8)),
        PageFile(path: "status/index.html", bytes: Array("<!doctype html>…".utf8)),
        PageFile(
          path: "lockstep-1.2.3.js", bytes: Array("export {};".utf8), isImmutable: true),
      ])
    }
  }

  @Test func aPageComesOnceAndIsThenAskedAfter() throws {
    let client = HTTPClient(relay())
    let first = try client.call("GET", "/")
    #expect(first.status == 200 && first.body == Array("<!doctype html>".utf8))
    #expect(first.headers["Content-Type"] == "text/html; charset=utf-8")
    #expect(first.headers["Cache-Control"] == "no-cache")
    let policy = try #require(first.headers["Content-Security-Policy"])
    #expect(policy.contains("default-src 'none'") && !policy.contains("unsafe"))
    let tag = try #require(first.headers["ETag"])
    let again = try client.call("GET", "/", headers: [("If-None-Match", tag)])
    #expect(again.status == 304 && again.body.isEmpty)
    #expect(try client.call("GET", "/", headers: [("If-None-Match", "\"old\"")]).status == 200)
  }

  @Test func aFileWhosePathNamesItsVersionIsKeptForGood() throws {
    let client = HTTPClient(relay())
    let file = try client.call("GET", "/lockstep-1.2.3.js")
    #expect(file.headers["Cache-Control"] == "public, max-age=31536000, immutable")
    #expect(file.headers["Content-Type"] == "text/javascript; charset=utf-8")
    let other = try client.call("GET", "/lockstep-1.2.4.js")
    #expect(other.status == 404)
    #expect(other.json?["detail"]?.string?.contains("/lockstep.json names it") == true)
  }

  @Test(arguments: [AllowedOrigins.own, .listed(["https://app.example"]), .any])
  func aFileOfTheRelaysPagesIsTheSameWhateverPageNamesItsOrigin(
    _ origins: AllowedOrigins
  ) throws {
    let client = HTTPClient(
      TestRelay {
        $0.origins = origins
        $0.pages = WebAssetCache([
          PageFile(path: "page-1.js", bytes: [0x3B], isImmutable: true, isForOwnPages: true),
          PageFile(path: "lockstep-1.2.3.js", bytes: [0x3B], isImmutable: true),
        ])
      })
    for origin in [[], ["http://relay"], ["https://app.example"], ["https://evil.example"]] {
      let file = try client.call("GET", "/page-1.js", headers: origin.map { ("Origin", $0) })
      #expect(file.status == 200 && file.body == [0x3B])
      let others: [StaticString] = [
        "Vary", "Access-Control-Allow-Origin", "Access-Control-Expose-Headers",
      ]
      for name in others {
        #expect(file.headers[name] == nil)
      }
    }
    let shared = try client.call(
      "GET", "/lockstep-1.2.3.js", headers: [("Origin", "http://relay")])
    #expect(shared.headers["Access-Control-Allow-Origin"] != nil)
  }

  @Test func aFileInGzipIsDecodedForClientsThatDoNotAcceptIt() throws {
    // {"openapi":"3.1.0"} by `gzip -9n`.
    let coded: [UInt8] = [
      0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xAB, 0x56,
      0xCA, 0x2F, 0x48, 0xCD, 0x4B, 0x2C, 0xC8, 0x54, 0xB2, 0x52, 0x32, 0xD6,
      0x33, 0xD4, 0x33, 0x50, 0xAA, 0x05, 0x00, 0x5E, 0x3C, 0xE3, 0x4E, 0x13,
      0x00, 0x00, 0x00,
    ]
    let client = HTTPClient(
      TestRelay {
        $0.pages = WebAssetCache([
          PageFile(path: "openapi.json", bytes: coded, isGzipped: true)
        ])
      })
    let plain = try client.call("GET", "/openapi.json")
    #expect(plain.body == Array(#"{"openapi":"3.1.0"}"#.utf8))
    #expect(plain.headers["Content-Encoding"] == nil)
    #expect(plain.headers["Content-Type"] == "application/json")
    let small = try client.call("GET", "/openapi.json", headers: [("Accept-Encoding", "br, gzip")])
    #expect(small.body == coded && small.headers["Content-Encoding"] == "gzip")
    let tags = [plain, small].compactMap { $0.headers["ETag"] }
    #expect(Set(tags).count == 2)
    for answer in [plain, small] {
      #expect(answer.headers.list("Vary").contains("Accept-Encoding"))
      #expect(answer.headers["Cache-Control"] == "no-cache")
    }
    let held = try client.call(
      "GET", "/openapi.json", headers: [("Accept-Encoding", "gzip"), ("If-None-Match", tags[1])])
    #expect(held.status == 304 && held.headers["Content-Encoding"] == nil)
    #expect(held.headers.list("Vary").contains("Accept-Encoding"))
    let other = try client.call("GET", "/openapi.json", headers: [("If-None-Match", tags[1])])
    #expect(other.status == 200 && other.body == plain.body)
  }

  @Test func aPageIsOnlyRead() throws {
    let client = HTTPClient(relay())
    let head = try client.call("HEAD", "/")
    #expect(head.status == 200 && head.body.isEmpty)
    #expect(try client.call("POST", "/", "{}").status == 405)
    #expect(try client.call("GET", "/other").status == 404)
  }

  @Test func aBrowserThatAsksForTheStatusIsShownThePage() throws {
    let admin = HTTPClient(relay(), listenerKind: .admin)
    let shown = try admin.call("GET", "/status", headers: [("Accept", "text/html,*/*;q=0.8")])
    #expect(shown.headers["Content-Type"] == "text/html; charset=utf-8")
    #expect(try admin.call("GET", "/status").json?["connections"] != nil)
  }

  @Test func aTagIsThatOfTheBytes() {
    func tag(_ text: String) -> String { PageFile(path: "a", bytes: Array(text.utf8)).tag }
    #expect(tag("one") == tag("one") && tag("one") != tag("two"))
  }

  @Test(arguments: [
    ("a.html", "text/html; charset=utf-8"), ("b/c.js", "text/javascript; charset=utf-8"),
    ("a.css", "text/css; charset=utf-8"), ("icon.svg", "image/svg+xml"), ("icon.png", "image/png"),
    ("manifest.webmanifest", "application/manifest+json"), ("x", "application/octet-stream"),
  ])
  func theEndOfANameSaysWhatItIs(_ path: String, _ type: String) {
    #expect(PageFile(path: path, bytes: []).mediaType == type)
  }
}
