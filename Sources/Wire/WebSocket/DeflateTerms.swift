import LockstepModel

/// Agreed compression terms of one end of a WebSocket (`permessage-deflate`, RFC 7692 section 7).
/// With any terms, each message may still be sent plain.
package struct DeflateTerms: Hashable, Sendable {
  /// Terms for the messages that this end sends.
  package struct Sending: Hashable, Sendable {
    /// Base-2 logarithm of the largest distance to which a compressed byte may refer.
    package var windowBits: Int
    /// True if a message may refer to the messages before it, so that both ends keep the window.
    package var keepsContext: Bool

    package init(windowBits: Int, keepsContext: Bool) {
      self.windowBits = windowBits
      self.keepsContext = keepsContext
    }
  }

  /// nil: this end compresses nothing.
  package var sending: Sending?
  /// True if an incoming message may refer to the messages before it.
  package var receivesContext: Bool

  package init(sending: Sending?, receivesContext: Bool) {
    self.sending = sending
    self.receivesContext = receivesContext
  }
}

/// Compression that a server agrees to.
package struct DeflatePolicy: Hashable, Sendable {
  /// Windows that the server can use when it sends, in bits. It uses the largest one that fits the
  /// offer's window, and declines an offer below all of them.
  package var windowBits: ClosedRange<Int>
  /// True if either end may refer to earlier messages.
  package var keepsContext: Bool

  package init(windowBits: ClosedRange<Int>, keepsContext: Bool) {
    self.windowBits = windowBits
    self.keepsContext = keepsContext
  }

  /// One window for all connections, and no message depends on another: a push is compressed once
  /// for all connections, and a connection keeps no state between two messages.
  package static let shared = DeflatePolicy(
    windowBits: Limits.deflateWindowBits...Limits.deflateWindowBits, keepsContext: false)
}

/// Offer of a client, which also determines the valid answers.
package struct DeflateOffer: Hashable, Sendable {
  /// True if the server may refer to earlier messages; the client itself never does.
  package var keepsServerContext: Bool
  /// True if the server may set the client's window.
  package var letsServerLimitWindow: Bool

  package init(keepsServerContext: Bool, letsServerLimitWindow: Bool) {
    self.keepsServerContext = keepsServerContext
    self.letsServerLimitWindow = letsServerLimitWindow
  }

  /// No state is kept between two messages, at either end.
  package static let withoutContext = DeflateOffer(
    keepsServerContext: false, letsServerLimitWindow: false)

  /// Value of `Sec-WebSocket-Extensions`.
  package var field: String {
    "permessage-deflate; client_no_context_takeover"
      + (keepsServerContext ? "" : "; server_no_context_takeover")
      + (letsServerLimitWindow ? "; client_max_window_bits" : "")
  }
}
