extension JSONScanner {
  /// Checks the whole next value, of any depth, and returns its range of bytes, without the white
  /// space around it.
  ///
  /// The depth is counted from the value itself: a record's `fields` may be as deep in an answer,
  /// which wraps them more often, as in the save.
  @discardableResult
  package mutating func skipValue() throws(JSONFault) -> Range<Int> {
    skipWhiteSpace()
    let start = position
    var levels = Levels()
    while true {
      if try skipValueStart(&levels) { continue }
      // A value has ended: leave the objects and arrays that end with it, and find the next value.
      if try skipBetween(&levels) { break }
    }
    valueEnded()
    return start..<position
  }

  /// Objects and arrays around a value, one bit each: 1 for an object. `Limits.jsonDepth` is 64.
  private struct Levels {
    var kinds: UInt64 = 0
    var count = 0

    var innermostIsObject: Bool { kinds & 1 == 1 }

    mutating func enter(object: Bool) {
      kinds = kinds << 1 | (object ? 1 : 0)
      count += 1
    }

    mutating func leave() {
      kinds >>= 1
      count -= 1
    }
  }

  /// Skips a single value, or the opening of an object or array; true if another value begins
  /// within it.
  @inline(__always)
  private mutating func skipValueStart(_ levels: inout Levels) throws(JSONFault) -> Bool {
    let first = try peek()
    switch first {
    case .quote: _ = try scanString()
    case .minus, .zero ... .nine: _ = try scanNumber()
    case .openBrace, .openBracket:
      guard levels.count < Limits.jsonDepth else { throw fault(.tooDeep) }
      position += 1
      let isObject = first == .openBrace
      if try peek() == (isObject ? .closeBrace : .closeBracket) {
        position += 1
        return false
      }
      levels.enter(object: isObject)
      if isObject { _ = try name() }
      return true
    case .letterT: try literal("true")
    case .letterF: try literal("false")
    case .letterN: try literal("null")
    default: throw fault(.expected(.value))
    }
    return false
  }

  /// Skips the bytes between a value and the next one: closing brackets, a comma, a name. True if
  /// the outermost value has ended.
  @inline(__always)
  private mutating func skipBetween(_ levels: inout Levels) throws(JSONFault) -> Bool {
    while levels.count > 0 {
      let isObject = levels.innermostIsObject
      let next = try peek()
      if next == .comma {
        position += 1
        if isObject { _ = try name() }
        return false
      }
      guard next == (isObject ? .closeBrace : .closeBracket) else {
        throw fault(.expected(isObject ? .commaOrBrace : .commaOrBracket))
      }
      position += 1
      levels.leave()
    }
    return true
  }
}
