import LockstepRuntime
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepRelay

/// The owner's pages, below `/pages/`.
struct PageFolderTests {
  /// Folder in memory.
  private final class Pages: PageFolder {
    var files: [[String]: String] = [["index.html"]: "home"]
    var fault: StorageError?
    private(set) var asked: [[String]] = []

    func entry(at names: [String]) throws(StorageError) -> PageFolderEntry {
      asked.append(names)
      if let fault { throw fault }
      if let text = files[names] {
        let page = PageFile(path: names.joined(separator: "/"), bytes: Array(text.utf8))
        return .file(page, tag: page.tag)
      }
      return files.keys.contains { $0.starts(with: names) } ? .folder : .missing
    }
  }

  private func scene() -> (TestRelay, Pages) {
    let relay = TestRelay {
      $0.pages = WebAssetCache(
        [PageFile(path: "index.html", bytes: Array("own".utf8))], hasFolder: true)
    }
    let pages = Pages()
    relay.pages = pages
    return (relay, pages)
  }

  @Test func aPageHasThePolicyOfOurOwn() throws {
    let (relay, _) = scene()
    let client = HTTPClient(relay)
    let page = try client.call("GET", "/pages/")
    #expect(page.status == 200)
    #expect(page.body == Array("home".utf8))
    let own = try client.call("GET", "/")
    for name in ["Content-Security-Policy", "Referrer-Policy", "Cache-Control"] as [StaticString] {
      #expect(page.headers[name] != nil && page.headers[name] == own.headers[name])
    }
    let head = try client.call("HEAD", "/pages/")
    #expect(head.status == 200 && head.body.isEmpty)
    #expect(try client.call("PUT", "/pages/", "{}").status == 405)
  }

  @Test func aChangedPageIsSeenAtOnce() throws {
    let (relay, pages) = scene()
    let client = HTTPClient(relay)
    let tag = try #require(try client.call("GET", "/pages/").headers["ETag"])
    #expect(try client.call("GET", "/pages/", headers: [("If-None-Match", tag)]).status == 304)
    pages.files[["index.html"]] = "new"
    let new = try client.call("GET", "/pages/", headers: [("If-None-Match", tag)])
    #expect(new.status == 200 && new.body == Array("new".utf8))
  }

  @Test func aFolderHasASlashAtItsEnd() throws {
    let (relay, pages) = scene()
    pages.files[["a b", "index.html"]] = "below"
    let client = HTTPClient(relay)
    for (path, target) in [("/pages", "/pages/"), ("/pages/a%20b", "/pages/a%20b/")] {
      let moved = try client.call("GET", path)
      #expect(moved.status == 308)
      #expect(moved.headers["Location"] == target)
    }
    #expect(try client.call("GET", "/pages/a%20b/").body == Array("below".utf8))
  }

  @Test(arguments: [
    "/pages/..", "/pages/../x", "/pages/%2e%2e/x", "/pages/..%2Fx", "/pages/a%2Fb", "/pages/.git",
    "/pages/a/.b", "/pages//x", "/pages/./x", "/pages/a%00", "/pages/a%0A", "/pagesx", "/x/pages/",
  ])
  func aPathThatNamesNoPageIsNotRead(_ path: String) throws {
    let (relay, pages) = scene()
    let answer = try HTTPClient(relay).call("GET", path)
    #expect(answer.status == 404)
    #expect(pages.asked.isEmpty)
  }

  @Test func aPathHasALimit() {
    let deep = ["pages"] + Array(repeating: "a", count: 15)
    #expect(PageFolderEntry.names(of: deep)?.count == 15)
    #expect(PageFolderEntry.names(of: deep + ["a"]) == nil)
    #expect(PageFolderEntry.names(of: ["pages", String(repeating: "n", count: 255)]) != nil)
    #expect(PageFolderEntry.names(of: ["pages", String(repeating: "n", count: 256)]) == nil)
  }

  @Test func onlyTheFrontHasThem() throws {
    let (relay, pages) = scene()
    for kind in [.admin, .control] as [Opening.ListenerKind] {
      #expect(try HTTPClient(relay, listenerKind: kind).call("GET", "/pages/").status == 404)
    }
    #expect(pages.asked.isEmpty)
    let other = TestRelay()
    #expect(try HTTPClient(other).call("GET", "/pages/").status == 404)
  }

  @Test func aFolderThatCannotBeReadIsTriedAgain() throws {
    let (relay, pages) = scene()
    let client = HTTPClient(relay)
    pages.fault = .failed(path: "pages", operation: "read", detail: "broken")
    let refused = try client.call("GET", "/pages/")
    #expect(refused.status == 503)
    #expect(refused.headers["Retry-After"] != nil)
    pages.fault = nil
    #expect(try client.call("GET", "/pages/").status == 200)
    #expect(try client.call("GET", "/pages/none").status == 404)
  }
}
