import LockstepModel

extension MessageReader {
  mutating func kind() throws(Refusal) -> JSONScanner.Kind {
    do { return try scanner.kind() } catch { throw broken(error) }
  }

  /// Skips a null, which means the same as a missing member. Returns true if there was one.
  mutating func takeNull() throws(Refusal) -> Bool {
    guard try kind() == .null else { return false }
    try skip()
    return true
  }

  mutating func string(_ member: Member) throws(Refusal) -> String {
    guard try kind() == .string else { throw wrong(member, "a string") }
    do { return try scanner.string() } catch { throw broken(error) }
  }

  /// Reads the hash of a chunk; nil if the value is not one.
  mutating func chunkHash() throws(Refusal) -> ChunkHash? {
    guard try kind() == .string else { return nil }
    do { return try scanner.chunkHash() } catch { throw broken(error) }
  }

  /// Reads a string whose length in bytes of UTF-8 is in `bytes`.
  mutating func string(_ member: Member, bytes: ClosedRange<Int>) throws(Refusal) -> String {
    let expectation = "a string of \(bytes.lowerBound) to \(bytes.upperBound) bytes"
    guard try kind() == .string else { throw wrong(member, expectation) }
    let text = try string(member)
    guard bytes.contains(text.utf8.count) else { throw wrong(member, expectation) }
    return text
  }

  /// Reads a string for a person: a limited number of bytes of UTF-8, no control characters.
  mutating func label(_ member: Member, bytes: ClosedRange<Int>) throws(Refusal) -> String {
    let text = try string(member, bytes: bytes)
    guard text.isEmpty || Name.isValid(text) else {
      throw wrong(member, "a string without control characters")
    }
    return text
  }

  mutating func name(_ member: Member) throws(Refusal) -> Name {
    let text = try string(member)
    guard let name = Name(text) else {
      throw Refusal(
        .badName,
        "\(path(member)) must be 1 to \(Limits.nameBytes) bytes of UTF-8 without control characters."
      )
    }
    return name
  }

  mutating func batchID(_ member: Member) throws(Refusal) -> BatchID {
    let text = try string(member)
    guard let id = BatchID(text: text) else {
      throw wrong(member, "a random UUID, such as 0b5e7c1e-3f0a-4d6c-9a52-7d0f6a1b2c3d")
    }
    return id
  }

  mutating func changeToken(_ member: Member) throws(Refusal) -> ChangeToken {
    let text = try string(member)
    guard let token = ChangeToken(text: text) else {
      throw Refusal(
        .badChangeToken,
        "\(path(member)) must be a token as the relay gave it; leave it out to start with a snapshot."
      )
    }
    return token
  }

  mutating func optionalChangeToken(_ member: Member) throws(Refusal) -> ChangeToken? {
    try takeNull() ? nil : try changeToken(member)
  }

  mutating func deviceID(_ member: Member) throws(Refusal) -> DeviceID {
    guard let id = DeviceID(text: try string(member)) else {
      throw wrong(member, "sixteen hexadecimal digits")
    }
    return id
  }

  mutating func accountID(_ member: Member) throws(Refusal) -> AccountID {
    guard let id = AccountID(text: try string(member)) else {
      throw wrong(member, "sixteen hexadecimal digits")
    }
    return id
  }

  /// Reads a whole number in `range`; `meaning` names its unit, as in "milliseconds".
  mutating func integer(
    _ member: Member, _ range: Range<Int64> = 0..<Limits.sequenceLimit, of meaning: String = ""
  ) throws(Refusal) -> Int64 {
    if try kind() == .number, let value = try int64(), range.contains(value) { return value }
    let unit = meaning.isEmpty ? "" : " of \(meaning)"
    throw wrong(
      member, "a whole number\(unit) from \(range.lowerBound) to \(range.upperBound - 1)")
  }

  /// Reads milliseconds since the Unix epoch, in relay time.
  mutating func instant(_ member: Member) throws(Refusal) -> Int64 {
    try integer(member, of: "milliseconds since 1970")
  }

  private mutating func int64() throws(Refusal) -> Int64? {
    do { return try scanner.int64() } catch { throw broken(error) }
  }

  /// Reads a number of any kind and keeps its text.
  mutating func number(_ member: Member) throws(Refusal) -> JSONNumber {
    guard try kind() == .number else { throw wrong(member, "a number") }
    let number: JSONNumber
    do { number = try scanner.number() } catch { throw broken(error) }
    guard number.text.utf8.count <= Limits.requestIDBytes else {
      throw wrong(member, "a number of at most \(Limits.requestIDBytes) digits")
    }
    return number
  }

  mutating func bool(_ member: Member) throws(Refusal) -> Bool {
    guard try kind() == .bool else { throw wrong(member, "true or false") }
    do { return try scanner.bool() } catch { throw broken(error) }
  }

  /// Reads an object as its original bytes, checked but not parsed further.
  mutating func objectBytes(_ member: Member) throws(Refusal) -> [UInt8] {
    guard try kind() == .object else { throw wrong(member, "a JSON object") }
    return scanner.copy(try skip())
  }
}
