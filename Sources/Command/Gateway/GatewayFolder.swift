import Glibc
import Lockstep
import LockstepCommandLine
import LockstepCrypto
import LockstepEventLoop
import LockstepGateway
import LockstepModel

/// Secrets of a gateway in files: the key of its endpoints, which it makes itself, and the key of
/// the app's maker.
enum GatewayFolder {
  private static let keyName = "endpoints.key"
  /// Bytes of a PEM file with one key; Apple's have 257.
  private static let pemBytes = 16 << 10

  /// Returns the key of the endpoints. The first start in a folder makes it: endpoints that were
  /// made with another key do not open, so it must be kept.
  static func sealingKey(in folder: String) throws(CommandFailure) -> [UInt8] {
    guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
      throw PlainFile.failure(folder, "be made", errno)
    }
    let path = folder + "/" + keyName
    if let key = try contents(of: path, atMost: GatewayConfiguration.sealingKeyBytes) {
      return try checked(key, path)
    }
    try write(Entropy.secrets.bytes(GatewayConfiguration.sealingKeyBytes), to: path)
    guard let key = try contents(of: path, atMost: GatewayConfiguration.sealingKeyBytes) else {
      throw CommandFailure("\(path) has disappeared; check who else writes to \(folder)")
    }
    return try checked(key, path)
  }

  private static func checked(_ key: [UInt8], _ path: String) throws(CommandFailure) -> [UInt8] {
    guard key.count == GatewayConfiguration.sealingKeyBytes else {
      throw CommandFailure(
        "\(path) is not a key of \(GatewayConfiguration.sealingKeyBytes) bytes; restore it from a "
          + "backup, or remove it, whereupon all apps need new endpoints")
    }
    return key
  }

  /// Writes the file unless another gateway has written one meanwhile.
  private static func write(_ bytes: [UInt8], to path: String) throws(CommandFailure) {
    let draft = path + ".\(getpid()).new"
    let descriptor = PlainFile.makeDraft(draft)
    guard descriptor >= 0 else { throw PlainFile.failure(draft, "be written", errno) }
    defer { unlink(draft) }
    let file = PlainFile(path: draft, descriptor: descriptor)
    try file.write(bytes)
    guard fsync(descriptor) == 0 else { throw PlainFile.failure(draft, "be written", errno) }
    guard link(draft, path) == 0 || errno == EEXIST else {
      throw PlainFile.failure(path, "be made", errno)
    }
    withExtendedLifetime(file) {}
  }

  /// Reads the key for APNs.
  static func apnsKey(_ path: String, _ log: Log) throws(CommandFailure) -> P256PrivateKey {
    guard let bytes = try contents(of: path, atMost: pemBytes) else {
      throw CommandFailure("\(path) does not exist; name the file AuthKey_….p8 from Apple")
    }
    guard let key = APNsKey.parse(String(decoding: bytes, as: UTF8.self)) else {
      throw CommandFailure(
        "\(path) is no key for APNs; name the file AuthKey_….p8 as Apple gives it")
    }
    var status = stat()
    if stat(path, &status) == 0, status.st_mode & 0o077 != 0 {
      log.warning("other users of this machine can read \(path); chmod 600 \(path)")
    }
    return key
  }

  /// Reads the certificates that take the place of the system's authorities.
  static func trust(_ path: String?) throws(CommandFailure) -> Trust {
    guard let path else { return .system }
    guard let bytes = try contents(of: path, atMost: Limits.configBytes) else {
      throw CommandFailure("\(path) does not exist; name a PEM file with certificates")
    }
    return try CommandFailure.wrap { () throws(CertificateFault) in
      try Trust(authorities: bytes)
    }
  }

  private static func contents(
    of path: String, atMost limit: Int
  ) throws(CommandFailure) -> [UInt8]? {
    try CommandFailure.wrap { () throws(HomeFault) in
      try HomeFile.contents(of: path, atMost: limit)
    }
  }
}
