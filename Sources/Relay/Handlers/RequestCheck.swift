import LockstepModel
import LockstepWire

/// Checks of a request by its head, before its body comes.
enum RequestCheck {
  /// Returns the refusal of a call that needs no token, from a page of a foreign origin. The
  /// answers to all other calls are withheld from the page by its browser. The owner's calls are
  /// refused to all pages but the owner's.
  static func refusal(
    ofOriginOf call: Call, _ crossOrigin: CrossOrigin
  ) -> Refusal? {
    if crossOrigin == .foreignToOwner { return CrossOrigin.ownerRefusal }
    guard crossOrigin == .foreign else { return nil }
    switch call {
    case .socket, .unauthenticated(.createAccount), .unauthenticated(.join):
      return CrossOrigin.refusal
    case .unauthenticated, .signed, .owner, .ownerProcess, .upload, .health, .page, .ownPage:
      return nil
    }
  }

  /// Returns the status page for a browser; programs get the figures.
  static func resolveStatusPage(
    _ call: Call, _ head: HTTPRequestHead, _ pages: WebAssetCache
  ) -> Call {
    guard call == .health(.status),
      head.headers.list("Accept").contains(where: { $0.hasPrefix("text/html") }),
      let page = pages.page(at: head.target.path, listenerKind: .admin)
    else { return call }
    return .page(page)
  }

  /// Returns the call, or, if its head announces a body that it does not take, the refusal of that:
  /// a device must be authenticated before its request is judged.
  static func checkBody(_ call: Call, _ head: HTTPRequestHead) -> Call {
    guard let refusal = refusal(ofBodyOf: call, head) else { return call }
    switch call {
    case .signed, .upload: return .signed(.refused(refusal))
    case .unauthenticated, .owner, .ownerProcess, .health, .page, .ownPage, .socket: return call
    }
  }

  /// Returns the refusal of the body, as far as the head shows it.
  static func refusal(ofBodyOf call: Call, _ head: HTTPRequestHead) -> Refusal? {
    if call.readsBody, let type = head.headers["Content-Type"], !isJSON(type) {
      return Refusal(
        .unsupportedMediaType, "Send the body as JSON, with `Content-Type: application/json`.")
    }
    // The relay does not decode bodies, and must store what was meant.
    if head.framing != .none,
      head.headers.list("Content-Encoding").contains(where: { $0.lowercased() != "identity" })
    {
      return Refusal(
        .unsupportedMediaType, "Send the body unencoded, without `Content-Encoding`.")
    }
    if case .upload = call, head.framing == .none {
      return Refusal(
        .lengthRequired, "Send the chunk's bytes as a body, with `Content-Length` or chunked.")
    }
    return nil
  }

  /// True for `application/json` and types based on it (RFC 6839), whatever the parameters.
  private static func isJSON(_ type: String) -> Bool {
    let essence = type.prefix { $0 != ";" }.lowercased().filter { $0 != " " && $0 != "\t" }
    return essence == "application/json" || essence.hasSuffix("+json")
  }

  /// Returns the bearer token (RFC 6750 section 2.1); nil if there is none.
  static func bearerToken(_ headers: HTTPHeaders) -> ArraySlice<UInt8>? {
    let blank = UInt8(ascii: " ")
    guard let value = headers.onlyBytes(of: "Authorization"), let end = value.firstIndex(of: blank)
    else { return nil }
    let scheme = value[..<end]
    guard equalIgnoringCase(scheme.span, "bearer") else { return nil }
    let token = value[end...].drop { $0 == blank }
    return token.isEmpty ? nil : token
  }
}
