import Glibc
import Lockstep
import LockstepApps
import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepLanguage
import LockstepModel
import LockstepSealing
import LockstepStorage
import LockstepStorageSQLite
import LockstepWire

/// The vault's keys on this device: creation, transfer and recovery. They never leave a device
/// unencrypted, unless a person writes them down.
///
/// If the account's records are sealed, those of the vault are too, and its files with the keys of
/// its zone. Otherwise the vault has one key of its own.
package enum VaultKeys {
  /// Returns the seal with this home's keys, or nil if the home has no key yet.
  package static func seal(in folder: HomeFolder) throws(CommandFailure) -> VaultSeal? {
    let own = try VaultKeyFile(folder).key()
    guard let (zone, former) = try zoneKeys(in: folder) else { return own.map(VaultSeal.init) }
    let unlisted = own.map { former.contains($0) ? [] : [$0] } ?? []
    return VaultSeal(zone, former: former + unlisted)
  }

  /// Returns the keys of the vault's zone, and those that the vault had before; nil if the home's
  /// account does not seal the zone. Another process may hold the home.
  private static func zoneKeys(
    in folder: HomeFolder
  ) throws(CommandFailure) -> (zone: ZoneKeys, former: [VaultKey])? {
    guard folder.exists else { return nil }
    return try HomeKeys.reading(folder) { store throws(StorageError) in
      try store.onOneView { () throws(StorageError) in
        guard let keys = try Replica.keys(in: store)?.keys(of: VaultApp.zone) else { return nil }
        let records = try store.records(zone: VaultApp.zone, type: VaultApp.keyType)
        let former = records.filter { !$0.isDeleted }.compactMap { FormerVaultKey.key(in: $0) }
        return (keys, former.sorted { $0.id < $1.id })
      }
    }
  }

  /// True if the account's keys open the vault, which has no key of its own then.
  package static func areOfAccount(_ folder: HomeFolder) throws(CommandFailure) -> Bool {
    try zoneKeys(in: folder) != nil
  }

  /// Throws if the account's keys open the vault, or will once the device has them.
  package static func requireOwn(_ folder: HomeFolder) throws(CommandFailure) {
    if try areOfAccount(folder) {
      throw CommandFailure(
        localized(
          "the account's keys open this vault: it has no key of its own; lockstep agent key --help "
            + "says how to print, restore and replace them"))
    }
    if try HomeKeys.isLocked(VaultApp.zone, folder) { throw CommandFailure(lockedReason(folder)) }
  }

  private static func lockedReason(_ folder: HomeFolder) -> String {
    localized(
      "the account's keys open this vault, and this device does not have them: pair it again with a "
        + "code of a device that has them (lockstep agent pair), or restore them from the phrase "
        + "(lockstep agent key restore --home {home})", ["home": folder.path])
  }

  /// Returns a sentence for a home that has no key of the vault, with the next step.
  static func missing(in folder: HomeFolder) -> String {
    do throws(CommandFailure) {
      if try HomeKeys.isLocked(VaultApp.zone, folder) { return lockedReason(folder) }
    } catch {
      return error.message ?? localized("the home cannot be read")
    }
    return localized(
      "this device does not have the vault's key; bring it with lockstep vault unlock")
  }

  /// Returns a function for the apps that reads the keys at each call, so that a key that arrives
  /// while the process runs is used at once. Keys that cannot be read count as none; the commands
  /// about keys report the fault.
  package static func source(in folder: HomeFolder) -> @Sendable () -> VaultSeal? {
    {
      do throws(CommandFailure) {
        return try seal(in: folder)
      } catch {
        return nil
      }
    }
  }

  /// Makes sure that the home can seal files of the vault. Creates the vault's key if this is the
  /// account's first device with a vault. If another device was first, throws with instructions to
  /// get its key.
  package static func ensure(_ session: HomeSession) throws(CommandFailure) {
    if try areOfAccount(session.folder) { return }
    try requireOwn(session.folder)
    if try VaultKeyFile(session.folder).key() != nil { return }
    _ = try ensure(session.folder, VaultRecords(HomeAccess(of: session)))
  }

  package static func ensure(
    _ folder: HomeFolder, _ records: VaultRecords
  ) throws(CommandFailure) -> VaultKey {
    let file = VaultKeyFile(folder)
    if let key = try file.key() { return key }
    // A key of an earlier attempt, whose result is unknown, is as good as a new one.
    let key: VaultKey
    if let attempt = try file.newKey() {
      key = attempt
    } else {
      key = try file.storeNew(randomKey)
    }
    let accountKeyID: String
    do throws(CommandFailure) {
      accountKeyID = try records.announce(key)
    } catch {
      throw CommandFailure(
        localized(
          "the vault's key, made once for an account, could not be made: {reason}; do it again "
            + "with the relay in reach", ["reason": error.message ?? ""]))
    }
    guard accountKeyID == key.id else {
      try file.removeNew()
      throw CommandFailure(
        localized(
          "this account's vault has a key already, and this device does not have it: get a code "
            + "with lockstep agent pair on a device that has it, and give it to lockstep vault "
            + "unlock --home {home}, or bring it with lockstep vault restore; {advice}",
          ["home": folder.path, "advice": replaceAdvice(of: accountKeyID)]))
    }
    try file.promoteNew()
    return key
  }

  /// Returns advice for an account that names a key that none of its devices has.
  static func replaceAdvice(of id: String) -> String {
    localized(
      "if none of your devices has that key, and no phrase of it is written down, somebody else has "
        + "put it there: lockstep vault new-key --instead-of {key} puts this device's in its "
        + "place", ["key": id])
  }

  /// Makes this home's key, or a new one, the account's key in place of the named one.
  package static func replace(
    _ id: String, _ folder: HomeFolder, _ records: VaultRecords
  ) throws(CommandFailure) -> VaultKey {
    let file = VaultKeyFile(folder)
    if let key = try file.key() {
      guard key.id != id else {
        throw CommandFailure(
          localized("that is the key that this home has; there is nothing to replace"))
      }
      try records.replace(id, by: key)
      return key
    }
    let key: VaultKey
    if let attempt = try file.newKey() {
      key = attempt
    } else {
      key = try file.storeNew(randomKey)
    }
    try records.replace(id, by: key)
    try file.promoteNew()
    return key
  }

  /// Stores the wrapped key at the relay until the code is used. Returns false if this home has no
  /// key.
  package static func give(
    with code: JoinCode, expiresAt: Int64, _ session: HomeSession, _ records: VaultRecords
  ) throws(CommandFailure) -> Bool {
    guard let key = try VaultKeyFile(session.folder).key() else { return false }
    let view = HomeView(try session.send(.show(app: VaultApp().name, VaultQuestion.codes.json)))
    let expired = (view.json["codes"]?.array ?? []).compactMap { code -> Name? in
      guard let expiry = code["expiresAt"]?.int64, let name = code["name"]?.string,
        expiry < expiresAt - Limits.pairingMilliseconds
      else { return nil }
      return Name(name)
    }
    do throws(CommandFailure) {
      try storeWrapped(key, code, expiresAt: expiresAt, records, removing: expired)
    } catch {
      throw CommandFailure(
        localized(
          "the vault's key cannot be given along: {reason}; lockstep agent pair --no-vault makes a "
            + "code without it", ["reason": error.message ?? ""]))
    }
    return true
  }

  /// Stores the wrapped key at the relay for the holder of the code. `expired`: names of other
  /// records that are useless by now, which are removed as well.
  package static func storeWrapped(
    _ key: VaultKey, _ code: JoinCode, expiresAt: Int64, _ records: VaultRecords,
    removing expired: [Name]
  ) throws(CommandFailure) {
    guard let name = code.recordName, let secret = code.secret else { return }
    // If the whole zone was deleted, this declares the account's key again.
    let accountKeyID = try records.announce(key)
    guard accountKeyID == key.id else {
      throw CommandFailure(
        localized(
          "this home's key ({key}) is not the one of the account's vault ({current}); {advice}",
          [
            "key": key.id, "current": accountKeyID, "advice": replaceAdvice(of: accountKeyID),
          ]))
    }
    let salt = Entropy.secrets.bytes(WrappedVaultKey.saltBytes)
    guard
      let wrapped = WrappedVaultKey(
        key, secret: secret, salt: salt, record: name, expiresAt: expiresAt)
    else { throw noMemory }
    try records.store(wrapped, as: name, removing: Array(expired.prefix(expiredMax)))
  }

  /// Maximum number of records removed with one save; the others are removed with the next.
  private static let expiredMax = 100

  /// True if a wrapped key waits under the code.
  package static func isGiven(
    with code: JoinCode, _ records: VaultRecords
  ) throws(CommandFailure) -> Bool {
    guard let name = code.recordName else { return false }
    return try records.wrapped(name) != nil
  }

  /// True if a wrapped key waits under the code, and its second half opens it.
  package static func opens(_ code: JoinCode, _ records: VaultRecords) -> Bool {
    guard let secret = code.secret, let name = code.recordName else { return false }
    do throws(CommandFailure) {
      return try records.wrapped(name)?.key(secret: secret, record: name) != nil
    } catch {
      return false
    }
  }

  /// Fetches the key that is stored under a code. If it throws, nothing was changed, here or there.
  package static func unlock(
    _ code: JoinCode, _ folder: HomeFolder, _ records: VaultRecords
  ) throws(CommandFailure) -> VaultKey {
    guard let secret = code.secret, let name = code.recordName else {
      throw CommandFailure(
        localized(
          "that code has the relay's half alone, and no vault's key comes with it: lockstep agent "
            + "pair prints one of 24 letters on a device that has the key"))
    }
    guard let wrapped = try records.wrapped(name), wrapped.expiresAt > (try records.time()) else {
      throw CommandFailure(
        localized(
          "no vault's key waits under that code: it was used, has expired, or its first half is "
            + "mistyped; make a new one with lockstep agent pair on a device that has the key"))
    }
    guard let key = wrapped.key(secret: secret, record: name) else {
      throw CommandFailure(
        localized(
          "the second half of that code is wrong; nothing was changed, so look at it and try again")
      )
    }
    try storeKey(key, folder, accountKeyID: try records.keyID())
    do throws(CommandFailure) {
      try records.remove(name)
    } catch {
      // It is useless without the code and expires; the next code with a key removes it.
    }
    return key
  }

  /// Stores the key that a person wrote down; if the account has none, it becomes the account's
  /// key.
  package static func restore(
    _ key: VaultKey, _ folder: HomeFolder, _ records: VaultRecords
  ) throws(CommandFailure) {
    try requireSame(key, VaultKeyFile(folder).key())
    try storeKey(key, folder, accountKeyID: try records.announce(key))
  }

  /// Stores a key that the vault had before its zone was sealed. The home then gives it to the
  /// account's other devices.
  package static func restore(
    former key: VaultKey, _ folder: HomeFolder
  ) throws(CommandFailure) {
    try storeKey(key, folder, accountKeyID: nil)
  }

  /// `accountKeyID`: id of the account's key, if it is known.
  private static func storeKey(
    _ key: VaultKey, _ folder: HomeFolder, accountKeyID: String?
  ) throws(CommandFailure) {
    guard accountKeyID == nil || accountKeyID == key.id else {
      throw CommandFailure(
        localized(
          "that is the key of another vault ({key}); this account's is {current}",
          ["key": key.id, "current": accountKeyID ?? ""]))
    }
    let file = VaultKeyFile(folder)
    let own = try file.key()
    try requireSame(key, own)
    if own != nil { return }
    try file.store(key)
    try file.removeNew()
  }

  /// `own`: key that the home already has.
  private static func requireSame(_ key: VaultKey, _ own: VaultKey?) throws(CommandFailure) {
    guard let own, own != key else { return }
    throw CommandFailure(
      localized(
        "this home has another vault's key already ({current}, not {key}); nothing was changed",
        ["current": own.id, "key": key.id]))
  }

  private static var randomKey: VaultKey {
    guard let key = VaultKey(bytes: Entropy.secrets.bytes(VaultKey.count)) else {
      preconditionFailure("as many bytes were drawn as a key has")
    }
    return key
  }

  private static var noMemory: CommandFailure {
    CommandFailure(
      localized(
        "this machine has not the {size} of memory that a code's secret takes; try again when "
          + "others need less", ["size": "\(Limits.scryptBytes >> 20) MiB"]))
  }
}

/// File of the vault's key in a device's home: 32 hexadecimal digits and a line feed, for its owner
/// only.
///
///     HOME/vault.key        the key
///     HOME/vault.key.new    a key that this device made, until the relay knows that the account
///                           has one; the next command that needs the key finds out the result
///
/// Both are written under a unique name, made durable, and only then get their final name, so that
/// no process reads a partial key.
package struct VaultKeyFile {
  private let folder: String

  package init(_ folder: HomeFolder) { self.folder = folder.path }

  private var path: String { folder + "/vault.key" }
  private var newPath: String { path + ".new" }

  /// Maximum bytes to read of a file that should have 33.
  private static let bytesMax = 256

  var exists: Bool { access(path, F_OK) == 0 }

  /// Returns nil if this device has no key.
  package func key() throws(CommandFailure) -> VaultKey? { try read(path) }

  /// Returns the key that this device has made and, as far as it knows, not announced yet.
  package func newKey() throws(CommandFailure) -> VaultKey? { try read(newPath) }

  /// Stores a key that this device has just made. If another process did so at the same moment,
  /// returns that key.
  func storeNew(_ key: VaultKey) throws(CommandFailure) -> VaultKey {
    let written = try write(key)
    // A link, unlike a rename, never replaces an existing file.
    let isLinked = link(written, newPath) == 0
    let reason = errno
    try remove(written)
    try syncFolder()
    if isLinked { return key }
    guard reason == EEXIST, let other = try newKey() else {
      throw PlainFile.failure(newPath, "be made", reason)
    }
    return other
  }

  /// Makes the new key the account's key on this device.
  func promoteNew() throws(CommandFailure) {
    // Another process may just have done it.
    guard rename(newPath, path) == 0 || errno == ENOENT else {
      throw PlainFile.failure(newPath, "become \(path)", errno)
    }
    try syncFolder()
  }

  /// Removes the new key, which is not the account's and has sealed nothing.
  func removeNew() throws(CommandFailure) { try remove(newPath) }

  /// Stores the account's key, which a person has supplied.
  package func store(_ key: VaultKey) throws(CommandFailure) {
    let written = try write(key)
    guard rename(written, path) == 0 else {
      throw PlainFile.failure(written, "become \(path)", errno)
    }
    try syncFolder()
  }

  private func read(_ path: String) throws(CommandFailure) -> VaultKey? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    if descriptor < 0 {
      if errno == ENOENT { return nil }
      throw PlainFile.failure(path, "be read", errno)
    }
    let file = PlainFile(path: path, descriptor: descriptor)
    let text = String(
      decoding: try file.contents(atMost: Self.bytesMax, path), as: UTF8.self)
    guard text.hasSuffix("\n"), let bytes = HexText.bytes(of: String(text.dropLast())),
      let key = VaultKey(bytes: bytes)
    else {
      throw CommandFailure(
        localized(
          "{path} does not hold a vault's key; move it away, then bring the key back with lockstep "
            + "vault restore or unlock", ["path": path]))
    }
    return key
  }

  /// Writes the key durably to a file with a unique name. Returns its path.
  private func write(_ key: VaultKey) throws(CommandFailure) -> String {
    let path = path + "." + HexText.text(Entropy.secrets.word())
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw PlainFile.failure(path, "be made", errno) }
    let file = PlainFile(path: path, descriptor: descriptor)
    defer { withExtendedLifetime(file) {} }
    do throws(CommandFailure) {
      try file.write(Array((HexText.text(of: key.bytes) + "\n").utf8))
      guard fsync(descriptor) == 0 else {
        throw PlainFile.failure(path, "be made durable", errno)
      }
      return path
    } catch {
      try remove(path)
      throw error
    }
  }

  /// Removes all keys, including files that a crash left incomplete.
  package func removeAll() throws(CommandFailure) {
    for name in try ExportFolder.names(in: folder) ?? [] where name.hasPrefix("vault.key") {
      try remove(folder + "/" + name)
    }
  }

  private func remove(_ path: String) throws(CommandFailure) {
    guard unlink(path) == 0 || errno == ENOENT else {
      throw PlainFile.failure(path, "be removed", errno)
    }
  }

  private func syncFolder() throws(CommandFailure) {
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw PlainFile.failure(folder, "be opened", errno) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else {
      throw PlainFile.failure(folder, "be made durable", errno)
    }
  }
}
