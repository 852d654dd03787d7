import LockstepModel

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
