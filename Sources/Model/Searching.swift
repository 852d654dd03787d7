extension Array {
  /// Returns the index of the first element for which `isBefore` is false; `count` if there is
  /// none. The elements for which it is true must be a prefix of the array.
  package func lowerBound(where isBefore: (Element) -> Bool) -> Int {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if isBefore(self[middle]) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

extension RawSpan {
  /// Returns the number of leading bytes that are equal in both. Compares eight bytes at a time,
  /// because replicas and stores sort by names.
  @inlinable package func commonPrefix(with other: RawSpan) -> Int {
    let count = Swift.min(byteCount, other.byteCount)
    // All loads are within the first `count` bytes.
    var offset = 0
    while count - offset >= 8 {
      let difference =
        unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self)
        ^ other.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self)
      // In little-endian order the first byte is the lowest one of the word.
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
