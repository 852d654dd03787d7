import Glibc
import Lockstep
import LockstepClient
import LockstepCommandLine
import LockstepLanguage
import LockstepModel

/// Home of a person who names none: a folder in the user's data folder, as the XDG base directory
/// specification has it.
package enum DefaultHome {
  /// Its path, as the help shows it.
  package static let text = "~/.local/share/lockstep"

  /// Returns its path. Throws where a person's home would not be meant: for root, who works for
  /// others, and for a service without a home directory. `environment`: returns a variable's value.
  package static func path(
    _ environment: (String) -> String?, isRoot: Bool = geteuid() == 0
  ) throws(ValueFault) -> String {
    guard !isRoot else {
      throw ValueFault(
        localized(
          "root has no default; run this as the user whose device it is, or name "
            + "the home here or in LOCKSTEP_HOME"))
    }
    if let folder = environment("XDG_DATA_HOME"), folder.hasPrefix("/") {
      return folder + "/lockstep"
    }
    guard let home = environment("HOME"), home.hasPrefix("/") else {
      throw ValueFault(
        localized(
          "HOME is not set, so there is no default; name the home here or in "
            + "LOCKSTEP_HOME"))
    }
    return (home == "/" ? "" : home) + "/.local/share/lockstep"
  }

  /// Returns nil where there is none.
  private static var current: String? {
    do throws(ValueFault) {
      return try path { name in getenv(name).map { String(cString: $0) } }
    } catch {
      return nil
    }
  }

  /// The home at the default path, if there is one.
  package static var existing: HomeFolder? {
    current.map { HomeFolder(path: $0) }.flatMap { $0.exists ? $0 : nil }
  }

  package static func isDefault(_ folder: HomeFolder) -> Bool { folder.path == current }

  /// Creates the folders above the default home; does nothing for another home. Only the user can
  /// read new ones.
  package static func makeParents(of folder: HomeFolder) throws(CommandFailure) {
    guard isDefault(folder), let (path, error) = PersonFolders.makeParents(of: folder.path)
    else { return }
    throw CommandFailure(
      localized(
        "{path} cannot be made: {reason}; name another folder for the home with --home DIR",
        ["path": path, "reason": systemReason(String(cString: strerror(error)))]))
  }

  /// Homes in folders of this folder, which have names of their own.
  static func homes(in folder: HomeFolder) throws(CommandFailure) -> [HomeFolder] {
    let names = try ExportFolder.names(in: folder.path) ?? []
    return names.sorted().map { HomeFolder(path: "\(folder.path)/\($0)") }.filter(\.exists)
  }
}
