import LockstepCommandLine
import LockstepNATS
import LockstepStorage
import LockstepStoragePostgres

/// Address of the bus, by which the relays of a store notify each other of changes.
package enum BusAddress: Hashable, Sendable {
  /// The store's database at an address without a pooler, for `NOTIFY`.
  case database(PostgresAddress)
  /// Servers of NATS.
  case nats(NATSAddress)

  package init(_ text: String) throws(ValueFault) {
    let scheme = text.prefix { $0 != ":" }
    switch scheme {
    case "postgres", "postgresql":
      do throws(PostgresAddressFault) {
        self = .database(try PostgresAddress(text))
      } catch {
        throw ValueFault("\(error)")
      }
    case "nats", "tls":
      do throws(NATSAddressFault) {
        self = .nats(try NATSAddress(text))
      } catch {
        throw ValueFault("\(error)")
      }
    default:
      throw ValueFault(
        "a bus is named by a URL such as nats://host:4222, or "
          + "postgres://user@host:5432/database, the direct address of the database of --store")
    }
  }

  /// Text for errors and logs.
  package var text: String {
    switch self {
    case .database(let address): address.shown
    case .nats(let address): address.shown
    }
  }

  /// Returns the fault of a bus whose store no other relay can share; nil if there is none.
  /// Connects to nothing.
  static func fault(of bus: BusAddress?, for store: StoreLocation) -> String? {
    guard let bus, case .folder(let path) = store else { return nil }
    return "--bus \(bus.text) is for relays that share a database, and the store \(path) is a "
      + "folder; remove --bus, or name the database (--store postgres://USER@HOST/DATABASE)"
  }

  /// Returns the fault of a bus that cannot be used with that store now; nil if there is none.
  static func connectionFault(of bus: BusAddress?, for store: StoreLocation) -> String? {
    if let fault = fault(of: bus, for: store) { return fault }
    // A relay also starts while NATS cannot be reached.
    guard case .database(let direct) = bus, case .database(let address) = store else { return nil }
    do throws(StorageError) {
      try PostgresBus.checkSameDatabase(direct, as: address)
      return nil
    } catch {
      return "\(error)"
    }
  }
}

/// Settings of the bus.
package struct BusSettings: Sendable {
  /// nil: the bus is the store's database, at the store's address.
  package var address: BusAddress?
  /// Password of NATS, or its token; nil if it needs none.
  package var password: String?

  package init(address: BusAddress? = nil, password: String? = nil) {
    self.address = address
    self.password = password
  }

  /// Reads the password from the first line of its file.
  init(_ arguments: Arguments) throws(CommandFailure) {
    address = arguments[RelayCommand.bus]
    guard let path = arguments[RelayCommand.busPasswordFile] else {
      if case .nats(let servers) = address, let user = servers.user {
        throw CommandFailure(
          "--bus names the user \(user); name the file of the password with --bus-password-file. "
            + "A token goes into that file, and not into the address", exitCode: .usage)
      }
      return
    }
    guard case .nats = address else {
      throw CommandFailure(
        "--bus-password-file is for a bus of NATS (--bus nats://HOST)", exitCode: .usage)
    }
    let text = String(decoding: try ConfigFile.bytes(of: path), as: UTF8.self)
    password = text.split(maxSplits: 1, whereSeparator: \.isNewline).first.map(String.init) ?? ""
    guard password != "" else {
      throw CommandFailure("\(path) has no password in its first line", exitCode: .usage)
    }
  }
}

extension ValueKind where Value == BusAddress {
  /// The URL of a database, or of servers of NATS.
  package static var busAddress: ValueKind {
    ValueKind("URL") { text throws(ValueFault) in try BusAddress(text) }
  }
}
