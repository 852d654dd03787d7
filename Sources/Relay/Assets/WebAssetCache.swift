import LockstepWire

/// The pages that a relay has for browsers: the account's, for everybody, and in the folder
/// `status` the owner's, for the inner doors.
public struct WebAssetCache: Sendable, Hashable {
  private static let inside = "status"
  private let files: [String: PageFile]

  /// Of two with one path the first counts.
  public init(_ pages: [PageFile] = []) {
    files = Dictionary(pages.map { ($0.path, $0) }) { first, _ in first }
  }

  /// What stands at a path for those who came through a door; nil where there is nothing.
  func page(at path: [String], door: Opening.Door) -> PageFile? {
    guard (path.first == WebAssetCache.inside) == (door != .front) else { return nil }
    let name =
      path == [WebAssetCache.inside] ? WebAssetCache.inside + "/" : path.joined(separator: "/")
    return files[name.isEmpty || name.hasSuffix("/") ? name + "index.html" : name]
  }
}
