import LockstepModel

/// How one end of a WebSocket compresses, once `permessage-deflate` is agreed on (RFC 7692 section
/// 7). Whatever is agreed, each message may still be sent plain.
package struct DeflateTerms: Hashable, Sendable {
  /// How this end compresses what it sends.
  package struct Sending: Hashable, Sendable {
    /// The base-2 logarithm of how far back a compressed byte may refer.
    package var windowBits: Int
    /// A message may refer to the messages before it, so that both ends keep the window.
    package var keepsContext: Bool

    package init(windowBits: Int, keepsContext: Bool) {
      self.windowBits = windowBits
      self.keepsContext = keepsContext
    }
  }

  /// nil: this end compresses nothing.
  package var sending: Sending?
  /// Whether a message that comes in may refer to the messages before it.
  package var receivesContext: Bool

  package init(sending: Sending?, receivesContext: Bool) {
    self.sending = sending
    self.receivesContext = receivesContext
  }
}

/// What a server agrees to.
package struct DeflatePolicy: Hashable, Sendable {
  /// The windows that it can keep to when it sends, in bits; of an offer's window the largest one
  /// that fits is taken, and an offer below all of them is declined.
  package var windowBits: ClosedRange<Int>
  /// Whether either end may refer to the messages before.
  package var keepsContext: Bool

  package init(windowBits: ClosedRange<Int>, keepsContext: Bool) {
    self.windowBits = windowBits
    self.keepsContext = keepsContext
  }

  /// One window for all, and no message depends on another: so a push is compressed once and goes
  /// to every connection, and a connection between two messages keeps nothing.
  package static let shared = DeflatePolicy(
    windowBits: Limits.deflateWindowBits...Limits.deflateWindowBits, keepsContext: false)
}

/// What a client offers, and which answers to it are good.
package struct DeflateOffer: Hashable, Sendable {
  /// Whether the server may refer to the messages before; the client itself never does.
  package var keepsServerContext: Bool
  /// Whether the server may name the client's window.
  package var letsServerLimitWindow: Bool

  package init(keepsServerContext: Bool, letsServerLimitWindow: Bool) {
    self.keepsServerContext = keepsServerContext
    self.letsServerLimitWindow = letsServerLimitWindow
  }

  /// Nothing is kept between two messages, at either end.
  package static let withoutContext = DeflateOffer(
    keepsServerContext: false, letsServerLimitWindow: false)

  /// The value of `Sec-WebSocket-Extensions`.
  package var field: String {
    "permessage-deflate; client_no_context_takeover"
      + (keepsServerContext ? "" : "; server_no_context_takeover")
      + (letsServerLimitWindow ? "; client_max_window_bits" : "")
  }
}
