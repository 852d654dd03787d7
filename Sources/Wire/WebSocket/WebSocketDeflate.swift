import LockstepModel

/// One member of the field `Sec-WebSocket-Extensions`, whose members are in order of preference
/// (RFC 6455 section 9.1):
///
///     extension  = token *( ";" parameter )
///     parameter  = token [ "=" ( token / quoted-string ) ]      a quoted value is a token as well
struct WebSocketExtension: Hashable, Sendable {
  struct Parameter: Hashable, Sendable {
    var name: String
    /// nil if there is only a name.
    var value: String?
  }

  var name: String
  var parameters: [Parameter]

  /// Returns all members of the fields in `headers`, in order; nil if a field violates the grammar.
  static func list(of headers: HTTPHeaders) -> [WebSocketExtension]? {
    var list: [WebSocketExtension] = []
    for field in headers.values("Sec-WebSocket-Extensions") {
      var fieldReader = FieldReader(bytes: Array(field.utf8))
      guard fieldReader.addMembers(to: &list) else { return nil }
    }
    return list
  }

  private struct FieldReader {
    let bytes: [UInt8]
    var index = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// Returns false if the field violates the grammar. Skips empty members (RFC 9110 section
    /// 5.6.1).
    mutating func addMembers(to list: inout [WebSocketExtension]) -> Bool {
      repeat {
        guard let name = token() else {
          if index == bytes.count || bytes[index] == UInt8(ascii: ",") { continue }
          return false
        }
        var member = WebSocketExtension(name: name, parameters: [])
        while skip(";") {
          guard let parameter = parameter() else { return false }
          member.parameters.append(parameter)
        }
        list.append(member)
      } while skip(",")
      return index == bytes.count
    }

    private mutating func parameter() -> Parameter? {
      guard let name = token() else { return nil }
      guard skip("=") else { return Parameter(name: name) }
      guard let value = skip("\"") ? quotedToken() : token() else { return nil }
      return Parameter(name: name, value: value)
    }

    private mutating func token() -> String? {
      skipBlanks()
      let start = index
      while index < bytes.count, ByteSet.token.contains(bytes[index]) { index += 1 }
      return start == index ? nil : String(decoding: bytes[start..<index], as: UTF8.self)
    }

    /// Reads a quoted value after its first quote; a backslash may precede any byte of it.
    private mutating func quotedToken() -> String? {
      var value: [UInt8] = []
      while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
        if bytes[index] == UInt8(ascii: "\\") { index += 1 }
        guard index < bytes.count, ByteSet.token.contains(bytes[index]) else { return nil }
        value.append(bytes[index])
        index += 1
      }
      guard skip("\""), !value.isEmpty else { return nil }
      return String(decoding: value, as: UTF8.self)
    }

    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
      skipBlanks()
      guard index < bytes.count, bytes[index] == UInt8(ascii: character) else { return false }
      index += 1
      return true
    }

    private mutating func skipBlanks() {
      while index < bytes.count, bytes[index].isBlank { index += 1 }
    }
  }
}

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

/// Negotiation of `permessage-deflate` (RFC 7692 sections 5 and 7.1).
///
/// A server accepts the first offer that it can keep, and answers it so:
///
///     offered                          answered
///     (nothing)                        client_no_context_takeover, unless context is kept
///     server_no_context_takeover       the same; also unasked, unless context is kept
///     client_no_context_takeover       the same
///     server_max_window_bits=N         =W, the window in use, W <= N; declined without one
///     client_max_window_bits[=N]       nothing: any window of the client's can be read
///     anything else, twice, or with a  declined
///     value that is not allowed
package enum DeflateNegotiation {
  static let name = "permessage-deflate"

  // MARK: server

  /// Returns the agreed terms for the client that sent `headers`, and the value of
  /// `Sec-WebSocket-Extensions` for the answer; nil if nothing is agreed and all frames are plain.
  /// Throws if the client's field is malformed (RFC 6455 section 9.1).
  package static func answer(
    to headers: HTTPHeaders, _ policy: DeflatePolicy
  ) throws(Refusal) -> (terms: DeflateTerms, field: String)? {
    guard let offers = WebSocketExtension.list(of: headers) else {
      throw Refusal(.badRequest, "Sec-WebSocket-Extensions is malformed.")
    }
    for offer in offers where offer.name == name {
      if let found = Parameters(offer.parameters, isAnswer: false),
        let agreed = accept(found, policy)
      {
        return agreed
      }
    }
    return nil
  }

  private static func accept(
    _ offer: Parameters, _ policy: DeflatePolicy
  ) -> (terms: DeflateTerms, field: String)? {
    let windowBits = min(policy.windowBits.upperBound, offer.serverWindowBits ?? 15)
    guard windowBits >= policy.windowBits.lowerBound else { return nil }
    let serverKeeps = policy.keepsContext && !offer.serverForgets
    let clientKeeps = policy.keepsContext && !offer.clientForgets
    var field = name
    if !serverKeeps { field += "; server_no_context_takeover" }
    if !clientKeeps { field += "; client_no_context_takeover" }
    if offer.serverWindowBits != nil { field += "; server_max_window_bits=\(windowBits)" }
    let terms = DeflateTerms(
      sending: .init(windowBits: windowBits, keepsContext: serverKeeps),
      receivesContext: clientKeeps)
    return (terms, field)
  }

  // MARK: client

  /// Returns the terms that the server's answer to `offer` agrees to; nil if it agrees to no
  /// compression. Throws if it answers an extension that was not offered, or terms that the offer
  /// does not allow: the connection must then be closed.
  package static func check(
    _ headers: HTTPHeaders, _ offer: DeflateOffer
  ) throws(Refusal) -> DeflateTerms? {
    guard let answers = WebSocketExtension.list(of: headers) else {
      throw Refusal(.internalError, "The relay's Sec-WebSocket-Extensions is malformed.")
    }
    guard let answer = answers.first else { return nil }
    guard answers.count == 1, answer.name == name else {
      throw Refusal(.internalError, "The relay uses an extension that was not offered.")
    }
    guard let found = Parameters(answer.parameters, isAnswer: true),
      offer.letsServerLimitWindow || found.clientWindowBits == nil,
      offer.keepsServerContext || found.serverForgets
    else {
      throw Refusal(.internalError, "The relay compresses in a way that was not offered.")
    }
    let windowBits = min(found.clientWindowBits ?? 15, Limits.deflateWindowBits)
    // zlib has no window of 8 bits: such a client sends plain frames.
    let sending =
      windowBits < Deflater.windowBits.lowerBound
      ? nil : DeflateTerms.Sending(windowBits: windowBits, keepsContext: false)
    return DeflateTerms(sending: sending, receivesContext: !found.serverForgets)
  }

  /// Parameters of one offer or answer.
  private struct Parameters {
    var serverForgets = false
    var clientForgets = false
    var serverWindowBits: Int?
    var clientWindowBits: Int?

    /// Returns nil if a parameter is not defined by RFC 7692 section 7.1, or occurs twice.
    /// `isAnswer`: only an offer may omit the size of the client's window.
    init?(_ parameters: [WebSocketExtension.Parameter], isAnswer: Bool) {
      guard Set(parameters.map(\.name)).count == parameters.count else { return nil }
      for parameter in parameters {
        switch (parameter.name, parameter.value) {
        case ("server_no_context_takeover", nil): serverForgets = true
        case ("client_no_context_takeover", nil): clientForgets = true
        case ("client_max_window_bits", nil) where !isAnswer: break
        case ("server_max_window_bits", let value?):
          guard let bits = Parameters.windowBits(value) else { return nil }
          serverWindowBits = bits
        case ("client_max_window_bits", let value?):
          guard let bits = Parameters.windowBits(value) else { return nil }
          clientWindowBits = bits
        default: return nil
        }
      }
    }

    /// Parses 8 to 15, in decimal and without a leading zero.
    private static func windowBits(_ text: String) -> Int? {
      ["8", "9", "10", "11", "12", "13", "14", "15"].firstIndex(of: text).map { $0 + 8 }
    }
  }
}
