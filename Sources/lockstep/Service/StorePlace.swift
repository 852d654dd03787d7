import LockstepStoragePostgres

/// Location of a relay's store.
enum StorePlace: Hashable, Sendable {
  /// A folder of this machine, for one relay.
  case folder(String)
  /// A PostgreSQL database, for any number of relays.
  case database(PostgresAddress)

  init(_ text: String) throws(ValueFault) {
    guard text.contains("://") else {
      self = .folder(try ValueKind<String>.folder.parse(text))
      return
    }
    do throws(PostgresAddressFault) {
      self = .database(try PostgresAddress(text))
    } catch {
      throw ValueFault("\(error)")
    }
  }

  /// Text for errors and logs.
  var text: String {
    switch self {
    case .folder(let path): path
    case .database(let address): address.shown
    }
  }

  /// Returns the folder, for operations that support no database. `advice`: the alternative for a
  /// database.
  func folder(insteadOfDatabase advice: String) throws(CommandFailure) -> String {
    switch self {
    case .folder(let path): return path
    case .database(let address):
      throw CommandFailure("the store \(address.shown) is a database: \(advice)")
    }
  }
}

extension ValueKind where Value == StorePlace {
  /// A folder, or the URL of a database.
  static var storePlace: ValueKind {
    ValueKind("DIR|URL") { text throws(ValueFault) in try StorePlace(text) }
  }
}
