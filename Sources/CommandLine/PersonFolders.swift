import Glibc

/// Folders of a person on this machine, as the XDG base directory specification has them.
package enum PersonFolders {
  /// Returns the folder of the program's settings, `~/.config/lockstep`; nil if the person has
  /// none. `environment`: returns a variable's value.
  package static func settings(_ environment: (String) -> String?) -> String? {
    func folder(_ name: String) -> String? {
      environment(name).flatMap { $0.hasPrefix("/") ? $0 : nil }
    }
    let base = folder("XDG_CONFIG_HOME") ?? folder("HOME").map { $0 + "/.config" }
    return base.map { $0 + "/lockstep" }
  }

  /// Creates the folders above a file or folder. Only the user can read new ones. Returns the one
  /// that cannot be made, with the system's error; nil: all are there.
  package static func makeParents(of path: String) -> (folder: String, error: Int32)? {
    var folder = ""
    for part in path.split(separator: "/").dropLast() {
      folder += "/" + part
      if mkdir(folder, 0o700) == 0 || errno == EEXIST { continue }
      let error = errno
      // A parent that is there may refuse for another reason than that it is there (EROFS, EACCES).
      if access(folder, F_OK) != 0 { return (folder, error) }
    }
    return nil
  }
}
