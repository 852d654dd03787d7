import LockstepApps
import LockstepEventLoop
import LockstepModel
import LockstepWire

/// The vault's key on this device: creation, transfer and recovery. It never leaves a device
/// unencrypted, unless a person writes it down.
enum VaultKeys {
  /// Returns the seal with this home's key, or nil if the home has no key yet.
  static func seal(in folder: HomeFolder) throws(CommandFailure) -> VaultSeal? {
    try VaultKeyFile(folder).key().map(VaultSeal.init)
  }

  /// Returns a function for the apps that reads the key at each call, so that a key that arrives
  /// while the process runs is used at once. A file that cannot be read counts as no key; the
  /// commands about keys report its fault.
  static func source(in folder: HomeFolder) -> @Sendable () -> VaultKey? {
    {
      do throws(CommandFailure) {
        return try VaultKeyFile(folder).key()
      } catch {
        return nil
      }
    }
  }

  /// Returns the home's key. Creates it if this is the account's first device with a vault. If
  /// another device was first, throws with instructions to get its key.
  static func ensure(_ session: HomeSession) throws(CommandFailure) -> VaultKey {
    if let key = try VaultKeyFile(session.folder).key() { return key }
    return try ensure(session.folder, VaultRecords(HomeMember(of: session)))
  }

  static func ensure(
    _ folder: HomeFolder, _ records: VaultRecords
  ) throws(CommandFailure) -> VaultKey {
    let file = VaultKeyFile(folder)
    if let key = try file.key() { return key }
    // A key of an earlier attempt, whose result is unknown, is as good as a new one.
    let key: VaultKey
    if let attempt = try file.newKey() {
      key = attempt
    } else {
      key = try file.keepNew(drawnKey)
    }
    let standing: String
    do throws(CommandFailure) {
      standing = try records.announce(key)
    } catch {
      throw CommandFailure(
        "the vault's key, made once for an account, could not be made: \(error.message ?? ""); "
          + "do it again with the relay in reach")
    }
    guard standing == key.id else {
      try file.dropNew()
      throw CommandFailure(
        "this account's vault has a key already, and this device does not have it: get a code "
          + "with lockstep agent pair on a device that has it, and give it to lockstep agent vault "
          + "unlock --home \(folder.path), or bring it with lockstep agent vault restore; "
          + wayOut(of: standing))
    }
    try file.adoptNew()
    return key
  }

  /// Returns advice for an account that names a key that none of its devices has.
  static func wayOut(of id: String) -> String {
    "if none of your devices has that key, and no phrase of it is written down, somebody else has "
      + "put it there: lockstep agent vault new-key --instead-of \(id) puts this device's in its "
      + "place"
  }

  /// Makes this home's key, or a new one, the account's key in place of the named one.
  static func replace(
    _ id: String, _ folder: HomeFolder, _ records: VaultRecords
  ) throws(CommandFailure) -> VaultKey {
    let file = VaultKeyFile(folder)
    if let key = try file.key() {
      guard key.id != id else {
        throw CommandFailure("that is the key that this home has; there is nothing to replace")
      }
      try records.replace(id, by: key)
      return key
    }
    let key: VaultKey
    if let attempt = try file.newKey() {
      key = attempt
    } else {
      key = try file.keepNew(drawnKey)
    }
    try records.replace(id, by: key)
    try file.adoptNew()
    return key
  }

  /// Returns a code that includes the key, and stores the wrapped key at the relay until it is
  /// used. Returns nil if this home has no key.
  static func code(
    for offer: PairingOffer, _ session: HomeSession, _ records: VaultRecords
  ) throws(CommandFailure) -> VaultCode? {
    guard let key = try VaultKeyFile(session.folder).key(),
      let code = VaultCode(offer: offer.code, secret: VaultSecret(word: Entropy.secrets.word()))
    else { return nil }
    let view = HomeView(try session.ask(.show(app: VaultApp().name, ["show": "codes"])))
    let expired = (view.json["codes"]?.array ?? []).compactMap { code -> Name? in
      guard let expiresAt = code["expiresAt"]?.int64, let name = code["name"]?.string,
        expiresAt < offer.expiresAt - Limits.pairingMilliseconds
      else { return nil }
      return Name(name)
    }
    do throws(CommandFailure) {
      try offered(key, code, expiresAt: offer.expiresAt, records, removing: expired)
    } catch {
      throw CommandFailure(
        "the vault's key cannot be given along: \(error.message ?? ""); "
          + "lockstep agent pair --no-vault makes a code without it")
    }
    return code
  }

  /// Stores the wrapped key at the relay for the holder of the code. `expired`: names of other
  /// records that are useless by now, which are removed as well.
  static func offered(
    _ key: VaultKey, _ code: VaultCode, expiresAt: Int64, _ records: VaultRecords,
    removing expired: [Name]
  ) throws(CommandFailure) {
    guard let name = code.recordName, let secret = code.secret else { return }
    // If the whole zone was deleted, this declares the account's key again.
    let standing = try records.announce(key)
    guard standing == key.id else {
      throw CommandFailure(
        "this home's key (\(key.id)) is not the one of the account's vault (\(standing)); "
          + wayOut(of: standing))
    }
    let salt = Entropy.secrets.bytes(WrappedVaultKey.saltBytes)
    guard
      let wrapped = WrappedVaultKey(
        key, secret: secret, salt: salt, record: name, expiresAt: expiresAt)
    else { throw noMemory }
    try records.put(wrapped, as: name, removing: Array(expired.prefix(expiredMax)))
  }

  /// Maximum number of records removed with one save; the others are removed with the next.
  private static let expiredMax = 100

  /// Fetches the key that is stored under a code. If it throws, nothing was changed, here or there.
  static func unlock(
    _ code: VaultCode, _ folder: HomeFolder, _ records: VaultRecords
  ) throws(CommandFailure) -> VaultKey {
    guard let secret = code.secret, let name = code.recordName else {
      throw CommandFailure(
        "that code has the relay's half alone, and no vault's key comes with it: lockstep agent "
          + "pair prints one of 24 letters on a device that has the key")
    }
    guard let wrapped = try records.wrapped(name), wrapped.expiresAt > (try records.time()) else {
      throw CommandFailure(
        "no vault's key waits under that code: it was used, has expired, or its first half is "
          + "mistyped; make a new one with lockstep agent pair on a device that has the key")
    }
    guard let key = wrapped.key(secret: secret, record: name) else {
      throw CommandFailure(
        "the second half of that code is wrong; nothing was changed, so look at it and try again")
    }
    try keep(key, folder, standing: try records.keyID())
    do throws(CommandFailure) {
      try records.remove(name)
    } catch {
      // It is useless without the code and expires; the next code with a key removes it.
    }
    return key
  }

  /// Stores the key that a person wrote down; if the account has none, it becomes the account's
  /// key.
  static func restore(
    _ key: VaultKey, _ folder: HomeFolder, _ records: VaultRecords
  ) throws(CommandFailure) {
    try compare(key, VaultKeyFile(folder).key())
    try keep(key, folder, standing: try records.announce(key))
  }

  /// `standing`: id of the account's key, if it is known.
  private static func keep(
    _ key: VaultKey, _ folder: HomeFolder, standing: String?
  ) throws(CommandFailure) {
    guard standing == nil || standing == key.id else {
      throw CommandFailure(
        "that is the key of another vault (\(key.id)); this account's is \(standing ?? "")")
    }
    let file = VaultKeyFile(folder)
    let own = try file.key()
    try compare(key, own)
    if own != nil { return }
    try file.keep(key)
    try file.dropNew()
  }

  /// `own`: key that the home already has.
  private static func compare(_ key: VaultKey, _ own: VaultKey?) throws(CommandFailure) {
    guard let own, own != key else { return }
    throw CommandFailure(
      "this home has another vault's key already (\(own.id), not \(key.id)); nothing was changed")
  }

  private static var drawnKey: VaultKey {
    guard let key = VaultKey(bytes: Entropy.secrets.bytes(VaultKey.count)) else {
      preconditionFailure("as many bytes were drawn as a key has")
    }
    return key
  }

  private static var noMemory: CommandFailure {
    CommandFailure(
      "this machine has not the \(Limits.scryptBytes >> 20) MiB of memory that a code's secret "
        + "takes; try again when others need less")
  }
}
