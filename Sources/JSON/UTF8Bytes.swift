/// Access to the UTF-8 bytes of text as spans. `utf8Span` needs macOS 26 or iOS 26; on older
/// systems of Apple the bytes are reached through a pointer.
extension String {
  @inlinable @inline(__always)
  package func withUTF8Bytes<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
    #if canImport(Darwin)
      var text = self
      return text.withUTF8 { body($0.span) }
    #else
      body(utf8Span.span)
    #endif
  }

  /// Calls `body` with the bytes of this text and of another.
  @inlinable @inline(__always)
  package func withUTF8Bytes<Result>(
    and other: String, _ body: (Span<UInt8>, Span<UInt8>) -> Result
  ) -> Result {
    #if canImport(Darwin)
      var (text, other) = (self, other)
      return text.withUTF8 { text in other.withUTF8 { body(text.span, $0.span) } }
    #else
      body(utf8Span.span, other.utf8Span.span)
    #endif
  }
}

#if canImport(Darwin)
  extension Array {
    /// The elements, in place of the standard library's property of this name, which needs macOS 26
    /// or iOS 26. That of a slice does not.
    @inlinable
    package var span: Span<Element> {
      @_lifetime(borrow self)
      get {
        // The slice shares the array's storage, which lives as long as the array is borrowed.
        let slice = self[...]
        return unsafe _overrideLifetime(slice.span, borrowing: self)
      }
    }
  }
#endif
