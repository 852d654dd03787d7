import Glibc
import Lockstep
import LockstepCommandLine
import LockstepCrypto
import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepWebPush

/// Secrets of a device that is woken by a distributor, and its names there:
///
///     HOME/wake.json    {"name", "token", "key", "auth", "distributor"?, "wakeKey"?}
///
/// Only this user may read the file: who has the key and the secret can read the device's pushes.
package struct WakeKeys: Sendable {
  /// Maximum bytes to read of a file that should have 400.
  private static let bytesMax = 4_096
  private static let tokenBytes = 20
  private static let tokenTextBytes = 20...100
  private static let nameBytes = 8

  /// Name of this device on the bus, which belongs to its home alone.
  package let name: String
  /// Those of the subscription.
  let push: PushKeys
  /// Secret name of the registration at the distributor.
  private(set) var token: String
  /// Distributor of the registration, and the relay's key for which it was made; nil: none yet.
  package private(set) var distributor: String?
  private(set) var wakeKey: String?

  private let path: String

  /// Reads the file; makes and stores new keys if there is none.
  package init(in home: HomeFolder, secrets: SecretSource) throws(CommandFailure) {
    if let found = try WakeKeys(storedIn: home) {
      self = found
      return
    }
    path = home.wakeKeys
    name = "dev.lockstep.Agent.h" + secrets.bytes(Self.nameBytes).map(Self.hexadecimal).joined()
    push = PushKeys(from: secrets)
    token = Base64.encodeURL(secrets.bytes(Self.tokenBytes))
    try store()
  }

  /// Reads the file. Returns nil if there is none.
  package init?(storedIn home: HomeFolder) throws(CommandFailure) {
    path = home.wakeKeys
    let content = try CommandFailure.wrap { () throws(HomeFault) in
      try HomeFile.contents(of: home.wakeKeys, atMost: Self.bytesMax)
    }
    guard let content else { return nil }
    let json = JSONValue(ifJSON: content)
    let (distributor, wakeKey) = (json?["distributor"], json?["wakeKey"])
    guard let json, let name = json["name"]?.string, BusName.isValid(name),
      let token = json["token"]?.string, Self.isToken(token), let push = PushKeys(stored: json),
      distributor.map({ $0.string.map(BusName.isValid) ?? false }) ?? true,
      wakeKey.map({ $0.string.map(Self.isWakeKey) ?? false }) ?? true
    else {
      throw CommandFailure(
        localized(
          "{path} has another form; remove it, and the device registers for "
            + "wakes anew", ["path": home.wakeKeys]))
    }
    (self.name, self.token, self.push) = (name, token, push)
    self.distributor = distributor?.string
    self.wakeKey = wakeKey?.string
  }

  private static func isToken(_ text: String) -> Bool {
    tokenTextBytes.contains(text.utf8.count) && Base64.decodeURL(text) != nil
  }

  /// Returns true for a public key on the curve P-256, uncompressed, as the relay gives it.
  static func isWakeKey(_ text: String) -> Bool { Base64.decodeURL(text)?.count == 65 }

  /// Stores the distributor and the relay's key of a registration that is about to be made. For
  /// another key, the registration gets another token: the former one belongs to the former key.
  mutating func use(
    _ distributor: String, wakeKey: String, secrets: SecretSource
  ) throws(CommandFailure) {
    guard self.distributor != distributor || self.wakeKey != wakeKey else { return }
    if self.wakeKey != nil { token = Base64.encodeURL(secrets.bytes(Self.tokenBytes)) }
    self.distributor = distributor
    self.wakeKey = wakeKey
    try store()
  }

  private func store() throws(CommandFailure) {
    var members =
      [JSONMember("name", .string(name)), JSONMember("token", .string(token))]
      + push.storedMembers
    if let distributor { members.append(JSONMember("distributor", .string(distributor))) }
    if let wakeKey { members.append(JSONMember("wakeKey", .string(wakeKey))) }
    try CommandFailure.wrap { () throws(HomeFault) in
      try HomeFile.replace(path, by: JSONValue.object(members).serialized())
    }
  }

  /// Removes the file; does nothing if there is none.
  package static func remove(from home: HomeFolder) throws(CommandFailure) {
    guard unlink(home.wakeKeys) == 0 || errno == ENOENT else {
      throw PlainFile.failure(home.wakeKeys, "be removed", errno)
    }
  }

  private static func hexadecimal(_ byte: UInt8) -> String {
    let digits = String(byte, radix: 16)
    return digits.count == 2 ? digits : "0" + digits
  }
}
