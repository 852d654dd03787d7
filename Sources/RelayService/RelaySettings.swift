import Glibc
import LockstepClient
import LockstepCommandLine
import LockstepModel

/// The relay's file of settings, for commands that act for a relay that does not run.
package enum RelaySettings {
  /// Option of commands that read the file.
  package static let option = CommandOption.optional(
    "settings", ValueKind.file,
    "The file of settings; if not given: /etc/lockstep/relay.conf for root, and "
      + "~/.config/lockstep/relay.conf for others.")

  /// Path of the file if none is named; nil if HOME is not set.
  package static var usualPath: String? {
    if geteuid() == 0 { return "/etc/lockstep/relay.conf" }
    return PersonFolders.settings { name in getenv(name).map { String(cString: $0) } }
      .map { $0 + "/relay.conf" }
  }

  /// Returns the `public-url` of the file, as a relay on this store would use it; nil if the file
  /// has none, or is that of another store. Throws only if the file was named.
  static func publicURL(
    of store: StoreLocation, named: String?
  ) throws(CommandFailure) -> RelayAddress? {
    guard let path = named ?? usualPath else { return nil }
    let entries: [String: ConfigFile.Entry]
    do throws(CommandFailure) {
      guard let bytes = try RelayACMEFolder.contents(of: path, atMost: Limits.configBytes) else {
        throw PlainFile.failure(path, "be read", ENOENT)
      }
      let file = ConfigFile(bytes, options: RelayCommand.command.options)
      if let fault = file.faults.first {
        throw CommandFailure("\(path) cannot be used: line \(fault.line): \(fault.reason)")
      }
      entries = file.entries
    } catch {
      // A relay would not start with the usual file either, and says why.
      guard named != nil else { return nil }
      throw error
    }
    do throws(ValueFault) {
      let own = try StoreLocation(entries["store"]?.text ?? RelayCommand.usualStore)
      guard own == store else { return nil }
    } catch {
      return nil
    }
    return entries["public-url"].flatMap { RelayAddress(url: $0.text) }
  }
}
