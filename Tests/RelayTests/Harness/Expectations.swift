import Testing

/// `#expect(value == expected)` for the value of a mutating call, which the macro does not accept.
func expect<Value: Equatable>(
  _ value: Value, is expected: Value, sourceLocation: SourceLocation = #_sourceLocation
) {
  #expect(value == expected, sourceLocation: sourceLocation)
}
