import LockstepCommandLine
import LockstepStorage
import LockstepStoragePostgres

/// Address of the bus, by which the relays of a store notify each other of changes.
package enum BusAddress: Hashable, Sendable {
  /// The store's database at an address without a pooler, for `NOTIFY`.
  case database(PostgresAddress)

  package init(_ text: String) throws(ValueFault) {
    let scheme = text.prefix { $0 != ":" }
    switch scheme {
    case "postgres", "postgresql":
      do throws(PostgresAddressFault) {
        self = .database(try PostgresAddress(text))
      } catch {
        throw ValueFault("\(error)")
      }
    default:
      throw ValueFault(
        "a bus is named by a URL such as postgres://user@host:5432/database, the direct address of "
          + "the database of --store")
    }
  }

  /// Text for errors and logs.
  package var text: String {
    switch self {
    case .database(let address): address.shown
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
    guard case .database(let direct) = bus, case .database(let address) = store else { return nil }
    do throws(StorageError) {
      try PostgresBus.checkSameDatabase(direct, as: address)
      return nil
    } catch {
      return "\(error)"
    }
  }
}

extension ValueKind where Value == BusAddress {
  /// The URL of a database.
  package static var busAddress: ValueKind {
    ValueKind("URL") { text throws(ValueFault) in try BusAddress(text) }
  }
}
