import Changes

/// How much the node takes on: bytes of bodies, guesses at pairing codes.
struct Admission: Sendable {
  private let bodyLimit: Int
  /// Bytes of bodies, messages and unsent answers held over all connections.
  private(set) var bodyBytes = 0
  /// Whether a page may be read from the store for somebody.
  var hasRoom: Bool { bodyBytes <= bodyLimit }
  var guesses: PairingGuesses

  init(_ configuration: RelayConfiguration) {
    bodyLimit = configuration.limits.bodyBudgetBytes(ofOneIn: configuration.nodes)
    guesses = PairingGuesses(configuration.limits)
  }

  /// A connection holds `now` bytes, and held `before`. False where that is more than there is for
  /// all: this connection should give way.
  mutating func hold(_ now: Int, before: Int) -> Bool {
    bodyBytes += now - before
    return now <= before || bodyBytes <= bodyLimit
  }

  static func tooManyGuesses(_ wait: Int64) -> Refusal {
    Refusal(
      .tooManyRequests, "Too many pairing codes were tried; wait a little, then try again.",
      retryAfterMilliseconds: wait)
  }
}
