import Glibc
import LockstepModel
import LockstepStorage

extension FileChunkStore {
  /// Removes the store in `directory` with all its chunks; does nothing if there is none. No
  /// process may have it open. Files that do not belong to the store stay, and so does the folder.
  package static func remove(directory: String) throws(StorageError) {
    guard access(directory, F_OK) == 0 else { return }
    let root = try Folder(at: directory)
    for name in try root.names() {
      guard name == "incoming" || AccountID(text: name)?.text == name,
        let folder = try root.folder(name)
      else { continue }
      for file in try folder.names() { try folder.removeFile(file) }
      try root.removeFolder(name)
    }
    guard rmdir(directory) == 0 || errno == ENOTEMPTY || errno == EEXIST else {
      throw StorageError(errno: errno, path: directory, operation: "remove the folder")
    }
  }
}
