import LockstepRuntime
import Testing

@testable import LockstepRelay

struct WebAssetCacheTests {
  private let cache = WebAssetCache(
    ["index.html", "client/limits.js", "status/index.html", "status/status.js"]
      .map { PageFile(path: $0, bytes: Array($0.utf8)) })

  private func path(_ path: [String], _ listenerKind: Opening.ListenerKind) -> String? {
    cache.page(at: path, listenerKind: listenerKind)?.path
  }

  @Test func eachDoorHasItsPages() {
    #expect(path([], .public) == "index.html")
    #expect(path(["client", "limits.js"], .public) == "client/limits.js")
    for listenerKind in [Opening.ListenerKind.admin, .control] {
      #expect(path(["status"], listenerKind) == "status/index.html")
      #expect(path(["status", ""], listenerKind) == "status/index.html")
      #expect(path(["status", "status.js"], listenerKind) == "status/status.js")
      #expect(path([], listenerKind) == nil)
      #expect(path(["client", "limits.js"], listenerKind) == nil)
    }
    #expect(path(["status"], .public) == nil)
    #expect(path(["status", "status.js"], .public) == nil)
  }

  @Test func nothingElseIsThere() {
    for name in [["client"], ["client", ""], ["..", "index.html"], ["Index.html"], ["a/b"]] {
      #expect(path(name, .public) == nil, "\(name)")
    }
    #expect(WebAssetCache().page(at: [], listenerKind: .public) == nil)
  }
}
