import LockstepModel
import LockstepStorage
import LockstepWire

/// The owner's own pages: the files of a folder, served below `/pages/` on the public listener. A
/// file is read for each request, on the files lane, so that a changed file is seen at once.
@usableFromInline
package protocol PageFolder: AnyObject {
  /// Returns the entry at a path of plain names (`PageFolderEntry.names`); the folder itself at an
  /// empty path. Blocks for as long as the disk takes.
  func entry(at names: [String]) throws(StorageError) -> PageFolderEntry
}

@usableFromInline
package enum PageFolderEntry: Hashable, Sendable {
  /// A file, and its entity tag, which takes too long to make on a node's loop.
  case file(PageFile, tag: String)
  case folder
  /// A file of more than `pageFileBytes`.
  case tooLarge
  case missing
}

extension PageFolderEntry {
  /// Maximum bytes of a file; an answer of this size is held in memory as a whole.
  package static let pageFileBytes = 4 << 20
  /// Maximum number of names in a path.
  private static let depthMax = 16
  /// Maximum bytes of a name, as in most file systems.
  private static let nameBytes = 255
  private static let root = "pages"

  /// Returns the names of the path below the folder, or nil if the path is not served: one outside
  /// `/pages/`, with a name that begins with a dot, or with a name that no file has. A path that
  /// ends with a slash means `index.html`.
  static func names(of path: [String]) -> [String]? {
    guard path.first == root, path.count <= depthMax else { return nil }
    var names = Array(path.dropFirst())
    if names.last?.isEmpty == true { names[names.count - 1] = "index.html" }
    let isServed = names.allSatisfy { name in
      !name.isEmpty && name.first != "." && name.utf8.count <= nameBytes
        && name.utf8.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "/") && $0 != 0x7F }
    }
    return isServed ? names : nil
  }
}
