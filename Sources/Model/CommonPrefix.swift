extension RawSpan {
  /// How many bytes from the front are the same in both. Eight at a time: replicas and stores sort
  /// by names.
  @inlinable package func commonPrefix(with other: RawSpan) -> Int {
    let count = Swift.min(byteCount, other.byteCount)
    // All that is loaded lies before `count`.
    var offset = 0
    while count - offset >= 8 {
      let difference =
        unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self)
        ^ other.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self)
      // The byte that comes first is the lowest of a number that is kept so.
      if difference != 0 { return offset + difference.littleEndian.trailingZeroBitCount / 8 }
      offset += 8
    }
    while offset < count,
      unsafeLoad(fromUncheckedByteOffset: offset, as: UInt8.self)
        == other.unsafeLoad(fromUncheckedByteOffset: offset, as: UInt8.self)
    {
      offset += 1
    }
    return offset
  }
}
