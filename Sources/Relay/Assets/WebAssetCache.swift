import LockstepWire

/// The web pages of a relay: the account's pages on the public listener, and the owner's pages, in
/// the folder `status`, on the admin and control listeners.
public struct WebAssetCache: Sendable, Hashable {
  private static let inside = "status"
  private let files: [String: PageFile]

  /// If two pages have the same path, the first one is used.
  public init(_ pages: [PageFile] = []) {
    files = Dictionary(pages.map { ($0.path, $0) }) { first, _ in first }
  }

  /// Returns the page at a path for requests on that listener; nil if there is none.
  func page(at path: [String], door: Opening.Door) -> PageFile? {
    guard (path.first == WebAssetCache.inside) == (door != .front) else { return nil }
    let name =
      path == [WebAssetCache.inside] ? WebAssetCache.inside + "/" : path.joined(separator: "/")
    return files[name.isEmpty || name.hasSuffix("/") ? name + "index.html" : name]
  }
}
