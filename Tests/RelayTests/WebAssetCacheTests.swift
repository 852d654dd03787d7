import LockstepRuntime
import Testing

@testable import LockstepRelay

struct WebAssetCacheTests {
  private let cache = WebAssetCache(
    [
      "index.html", "client/limits.js", "page/index.html", "page/page.js", "status/index.html",
      "status/status.js", "admin/index.html", "admin/admin.js",
    ].map { PageFile(path: $0, bytes: Array($0.utf8)) })

  private func path(
    _ path: [String], _ listenerKind: Opening.ListenerKind, hasPublicOwnerPage: Bool = false
  ) -> String? {
    cache.page(at: path, listenerKind: listenerKind, hasPublicOwnerPage: hasPublicOwnerPage)?.path
  }

  @Test func eachDoorHasItsPages() {
    #expect(path([], .public) == "index.html")
    #expect(path(["client", "limits.js"], .public) == "client/limits.js")
    for listenerKind in [Opening.ListenerKind.admin, .control] {
      #expect(path(["status"], listenerKind) == "status/index.html")
      #expect(path(["status", ""], listenerKind) == "status/index.html")
      #expect(path(["status", "status.js"], listenerKind) == "status/status.js")
      #expect(path(["admin"], listenerKind) == "admin/index.html")
      #expect(path(["admin", "admin.js"], listenerKind) == "admin/admin.js")
      #expect(path(["page", "page.js"], listenerKind) == "page/page.js")
      #expect(path(["page", ""], listenerKind) == nil)
      #expect(path([], listenerKind) == nil)
      #expect(path(["client", "limits.js"], listenerKind) == nil)
    }
    #expect(path(["status"], .public) == nil)
    #expect(path(["status", "status.js"], .public) == nil)
    #expect(path(["admin"], .public) == nil)
    #expect(path(["admin", "admin.js"], .public) == nil)
  }

  @Test func theOwnersPageMayBePublic() {
    func found(_ names: [String]) -> String? { path(names, .public, hasPublicOwnerPage: true) }
    #expect(found(["admin"]) == "admin/index.html")
    #expect(found(["admin", ""]) == "admin/index.html")
    #expect(found(["admin", "admin.js"]) == "admin/admin.js")
    #expect(found(["status", "status.js"]) == "status/status.js")
    for names in [["status"], ["status", ""], ["status", "index.html"]] {
      #expect(found(names) == nil, "\(names)")
    }
  }

  @Test func theReferenceOfTheCallsIsPublic() {
    let cache = WebAssetCache(
      ["docs/index.html", "docs/docs.js", "openapi.json"].map { PageFile(path: $0, bytes: []) })
    for path in [["docs"], ["docs", ""]] {
      #expect(cache.page(at: path, listenerKind: .public)?.path == "docs/index.html")
    }
    for path in [["docs"], ["docs", "docs.js"], ["openapi.json"]] {
      #expect(cache.page(at: path, listenerKind: .public) != nil)
      #expect(cache.page(at: path, listenerKind: .admin) == nil)
      #expect(cache.page(at: path, listenerKind: .control) == nil)
    }
  }

  @Test(
    arguments: [
      (["openapi"], "/openapi.json"), (["v1", "openapi.json"], "/openapi.json"),
      (["openapi.yaml"], "/openapi.json"), (["swagger.json"], "/openapi.json"),
      (["OpenAPI.json"], "/openapi.json"), (["doc"], "/docs"), (["Docs"], "/docs"),
      (["v1", "docs", ""], "/docs"), (["redoc"], "/docs"), (["api-docs"], "/docs"),
      (["something"], nil), ([], nil), ([""], nil), (["a", "b", "c", "docs"], nil),
    ] as [([String], String?)])
  func aPersonFindsTheReferenceOfTheCalls(_ path: [String], _ nearest: String?) {
    let cache = WebAssetCache(
      ["docs/index.html", "openapi.json"].map { PageFile(path: $0, bytes: []) })
    #expect(cache.nearestDescription(to: path, at: .public) == nearest)
    #expect(cache.nearestDescription(to: path, at: .admin) == nil)
    #expect(WebAssetCache().nearestDescription(to: path, at: .public) == nil)
  }

  @Test func nothingElseIsThere() {
    for name in [["client"], ["client", ""], ["..", "index.html"], ["Index.html"], ["a/b"]] {
      #expect(path(name, .public) == nil, "\(name)")
    }
    #expect(WebAssetCache().page(at: [], listenerKind: .public) == nil)
  }
}
