import LockstepStoragePostgres

/// Where a relay keeps its store.
enum StorePlace: Hashable, Sendable {
  /// A folder of this machine, for one relay.
  case folder(String)
  /// A PostgreSQL database, for as many relays as like.
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

  /// As errors and logs show it.
  var text: String {
    switch self {
    case .folder(let path): path
    case .database(let address): address.shown
    }
  }

  /// For what can be done with a folder alone. `advice`: what serves a database instead.
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
