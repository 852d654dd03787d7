/// Reason why a call failed. `description` is a sentence for a person, with the next step.
public enum LockstepError: Error, Hashable, Sendable {
  /// The relay's address is not of the form `https://HOST:PORT`.
  case invalidRelay(String)
  /// A type cannot be synced as it is declared.
  case invalidModel(type: String, reason: String)
  /// The type was not given to `Lockstep.open`.
  case unknownModel(type: String)
  /// The value's `id` cannot be a record's name.
  case invalidID(String)
  /// Another process holds the home.
  case homeInUse(path: String)
  /// The home's files cannot be read or written.
  case home(path: String, reason: String)
  /// The value cannot be stored as the fields of a record.
  case unencodable(type: String, reason: String)
  /// The record's fields do not decode as the type.
  case undecodable(type: String, id: String, reason: String)
  /// `update` found no record of this id.
  case noSuchRecord(type: String, id: String)
  /// The record's fields are too large.
  case recordTooLarge(bytes: Int, limit: Int)
  /// Too many changes wait for the relay.
  case outboxFull
  /// The home has not joined an account.
  case notJoined
  /// The home has joined an account already.
  case alreadyJoined(account: String)
  /// The record needs no decision.
  case nothingToDecide(id: String)
  /// The relay cannot be reached, or did not answer.
  case unreachable(reason: String)
  /// The relay refused the call.
  case refused(reason: String)
  /// The home's store failed: the disk is full or damaged. Nothing that was reported as saved is
  /// lost.
  case storage(reason: String)
  /// `close` was called.
  case closed
}

extension LockstepError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .invalidRelay(let text):
      "\(text) is not the address of a relay; give one of the form https://relay.example:5625"
    case .invalidModel(let type, let reason): "\(type) cannot be synced: \(reason)"
    case .unknownModel(let type):
      "\(type) is not in the list of records; add it to the call of Lockstep.open"
    case .invalidID(let id):
      "\u{201C}\(id)\u{201D} cannot be an id; use 1 to 255 bytes of UTF-8, no control characters"
    case .homeInUse(let path):
      "another process holds the home \(path); close it there, or open another folder"
    case .home(let path, let reason): "the home \(path) cannot be used: \(reason)"
    case .unencodable(let type, let reason): "this \(type) cannot be saved: \(reason)"
    case .undecodable(let type, let id, let reason):
      "the record \(id) is no \(type): \(reason); an app that wrote it may be newer"
    case .noSuchRecord(let type, let id):
      "there is no \(type) with the id \(id); it may have been deleted; save a new one"
    case .recordTooLarge(let bytes, let limit):
      "the record has \(bytes) bytes, over \(limit); attach large content as a file"
    case .outboxFull:
      "too many changes wait for the relay; connect the device, and try again once they are sent"
    case .notJoined:
      "this device has not joined an account; call createAccount or join first"
    case .alreadyJoined(let account):
      "this device belongs to the account \(account); call leave first, or open another folder"
    case .nothingToDecide(let id): "the record \(id) needs no decision"
    case .unreachable(let reason): "the relay cannot be reached: \(reason); try again later"
    case .refused(let reason): reason
    case .storage(let reason): "the device's store failed: \(reason)"
    case .closed: "this Lockstep is closed; open the home again"
    }
  }
}
