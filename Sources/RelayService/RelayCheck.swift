import Glibc
import LockstepCommandLine
import LockstepJSON
import LockstepStorage
import LockstepStoragePostgres
import LockstepTerminal

/// `lockstep relay --check`: shows the settings in force and the source of each, and whether a
/// relay could start with them. Starts and creates nothing.
struct RelayCheck {
  var settings: [Arguments.Setting]
  /// Faults as sentences, each with its next step.
  var faults: [String]

  init(
    _ arguments: Arguments, store: StoreLocation, bus: BusAddress?, certificate: String?,
    key: String?, pages: String?
  ) {
    settings = arguments.settings
    let storeFault = RelayCheck.fault(of: store)
    faults = [
      // Not compared with a store that cannot be reached.
      storeFault ?? BusAddress.connectionFault(of: bus, for: store),
      RelayCheck.fault(ofCertificate: certificate, key: key),
      pages.flatMap { OwnerPages.fault(of: $0) }, RelayCheck.fault(ofACME: arguments, store),
      OwnerPageAccess.fault(of: arguments),
    ].compactMap(\.self)
  }

  /// Returns a fault unless both files of the certificate can be read and belong together.
  static func fault(ofCertificate certificate: String?, key: String?) -> String? {
    do throws(CommandFailure) {
      _ = try RelayCertificate.named(certificate, key: key)
      return nil
    } catch {
      return error.message
    }
  }

  /// Returns a fault unless the settings for an authority can be used.
  private static func fault(ofACME arguments: Arguments, _ store: StoreLocation) -> String? {
    do throws(CommandFailure) {
      guard let acme = try RelayACME(arguments, store: store) else { return nil }
      return fault(ofFolder: acme.folder, "the folder", "--acme-folder")
    } catch {
      return error.message
    }
  }

  /// Prints the settings on standard output, and the faults on standard error.
  func report(isJSON: Bool) throws(CommandFailure) -> ExitCode {
    _ = try TerminalOutput.printed(isJSON ? json.text : text)
    guard faults.isEmpty else {
      throw CommandFailure(faults.joined(separator: "\nlockstep relay: "), exitCode: .usage)
    }
    return .success
  }

  var text: String {
    var table = TextTable([("SETTING", .left), ("VALUE", .left), ("FROM", .left)])
    for setting in settings {
      table.add(setting.name, setting.text ?? "-", setting.source.text)
    }
    return table.text
  }

  var json: JSONValue {
    [
      "settings": .array(
        settings.map { setting in
          [
            "name": .string(setting.name), "value": setting.text.map { .string($0) } ?? .null,
            "from": .string(setting.source.text),
          ]
        }),
      "faults": .array(faults.map { .string($0) }),
    ]
  }

  static func fault(of store: StoreLocation) -> String? {
    switch store {
    case .folder(let path): return fault(ofStore: path)
    case .database(let address):
      do throws(StorageError) {
        try PostgresZoneStore.checkReachable(address)
        return nil
      } catch {
        return "\(error)"
      }
    }
  }

  /// Returns a fault unless the folder exists and is writable, or can be created.
  static func fault(ofStore path: String) -> String? {
    fault(ofFolder: path, "the store", "--store")
  }

  /// Returns a fault unless the folder exists and is writable, or can be created. `option`: the one
  /// that names it.
  static func fault(ofFolder path: String, _ noun: String, _ option: String) -> String? {
    var folder = path
    var status = stat()
    while stat(folder, &status) != 0 {
      guard errno == ENOENT, let slash = folder.lastIndex(of: "/") else {
        return errno == ENOENT
          ? fault(path, in: ".", noun, option)
          : "\(noun) \(path) cannot be reached: \(String(cString: strerror(errno)))"
      }
      folder = slash == folder.startIndex ? "/" : String(folder[..<slash])
    }
    guard status.st_mode & S_IFMT == S_IFDIR else {
      return "\(noun) \(path) cannot be created: \(folder) is not a folder; name another one "
        + "(\(option))"
    }
    return fault(path, in: folder, noun, option)
  }

  private static func fault(
    _ path: String, in folder: String, _ noun: String, _ option: String
  ) -> String? {
    guard access(folder, W_OK | X_OK) != 0 else { return nil }
    let reason = String(cString: strerror(errno))
    return "\(noun) \(path) cannot be written: \(folder): \(reason); run as its owner, or name "
      + "another one (\(option))"
  }
}
