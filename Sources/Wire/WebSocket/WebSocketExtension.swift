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
      var reading = Reading(bytes: Array(field.utf8))
      guard reading.addMembers(to: &list) else { return nil }
    }
    return list
  }

  private struct Reading {
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
        while take(";") {
          guard let parameter = parameter() else { return false }
          member.parameters.append(parameter)
        }
        list.append(member)
      } while take(",")
      return index == bytes.count
    }

    private mutating func parameter() -> Parameter? {
      guard let name = token() else { return nil }
      guard take("=") else { return Parameter(name: name) }
      guard let value = take("\"") ? quotedToken() : token() else { return nil }
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
      guard take("\""), !value.isEmpty else { return nil }
      return String(decoding: value, as: UTF8.self)
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
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
