extension RawSpan {
  /// How many bytes from the front are the same in both. Eight at a time: replicas and stores sort
  /// by names.
  @inlinable package func commonPrefix(with other: RawSpan) -> Int {
    let count = Swift.min(byteCount, other.byteCount)
    var offset = 0
    while offset + 8 <= count,
      unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
        == other.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
    {
      offset += 8
    }
    while offset < count,
      unsafeLoad(fromByteOffset: offset, as: UInt8.self)
        == other.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    {
      offset += 1
    }
    return offset
  }
}
