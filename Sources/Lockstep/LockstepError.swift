import LockstepLanguage
import LockstepStorage

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
  /// The text cannot be the name of a zone.
  case invalidZone(String)
  /// Another process holds the home.
  case homeInUse(path: String)
  /// The process that holds the home ended, or did not answer: an edit may have been made.
  case holderGone(path: String)
  /// The process that holds the home has too many connections. Nothing was changed.
  case holderBusy(path: String)
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
  /// The text is neither a pairing code nor a link that contains one. Nothing was sent.
  case invalidCode(reason: String)
  /// The keys that come with a pairing code were not opened: the second half of the code is wrong
  /// or missing. The device has not joined, and the code is used up.
  case keysNotOpened(reason: String)
  /// This device does not have the keys of its account.
  case keysMissing(reason: String)
  /// The words are not the recovery phrase of the account's keys.
  case invalidPhrase(reason: String)
  /// The home has not joined an account.
  case notJoined
  /// The home has joined an account already.
  case alreadyJoined(account: String)
  /// The account that the home's records are from has revoked this device, and the call was about
  /// another account. Records of one account are never sent to another.
  case otherAccount(account: String)
  /// The device was paired for other zones than this one, or to read only: it changed nothing.
  case outOfScope(zone: String, scope: Lockstep.Scope)
  /// The record needs no decision.
  case nothingToDecide(id: String)
  /// The relay cannot be reached, or did not answer.
  case unreachable(relay: String, reason: String)
  /// The home was written by a newer version of the library.
  case homeTooNew(path: String, found: Int, known: Int)
  /// There is no home at the path.
  case noHome(path: String)
  /// The disk has no space left. Nothing was changed.
  case noSpace(path: String)
  /// The file cannot be read or written.
  case file(path: String, reason: String)
  case fileTooLarge(path: String, limit: Int)
  /// The content of a file is not available.
  case fileUnavailable(name: String, reason: String)
  /// The content of a file is sealed with a key that this device does not have.
  case fileKeyMissing(name: String, key: String)
  /// The content of a file does not open with the key with which it was sealed.
  case fileUnreadable(name: String, reason: String)
  /// Too many calls of one kind are in progress.
  case busy
  /// `leave` would lose changes that the relay does not have.
  case unsentChanges(count: Int)
  /// The device has no connection to the relay.
  case offline(reason: String)
  /// The relay's certificate is not trusted; nothing was sent to it.
  case untrusted(relay: String, reason: String)
  /// The connection to the relay ended before the answer: the call may have been performed.
  case unanswered(relay: String, reason: String)
  /// Another server answers at the address.
  case noRelay(address: String, reason: String)
  /// The account does not have this device any more.
  case revoked(reason: String)
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
    case .invalidZone(let zone):
      "\u{201C}\(zone)\u{201D} cannot be a zone; use 1 to 255 bytes of UTF-8, no control characters"
    case .homeInUse(let path):
      "another process holds the home \(path); close it there, or open another folder"
    case .holderGone(let path): LockstepError.textOfGone(path)
    case .holderBusy(let path):
      "the process that holds the home \(path) has too many connections; close some, or try again"
    case .home(let path, let reason):
      localized(
        "the home {home} cannot be used: {reason}", ["home": path, "reason": translated(reason)])
    case .unencodable(let type, let reason): "this \(type) cannot be saved: \(reason)"
    case .undecodable(let type, let id, let reason):
      "the record \(id) is no \(type): \(reason); an app that wrote it may be newer"
    case .noSuchRecord(let type, let id):
      "there is no \(type) with the id \(id); it may have been deleted; save a new one"
    case .recordTooLarge(let bytes, let limit):
      "the record has \(bytes) bytes, over \(limit); attach large content as a file"
    case .outboxFull: "too many changes wait for the relay; connect the device, then try again"
    case .notJoined: "this device has not joined an account; call createAccount or join first"
    case .alreadyJoined(let account): LockstepError.textOfJoined(account)
    case .otherAccount(let account): LockstepError.textOfRevoked(account)
    case .outOfScope(let zone, let scope): scope.explanation(ofEditIn: zone)
    case .nothingToDecide(let id): "the record \(id) needs no decision"
    case .homeTooNew(let path, let found, let known): LockstepError.textOfNewer(path, found, known)
    case .noHome(let path):
      localized("there is no home at {home}; open it with Lockstep.open first", ["home": path])
    case .noSpace(let path):
      localized("no space is left for {path}; free some, then try again", ["path": path])
    case .file(let path, let reason): "the file \(path) cannot be used: \(reason)"
    case .fileTooLarge(let path, let limit):
      "the file \(path) has over \(limit) bytes; attach it in parts"
    case .fileUnavailable(let name, let reason): LockstepError.textOfUnavailable(name, reason)
    case .fileKeyMissing(let name, let key): LockstepError.textOfSealed(name, key)
    case .fileUnreadable(let name, let reason):
      "the content of \(name) cannot be read: it is \(reason); attach the file again"
    case .busy: "too many calls are in progress; await some of them first"
    case .unsentChanges(let count): LockstepError.textOfUnsent(count)
    case .offline(let reason): "the relay cannot be reached: \(reason); try again later"
    case .unreachable(let relay, let reason): LockstepError.textOfUnreachable(relay, reason)
    case .untrusted(let relay, let reason): LockstepError.textOfUntrusted(relay, reason)
    case .unanswered(let relay, let reason): LockstepError.textOfUnanswered(relay, reason)
    case .noRelay(let address, let reason): LockstepError.textOfOther(address, reason)
    case .invalidCode(let reason), .keysNotOpened(let reason), .keysMissing(let reason),
      .invalidPhrase(let reason), .revoked(let reason), .refused(let reason):
      reason
    case .storage(let reason):
      localized("the device's store failed: {reason}", ["reason": translated(reason)])
    case .closed: "this Lockstep is closed; open the home again"
    }
  }

  private static func textOfUnreachable(_ relay: String, _ reason: String) -> String {
    localized(
      "the relay at {relay} cannot be reached: {reason}; is it running, and is "
        + "that its address?", ["relay": relay, "reason": translated(reason)])
  }

  private static func textOfUntrusted(_ relay: String, _ reason: String) -> String {
    localized(
      "{relay} is not trusted, and nothing was sent to it: {reason}",
      ["relay": relay, "reason": translated(reason)])
  }

  private static func textOfUnanswered(_ relay: String, _ reason: String) -> String {
    localized(
      "the relay at {relay} gave no answer: {reason}; try again",
      ["relay": relay, "reason": translated(reason)])
  }

  private static func textOfOther(_ address: String, _ reason: String) -> String {
    localized(
      "what answers at {address} is not a Lockstep relay ({reason}); check the "
        + "address", ["address": address, "reason": translated(reason)])
  }

  private static func textOfJoined(_ account: String) -> String {
    localized(
      "this device belongs to the account {account}; call leave first, or open "
        + "another folder", ["account": account])
  }

  private static func textOfNewer(_ path: String, _ found: Int, _ known: Int) -> String {
    localized(
      "the home {home} has schema {found}, and this library knows up to "
        + "{known}; update the app", ["home": path, "found": "\(found)", "known": "\(known)"])
  }

  private static func textOfGone(_ path: String) -> String {
    "the process that holds the home \(path) did not answer; the edit may have been made: read the "
      + "records before you repeat it"
  }

  private static func textOfRevoked(_ account: String) -> String {
    "the account \(account) has revoked this device, which still has its records: call join with a "
      + "code of that account, open another folder, or call leave, which removes the records"
  }

  private static func textOfUnavailable(_ name: String, _ reason: String) -> String {
    "the content of \(name) is not available: \(reason); try again once the device that attached "
      + "it has synced"
  }

  private static func textOfSealed(_ name: String, _ key: String) -> String {
    "the content of \(name) is sealed with the key \(key), which this device does not have; pair "
      + "it again with a device that shows the file"
  }

  private static func textOfUnsent(_ count: Int) -> String {
    (count == 1 ? "1 change was" : "\(count) changes were")
      + " not sent and would be lost; sync first, or leave with discardingUnsent"
  }
}

extension LockstepError {
  package init(_ error: StorageError) {
    self =
      switch error {
      case .inUse(let path, _): .homeInUse(path: path)
      case .tooNew(let path, let found, let known):
        .homeTooNew(path: path, found: found, known: known)
      case .diskFull(let path): .noSpace(path: path)
      case .corrupt, .readOnly, .gone, .failed, .unavailable: .storage(reason: "\(error)")
      }
  }
}
