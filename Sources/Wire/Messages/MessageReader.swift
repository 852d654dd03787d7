import LockstepModel

/// Reads a message or body member by member, and turns whatever is wrong with it into a refusal
/// that names the member and what it should be.
///
/// It knows the kinds of values that the protocol has, not its messages.
struct MessageReader: ~Escapable {
  var scanner: JSONScanner
  /// What a fault of form is called here: `badMessage` on the socket, `badRequest` in a body.
  private let formCode: RefusalCode
  /// The list and the element in it that is being read, for the refusal's words.
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
      // What is not even JSON is named so.
      try skip()
      let what = place.map { "`\($0.list.text)[\($0.index)]`" } ?? "The message or body"
      throw Refusal(formCode, "\(what) must be a JSON object.")
    }
    do { try scanner.enterObject() } catch { throw broken(error) }
  }

  /// The next member that the protocol knows, whose value must be read or skipped next; nil at the
  /// object's end. Unknown members are passed over.
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

  /// The message's `op`, wherever it stands in it; the reader is at the message's start afterwards.
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

  /// `value`, or the refusal that its member is missing.
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

  /// A fault of form of the element being read, in words of its own.
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
