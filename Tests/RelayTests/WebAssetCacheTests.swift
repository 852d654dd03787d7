import LockstepWire
import Testing

@testable import LockstepRelay

struct WebAssetCacheTests {
  private let shelf = WebAssetCache(
    ["index.html", "client/limits.js", "status/index.html", "status/status.js"]
      .map { PageFile(path: $0, bytes: Array($0.utf8)) })

  private func path(_ path: [String], _ door: Opening.Door) -> String? {
    shelf.page(at: path, door: door)?.path
  }

  @Test func eachDoorHasItsPages() {
    #expect(path([], .front) == "index.html")
    #expect(path(["client", "limits.js"], .front) == "client/limits.js")
    for door in [Opening.Door.admin, .control] {
      #expect(path(["status"], door) == "status/index.html")
      #expect(path(["status", ""], door) == "status/index.html")
      #expect(path(["status", "status.js"], door) == "status/status.js")
      #expect(path([], door) == nil)
      #expect(path(["client", "limits.js"], door) == nil)
    }
    #expect(path(["status"], .front) == nil)
    #expect(path(["status", "status.js"], .front) == nil)
  }

  @Test func nothingElseIsThere() {
    for name in [["client"], ["client", ""], ["..", "index.html"], ["Index.html"], ["a/b"]] {
      #expect(path(name, .front) == nil, "\(name)")
    }
    #expect(WebAssetCache().page(at: [], door: .front) == nil)
  }
}
