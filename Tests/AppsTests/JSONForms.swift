import LockstepJSON
import LockstepModel
import Testing

/// Checks that each value is written as its text, and that the text is read as the value.
func expectForms<Value: Equatable>(
  _ forms: [(Value, String)], write: (Value) -> JSONValue,
  read: (JSONValue) throws(EditRefusal) -> Value
) throws {
  for (value, text) in forms {
    #expect(write(value).text == text)
    #expect(try read(json(text)) == value)
  }
}

/// Checks that each text is refused for its reason.
func expectRefusals<Value>(
  _ reasons: [(String, String)], read: (JSONValue) throws(EditRefusal) -> Value
) {
  for (text, reason) in reasons {
    #expect(throws: EditRefusal(reason), "\(text)") { _ = try read(json(text)) }
  }
}
