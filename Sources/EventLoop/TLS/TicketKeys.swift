import COpenSSL
import LockstepModel

/// Keys that encrypt the session tickets of a TLS server (RFC 5077 section 4, RFC 8446 section
/// 4.6.1). A stolen key decrypts the TLS 1.2 sessions that were resumed by its tickets. So keys
/// rotate every few hours, and the previous key only decrypts tickets from then on.
final class TicketKeys: Sendable {
  struct Key: Sendable {
    let name: [UInt8]
    let cipherKey: [UInt8]
    let hashKey: [UInt8]
    fileprivate let madeAt: Instant

    fileprivate init(at now: Instant) {
      name = Entropy.secrets.bytes(TicketKeys.nameBytes)
      cipherKey = Entropy.secrets.bytes(TicketKeys.keyBytes)
      hashKey = Entropy.secrets.bytes(TicketKeys.keyBytes)
      madeAt = now
    }
  }

  private struct State: Sendable {
    var newest: Key
    var previous: Key?

    mutating func rotateIfDue(at now: Instant) {
      let age = now.milliseconds(since: newest.madeAt)
      if age >= Limits.ticketKeyMilliseconds {
        previous = age < 2 * Limits.ticketKeyMilliseconds ? newest : nil
        newest = Key(at: now)
      }
    }
  }

  private static let nameBytes = 16
  private static let keyBytes = 32
  private let state: Locked<State>

  init(at now: Instant) { state = Locked(State(newest: Key(at: now))) }

  /// Returns the key that encrypts tickets now.
  func encryptionKey(at now: Instant) -> Key {
    state.withLock { state in
      state.rotateIfDue(at: now)
      return state.newest
    }
  }

  /// Returns the key of this name, and true if it still encrypts; nil if it is unknown or expired.
  func decryptionKey(_ name: [UInt8], at now: Instant) -> (key: Key, isNewest: Bool)? {
    state.withLock { state in
      state.rotateIfDue(at: now)
      if state.newest.name == name { return (state.newest, true) }
      guard let previous = state.previous, previous.name == name else { return nil }
      return (previous, false)
    }
  }

  // MARK: OpenSSL

  /// Gives the context keys of its own, with the same lifetime.
  static func install(in context: OpaquePointer) -> Bool {
    let keys = Unmanaged.passRetained(TicketKeys(at: SystemClock.instant()))
    guard index >= 0, SSL_CTX_set_ex_data(context, index, keys.toOpaque()) == 1 else {
      keys.release()
      return false
    }
    return openssl_set_ticket_keys(context) { ssl, name, iv, cipher, hash, encrypts in
      TicketKeys.key(ssl, name, iv, cipher, hash, encrypts: encrypts == 1)
    } == 1
  }

  /// Index of the context's extra data that holds the keys; they are released with the context.
  private static let index = CRYPTO_get_ex_new_index(
    CRYPTO_EX_INDEX_SSL_CTX, 0, nil, nil, nil
  ) { _, keys, _, _, _, _ in
    if let keys { Unmanaged<TicketKeys>.fromOpaque(keys).release() }
  }

  /// Implements SSL_CTX_set_tlsext_ticket_key_evp_cb(3). Returns 1: done; 2: done, and the client
  /// gets a new ticket; 0: unknown key; -1: error.
  private static func key(
    _ ssl: OpaquePointer, _ name: UnsafeMutablePointer<UInt8>, _ iv: UnsafeMutablePointer<UInt8>,
    _ cipher: OpaquePointer, _ hash: OpaquePointer, encrypts: Bool
  ) -> Int32 {
    guard let held = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), index) else { return -1 }
    let keys = Unmanaged<TicketKeys>.fromOpaque(held).takeUnretainedValue()
    let now = SystemClock.instant()
    if encrypts {
      let key = keys.encryptionKey(at: now)
      name.update(from: key.name, count: nameBytes)
      guard RAND_bytes(iv, Int32(EVP_MAX_IV_LENGTH)) == 1 else { return -1 }
      return openssl_key_ticket(cipher, hash, key.cipherKey, key.hashKey, iv, 1) == 1 ? 1 : -1
    }
    let named = Array(UnsafeBufferPointer(start: name, count: nameBytes))
    guard let (key, isNewest) = keys.decryptionKey(named, at: now) else { return 0 }
    guard openssl_key_ticket(cipher, hash, key.cipherKey, key.hashKey, iv, 0) == 1 else {
      return -1
    }
    return isNewest ? 1 : 2
  }
}
