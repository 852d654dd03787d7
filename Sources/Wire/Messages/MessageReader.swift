import LockstepModel

/// Reads a message or body member by member. Turns any fault into a refusal that names the member
/// and its expected value.
///
/// Handles the protocol's kinds of values and no particular message.
struct MessageReader: ~Escapable {
  var scanner: JSONScanner
  /// Code for a fault of form: `badMessage` on the socket, `badRequest` in a body.
  private let formCode: RefusalCode
  /// List and index of the element that is being read, for the refusal's text.
  var place: Place?

  struct Place {
    var list: Member
    var index: Int
  }

  @_lifetime(copy bytes)
  init(_ bytes: RawSpan, formCode: RefusalCode) {
    scanner = JSONScanner(bytes)
    self.formCode = formCode
  }

  // MARK: Structure

  mutating func enterObject() throws(Refusal) {
    guard try kind() == .object else {
      // Invalid JSON is reported as such.
      try skip()
      let what = place.map { "`\($0.list.text)[\($0.index)]`" } ?? "The message or body"
      throw Refusal(formCode, "\(what) must be a JSON object.")
    }
    do { try scanner.enterObject() } catch { throw broken(error) }
  }

  /// Returns the next known member, whose value must be read or skipped next; nil at the object's
  /// end. Unknown members are skipped.
  mutating func nextMember(_ seen: inout MemberSet) throws(Refusal) -> Member? {
    while let key = try nextKey() {
      guard let member = Member.named(key) else {
        try skip()
        continue
      }
      guard seen.insert(member) else {
        throw Refusal(formCode, "\(path(member)) stands twice in one object; send it once.")
      }
      return member
    }
    return nil
  }

  private mutating func nextKey() throws(Refusal) -> JSONKey? {
    do { return try scanner.nextMember() } catch { throw broken(error) }
  }

  mutating func enterArray(_ member: Member) throws(Refusal) {
    guard try kind() == .array else { throw wrong(member, "an array") }
    do { try scanner.enterArray() } catch { throw broken(error) }
  }

  mutating func nextElement() throws(Refusal) -> Bool {
    do { return try scanner.nextElement() } catch { throw broken(error) }
  }

  @discardableResult
  mutating func skip() throws(Refusal) -> Range<Int> {
    do { return try scanner.skipValue() } catch { throw broken(error) }
  }

  mutating func finish() throws(Refusal) {
    do { try scanner.finish() } catch { throw broken(error) }
  }

  /// Returns the message's `op`, at any position in it, and resets the reader to the message's
  /// start.
  mutating func operation() throws(Refusal) -> String {
    let start = scanner
    try enterObject()
    var seen = MemberSet()
    while let member = try nextMember(&seen) {
      guard member == .op else {
        try skip()
        continue
      }
      let operation = try string(.op)
      scanner = start
      return operation
    }
    throw missing(.op)
  }

  // MARK: Refusals

  /// Returns `value`, or throws the refusal that its member is missing.
  func require<Value>(_ value: Value?, _ member: Member) throws(Refusal) -> Value {
    guard let value else { throw missing(member) }
    return value
  }

  func missing(_ member: Member) -> Refusal {
    Refusal(formCode, "\(path(member)) is missing.")
  }

  func wrong(_ member: Member, _ expectation: String) -> Refusal {
    Refusal(formCode, "\(path(member)) must be \(expectation).")
  }

  /// Returns the refusal for a fault of form of the current element, with the given sentence.
  func fault(_ sentence: String) -> Refusal {
    let prefix = place.map { "`\($0.list.text)[\($0.index)]` " } ?? ""
    return Refusal(formCode, prefix + sentence)
  }

  func path(_ member: Member) -> String {
    let prefix = place.map { "\($0.list.text)[\($0.index)]." } ?? ""
    return "`\(prefix)\(member.text)`"
  }

  func broken(_ fault: JSONFault) -> Refusal {
    Refusal(.badJSON, "The JSON is not valid: \(fault).")
  }
}
