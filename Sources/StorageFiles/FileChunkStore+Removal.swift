import Glibc
import LockstepModel
import LockstepStorage

extension FileChunkStore {
  /// Removes the store in `directory`, which nobody has open, with all its chunks; nothing where
  /// there is none. What is not the store's own stays, and the folder with it.
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
