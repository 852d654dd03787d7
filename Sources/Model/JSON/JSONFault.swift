/// Fault in bytes that are not the expected JSON (RFC 8259), with its position.
public struct JSONFault: Error, Hashable, Sendable {
  /// Number of bytes before the fault.
  public var offset: Int
  public var reason: Reason

  public enum Reason: Hashable, Sendable {
    case unexpectedEnd
    /// A byte that is not allowed here; the expectation describes the allowed ones.
    case expected(Expectation)
    /// A control character without an escape in a string.
    case bareControlCharacter
    case badEscape
    /// Half of a surrogate pair, which is no character.
    case loneSurrogate
    case badUTF8
    case badNumber
    case tooDeep
    case duplicateName
    case trailingBytes
  }

  public enum Expectation: String, Hashable, Sendable {
    case value = "a value"
    case object = "an object"
    case array = "an array"
    case string = "a string"
    case number = "a number"
    case bool = "true or false"
    case null = "null"
    case name = "a member's name in double quotes"
    case colon = "a colon"
    case commaOrBrace = "a comma or a closing brace"
    case commaOrBracket = "a comma or a closing bracket"
  }

  package init(_ reason: Reason, at offset: Int) {
    self.offset = offset
    self.reason = reason
  }
}

extension JSONFault: CustomStringConvertible {
  /// One sentence for the person who wrote the bytes.
  public var description: String {
    "\(reason.sentence) (byte \(offset))"
  }
}

extension JSONFault.Reason {
  fileprivate var sentence: String {
    switch self {
    case .unexpectedEnd: "the JSON ends before it is complete"
    case .expected(let expectation): "\(expectation.rawValue) is expected here"
    case .bareControlCharacter:
      "a control character in a string must be written as an escape, such as \\n or \\u0001"
    case .badEscape:
      "after a backslash stands one of \" \\ / b f n r t, or u with four hexadecimal digits"
    case .loneSurrogate:
      "\\ud800 to \\udfff stand for a character only as a pair, a high one before a low one"
    case .badUTF8: "the bytes are not valid UTF-8"
    case .badNumber:
      "a number is written as in -12.5e3, with no leading zero, plus sign or empty part"
    case .tooDeep: "arrays and objects are nested more than \(Limits.jsonDepth) deep"
    case .duplicateName: "a member of the same name stands in the object already"
    case .trailingBytes: "nothing may follow the JSON value"
    }
  }
}
