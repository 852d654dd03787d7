import LockstepWire

/// Event of an HTTP reader that may be a chunk of a body. The number of chunks depends on how the
/// network splits the body, so readings are compared with adjacent chunks joined.
package protocol HTTPBodyEvent {
  static func body(_ bytes: [UInt8]) -> Self
  var bodyBytes: [UInt8]? { get }
}

extension HTTPRequestEvent: HTTPBodyEvent {
  package var bodyBytes: [UInt8]? { if case .body(let bytes) = self { bytes } else { nil } }
}

extension HTTPResponseEvent: HTTPBodyEvent {
  package var bodyBytes: [UInt8]? { if case .body(let bytes) = self { bytes } else { nil } }
}

extension Array where Element: HTTPBodyEvent {
  package mutating func appendJoiningBodies(_ event: Element) {
    if let bytes = event.bodyBytes, let before = last?.bodyBytes {
      self[count - 1] = .body(before + bytes)
    } else {
      append(event)
    }
  }
}
