import COpenSSL
import Glibc
import LockstepModel
import LockstepRuntime

/// One end of a TLS connection over a non-blocking socket. Each call returns the condition that it
/// waits for; the loop decides when to retry.
///
/// Renegotiation is off at both ends (`SSL_OP_NO_RENEGOTIATION`), so writing never waits for bytes.
/// Reading may wait for buffer space: it answers a key update of the peer (RFC 8446 section 4.6.3).
struct SecureConnection: ~Copyable {
  private let ssl: OpaquePointer

  /// Protocol that a client offers (RFC 7301).
  enum Offer {
    /// HTTP/1.1; a server that selects nothing is taken to speak it.
    case http1
    /// HTTP/2; the server must select it.
    case http2
  }

  enum Progress {
    case done(Int)
    /// Waits for bytes from the peer.
    case wantsRead
    /// Waits for space in the kernel's send buffer.
    case wantsWrite
    /// The peer ended its stream properly (close_notify).
    case ended
    case failed(SystemFault)
  }

  enum Handshake {
    case done
    /// It has answered the validation of a name (RFC 8737), and carries no data.
    case validated
    case wantsRead
    case wantsWrite
    /// The connection broke.
    case broken(String)
    case refused(SecurityFault)
  }

  /// Makes the server's end of an incoming connection.
  static func server(_ context: SecureContext, _ descriptor: Int32) -> SecureConnection? {
    ERR_clear_error()
    guard let ssl = SSL_new(context.rawValue) else { return nil }
    let made = SecureConnection(ssl)
    SSL_set_accept_state(ssl)
    guard made.attach(descriptor) else { return nil }
    return made
  }

  /// Makes the client's end, before there is a socket. `host`: the name or literal address that the
  /// server's certificate must contain (RFC 6125 section 6).
  static func client(
    _ context: SecureContext, host: String, _ offer: Offer = .http1
  ) -> SecureConnection? {
    ERR_clear_error()
    guard let ssl = SSL_new(context.rawValue) else { return nil }
    let made = SecureConnection(ssl)
    SSL_set_connect_state(ssl)
    if offer == .http2, openssl_offer_http2(ssl) != 1 { return nil }
    if X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1 { return made }
    SSL_set_hostflags(ssl, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
    let isNamed = SSL_set1_host(ssl, host) == 1 && openssl_set_server_name(ssl, host) == 1
    guard isNamed else { return nil }
    return made
  }

  private init(_ ssl: OpaquePointer) { self.ssl = ssl }

  deinit { SSL_free(ssl) }

  /// Sets the socket.
  func attach(_ descriptor: Int32) -> Bool { SSL_set_fd(ssl, descriptor) == 1 }

  /// Continues the handshake as far as possible.
  func continueHandshake() -> Handshake {
    ERR_clear_error()
    errno = 0
    let result = SSL_do_handshake(ssl)
    if result == 1 {
      if openssl_is_validation(ssl) == 1 { return .validated }
      return openssl_lacks_http2(ssl) == 1 ? .refused(.otherProtocol) : .done
    }
    switch SSL_get_error(ssl, result) {
    case SSL_ERROR_WANT_READ: return .wantsRead
    case SSL_ERROR_WANT_WRITE: return .wantsWrite
    case SSL_ERROR_SYSCALL:
      return .broken(errno == 0 ? Self.unexpectedEnd : SystemFault.text(of: errno))
    default:
      let isUnexpectedEnd = ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING
      return isUnexpectedEnd ? .broken(Self.unexpectedEnd) : .refused(refusal)
    }
  }

  private static let unexpectedEnd = "the peer closed the connection during the TLS handshake"

  private var refusal: SecurityFault {
    let result = SSL_get_verify_result(ssl)
    switch Int32(truncatingIfNeeded: result) {
    case X509_V_OK: break
    case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH: return .otherName
    case X509_V_ERR_CERT_HAS_EXPIRED: return .expired
    case X509_V_ERR_CERT_NOT_YET_VALID: return .notYetValid
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
      X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
      X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return .unknownAuthority
    default: return .other(Self.text(X509_verify_cert_error_string(result)))
    }
    let reason = ERR_GET_REASON(ERR_peek_error())
    if reason == SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL { return .otherProtocol }
    if reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST { return .notSecure }
    return .other(Self.lastError())
  }

  /// Agreed TLS parameters. Valid once the handshake is done.
  var terms: SecureTerms {
    .agreed(version: Self.text(SSL_get_version(ssl)), certificateEnd: certificateEnd)
  }

  private var certificateEnd: Int64? {
    SSL_get0_peer_certificate(ssl).flatMap(CertificateEnd.milliseconds)
  }

  // MARK: Reads and writes

  /// Reads available bytes into `buffer`.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Progress {
    ERR_clear_error()
    errno = 0
    var count = 0
    let result = SSL_read_ex(ssl, buffer.baseAddress, buffer.count, &count)
    return result == 1 ? .done(count) : progress(result, "SSL_read")
  }

  /// True if OpenSSL holds received bytes that are not read yet. The poll does not report those.
  var hasPendingBytes: Bool { SSL_has_pending(ssl) == 1 }

  /// Writes at most one record. After `wantsWrite`, the next call must pass the same bytes again;
  /// more may be appended.
  func write(_ bytes: UnsafeRawBufferPointer) -> Progress {
    ERR_clear_error()
    errno = 0
    var count = 0
    let result = SSL_write_ex(ssl, bytes.baseAddress, bytes.count, &count)
    return result == 1 ? .done(count) : progress(result, "SSL_write")
  }

  /// Sends close_notify. Returns false if the kernel has no buffer space for it yet.
  func endWriting() -> Bool {
    ERR_clear_error()
    errno = 0
    let result = SSL_shutdown(ssl)
    return result >= 0 || SSL_get_error(ssl, result) != SSL_ERROR_WANT_WRITE
  }

  private func progress(_ result: Int32, _ call: String) -> Progress {
    switch SSL_get_error(ssl, result) {
    case SSL_ERROR_WANT_READ: return .wantsRead
    case SSL_ERROR_WANT_WRITE: return .wantsWrite
    case SSL_ERROR_ZERO_RETURN: return .ended
    case SSL_ERROR_SYSCALL where errno != 0: return .failed(SystemFault(call: call, code: errno))
    default:
      // A stream without close_notify may have been truncated by an attacker on the path.
      let isUnexpectedEnd = ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING
      return .failed(SystemFault(call: call, code: isUnexpectedEnd ? ECONNABORTED : EPROTO))
    }
  }

  /// Returns OpenSSL's text for the last failure on this thread.
  static func lastError() -> String {
    let code = ERR_peek_last_error()
    return code == 0 ? "no reason given" : text(ERR_reason_error_string(code))
  }

  private static func text(_ message: UnsafePointer<CChar>?) -> String {
    message.map { String(cString: $0) } ?? "no reason given"
  }
}

/// TLS handshakes of one loop: the queue of those that can continue, their number, and their
/// deadlines.
///
/// A step of a handshake costs as much as hundreds of deliveries. So handshakes that can continue
/// wait in a FIFO queue, and only a few of them run before all other events of a turn.
struct HandshakeQueue {
  private let activeMax: Int
  private var ready = FIFOQueue<Poller.Registration>()
  /// Deadlines of incoming handshakes.
  var deadlines: ExpiryQueue
  private(set) var activeCount = 0

  init(_ limits: LoopLimits) {
    activeMax = limits.handshakesAtOnce
    deadlines = ExpiryQueue(milliseconds: limits.handshakeMilliseconds)
  }

  var isEmpty: Bool { ready.isEmpty }
  var isFull: Bool { activeCount >= activeMax }

  /// Counts an incoming handshake that begins.
  mutating func countStart() { activeCount += 1 }

  /// Counts down a handshake that has ended, whatever its result.
  mutating func countEnd() {
    precondition(activeCount > 0)
    activeCount -= 1
  }

  mutating func append(_ registration: Poller.Registration) { ready.append(registration) }

  /// Removes and returns the handshakes that run in this turn.
  mutating func dequeueTurn() -> [Poller.Registration] {
    var turn: [Poller.Registration] = []
    while turn.count < Limits.handshakesPerTurn, let next = ready.popFirst() { turn.append(next) }
    return turn
  }
}
