import Glibc
import Lockstep
import LockstepACME
import LockstepCommandLine
import LockstepCrypto
import LockstepEventLoop
import LockstepModel
import LockstepStorageFiles

/// Folder with what the relay has of one authority. Each file is replaced as a whole, durably, and
/// only the relay's user can read it.
///
/// | file | content |
/// | --- | --- |
/// | `account.json` | key and URL of the account |
/// | `progress.json` | failures, the time of the next attempt, the order under way with its key |
/// | `certificate.pem` | key and certificate with its chain |
/// | `lock` | locked while a relay uses the folder |
final class RelayACMEFolder: Sendable {
  private static let bytesMax = 512 << 10
  private let path: String
  private let lock: Int32

  /// Makes the folder for this authority if there is none.
  init(_ folder: String, _ configuration: ACMEConfiguration) throws(CommandFailure) {
    let url = configuration.directory
    let port = url.port == 443 ? "" : "_\(url.port)"
    path = folder + "/" + url.hostWithoutBrackets + port
    try RelayACMEFolder.make(path)
    let name = path + "/lock"
    lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard lock >= 0 else { throw PlainFile.failure(name, "be written", errno) }
    guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
      close(lock)
      throw CommandFailure(
        "another relay uses \(path); stop it, or name another folder with --acme-folder")
    }
  }

  deinit { close(lock) }

  /// Makes a folder and those above it.
  private static func make(_ path: String) throws(CommandFailure) {
    var status = stat()
    if stat(path, &status) == 0 { return }
    if let slash = path.lastIndex(of: "/"), slash > path.startIndex {
      try make(String(path[..<slash]))
    }
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
      throw PlainFile.failure(path, "be made", errno)
    }
  }

  static func contents(
    of path: String, atMost limit: Int
  ) throws(CommandFailure) -> [UInt8]? {
    try CommandFailure.wrap { () throws(HomeFault) in
      try HomeFile.contents(of: path, atMost: limit)
    }
  }

  private func contents(_ name: String) throws(CommandFailure) -> [UInt8]? {
    try RelayACMEFolder.contents(of: path + "/" + name, atMost: RelayACMEFolder.bytesMax)
  }

  var certificatePath: String { path + "/certificate.pem" }

  /// Reads what an earlier run has left. A damaged account is kept under another name; a damaged
  /// certificate is replaced by the next one.
  func stored(_ log: Log) throws(CommandFailure) -> ACMENode.Stored {
    var stored = ACMENode.Stored()
    if let bytes = try contents("account.json") {
      stored.account = ACMEAccount(stored: bytes)
      if stored.account == nil {
        let name = path + "/account.json"
        guard rename(name, name + ".damaged") == 0 else {
          throw PlainFile.failure(name, "be renamed", errno)
        }
        log.warning("\(name) is damaged; a new account is made, and the file is kept as .damaged")
      }
    }
    if let bytes = try contents("progress.json") { stored.progress = ACMEProgress(stored: bytes) }
    if let bytes = try contents("certificate.pem") {
      stored.certificate = CertificateChain(file: bytes)
      if stored.certificate == nil {
        log.warning("\(certificatePath) is damaged; a new certificate is requested")
      }
    }
    return stored
  }

  func replace(_ name: String, by bytes: [UInt8]) throws(HomeFault) {
    try HomeFile.replace(path + "/" + name, by: bytes)
    try flush()
  }

  /// Stores the file with key and certificate, unless it cannot be used.
  func install(_ bytes: [UInt8]) throws(HomeFault) {
    let draft = path + "/certificate.pem.draft"
    try HomeFile.replace(draft, by: bytes)
    do throws(CertificateFault) {
      try ServerCertificate.check(managed: draft)
    } catch {
      unlink(draft)
      throw HomeFault("\(error)")
    }
    guard rename(draft, certificatePath) == 0 else {
      throw HomeFault(certificatePath, "be written", errno)
    }
    try flush()
  }

  /// Makes the names of files durable.
  private func flush() throws(HomeFault) {
    guard FileSync.flush(path: path) else { throw HomeFault(path, "be written", errno) }
  }
}
