import LockstepModel

/// How two ends agree on `permessage-deflate` (RFC 7692 sections 5 and 7.1).
///
/// A server takes the first offer that it can keep, and answers it so:
///
///     offered                          answered
///     (nothing)                        client_no_context_takeover, unless context is kept
///     server_no_context_takeover       the same; also unasked, unless context is kept
///     client_no_context_takeover       the same
///     server_max_window_bits=N         =W, the window kept to, W <= N; declined without one
///     client_max_window_bits[=N]       nothing: any window of the client's is read
///     anything else, twice, or with a  declined
///     value that it may not have
package enum DeflateNegotiation {
  static let name = "permessage-deflate"

  // MARK: the server's end

  /// What is agreed with the client that sent `headers`, and the value of
  /// `Sec-WebSocket-Extensions` that tells it so; nil where nothing is, and plain frames are all.
  /// Throws where the client's field is malformed (RFC 6455 section 9.1).
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

  // MARK: the client's end

  /// What the server's answer to `offer` agrees to; nil where it agrees to no compression. Throws
  /// where it answers something that was not offered, or not what was asked: the connection is then
  /// to be closed.
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

  /// What one offer or answer says.
  private struct Parameters {
    var serverForgets = false
    var clientForgets = false
    var serverWindowBits: Int?
    var clientWindowBits: Int?

    /// nil where it says anything that RFC 7692 section 7.1 does not define, or says it twice.
    /// `isAnswer`: only an offer may leave out the size of the client's window.
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

    /// 8 to 15, in decimal and without a zero before it.
    private static func windowBits(_ text: String) -> Int? {
      ["8", "9", "10", "11", "12", "13", "14", "15"].firstIndex(of: text).map { $0 + 8 }
    }
  }
}
