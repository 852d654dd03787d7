import Testing

/// `#expect(value == expected)` for a value that a mutating call gives: the macro cannot take one.
func expect<Value: Equatable>(
  _ value: Value, is expected: Value, sourceLocation: SourceLocation = #_sourceLocation
) {
  #expect(value == expected, sourceLocation: sourceLocation)
}
