import LockstepJSON
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
  var position: Position?

  struct Position {
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
    guard try isNext(.object) else {
      // Invalid JSON is reported as such.
      try skip()
      let what = position.map { "`\($0.list.text)[\($0.index)]`" } ?? "The message or body"
      throw Refusal(formCode, "\(what) must be a JSON object.")
    }
    do { try scanner.enterObject() } catch { throw invalidJSON(error) }
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
        throw Refusal(formCode, "\(path(member)) occurs twice in one object; send it once.")
      }
      return member
    }
    return nil
  }

  private mutating func nextKey() throws(Refusal) -> JSONKey? {
    do { return try scanner.nextMember() } catch { throw invalidJSON(error) }
  }

  mutating func enterArray(_ member: Member) throws(Refusal) {
    guard try isNext(.array) else { throw wrong(member, "an array") }
    do { try scanner.enterArray() } catch { throw invalidJSON(error) }
  }

  mutating func nextElement() throws(Refusal) -> Bool {
    do { return try scanner.nextElement() } catch { throw invalidJSON(error) }
  }

  @discardableResult
  mutating func skip() throws(Refusal) -> Range<Int> {
    do { return try scanner.skipValue() } catch { throw invalidJSON(error) }
  }

  mutating func finish() throws(Refusal) {
    do { try scanner.finish() } catch { throw invalidJSON(error) }
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
    let prefix = position.map { "`\($0.list.text)[\($0.index)]` " } ?? ""
    return Refusal(formCode, prefix + sentence)
  }

  func path(_ member: Member) -> String {
    let prefix = position.map { "\($0.list.text)[\($0.index)]." } ?? ""
    return "`\(prefix)\(member.text)`"
  }

  func invalidJSON(_ fault: JSONFault) -> Refusal {
    Refusal(.badJSON, "The JSON is not valid: \(fault).")
  }
}

extension MessageReader {
  mutating func isNext(_ kind: JSONScanner.Kind) throws(Refusal) -> Bool {
    do { return try scanner.isNext(kind) } catch { throw invalidJSON(error) }
  }

  /// Skips a null, which means the same as a missing member. Returns true if there was one.
  mutating func skipNull() throws(Refusal) -> Bool {
    guard try isNext(.null) else { return false }
    try skip()
    return true
  }

  mutating func string(_ member: Member) throws(Refusal) -> String {
    guard try isNext(.string) else { throw wrong(member, "a string") }
    do { return try scanner.string() } catch { throw invalidJSON(error) }
  }

  /// Reads the hash of a chunk; nil if the value is not one.
  mutating func chunkHash() throws(Refusal) -> ChunkHash? {
    guard try isNext(.string) else { return nil }
    do { return try scanner.chunkHash() } catch { throw invalidJSON(error) }
  }

  /// Returns nil if the next value is no fingerprint.
  mutating func fingerprint() throws(Refusal) -> VersionFingerprint? {
    guard try isNext(.string) else { return nil }
    do { return VersionFingerprint(text: try scanner.string()) } catch { throw invalidJSON(error) }
  }

  /// Reads a string whose length in bytes of UTF-8 is in `bytes`.
  mutating func string(_ member: Member, bytes: ClosedRange<Int>) throws(Refusal) -> String {
    let expectation = "a string of \(bytes.lowerBound) to \(bytes.upperBound) bytes"
    guard try isNext(.string) else { throw wrong(member, expectation) }
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
    guard try isNext(.string) else { throw wrong(member, "a string") }
    let id: BatchID?
    do { id = try scanner.batchID() } catch { throw invalidJSON(error) }
    guard let id else {
      throw wrong(member, "a random UUID, such as 0b5e7c1e-3f0a-4d6c-9a52-7d0f6a1b2c3d")
    }
    return id
  }

  mutating func changeToken(_ member: Member) throws(Refusal) -> ChangeToken {
    let text = try string(member)
    guard let token = ChangeToken(text: text) else {
      throw Refusal(
        .badChangeToken,
        "\(path(member)) must be a token that the relay sent; omit it to start with a snapshot."
      )
    }
    return token
  }

  mutating func optionalChangeToken(_ member: Member) throws(Refusal) -> ChangeToken? {
    try skipNull() ? nil : try changeToken(member)
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
    if try isNext(.number), let value = try int64(), range.contains(value) { return value }
    let unit = meaning.isEmpty ? "" : " of \(meaning)"
    throw wrong(
      member, "a whole number\(unit) from \(range.lowerBound) to \(range.upperBound - 1)")
  }

  /// Reads milliseconds since the Unix epoch, in relay time.
  mutating func instant(_ member: Member) throws(Refusal) -> Int64 {
    try integer(member, of: "milliseconds since 1970")
  }

  private mutating func int64() throws(Refusal) -> Int64? {
    do { return try scanner.int64() } catch { throw invalidJSON(error) }
  }

  /// Reads a number of any kind and keeps its text.
  mutating func number(_ member: Member) throws(Refusal) -> JSONNumber {
    guard try isNext(.number) else { throw wrong(member, "a number") }
    let number: JSONNumber
    do { number = try scanner.number() } catch { throw invalidJSON(error) }
    guard number.text.utf8.count <= Limits.requestIDBytes else {
      throw wrong(member, "a number of at most \(Limits.requestIDBytes) digits")
    }
    return number
  }

  mutating func bool(_ member: Member) throws(Refusal) -> Bool {
    guard try isNext(.bool) else { throw wrong(member, "true or false") }
    do { return try scanner.bool() } catch { throw invalidJSON(error) }
  }

  /// Reads an object as its original bytes, checked but not parsed further.
  mutating func objectBytes(_ member: Member) throws(Refusal) -> [UInt8] {
    guard try isNext(.object) else { throw wrong(member, "a JSON object") }
    return scanner.copy(try skip())
  }

  /// Reads an object as `objectBytes` does, and refuses one in which a name is repeated.
  mutating func unambiguousObjectBytes(_ member: Member) throws(Refusal) -> [UInt8] {
    guard try isNext(.object) else { throw wrong(member, "a JSON object") }
    do {
      return scanner.copy(try scanner.skipValueWithUniqueNames())
    } catch {
      throw invalidJSON(error)
    }
  }
}

/// Every member name of the protocol, so that a scanned name becomes a case without a string, and a
/// repeated name in an object is detected.
enum Member: UInt8, CaseIterable {
  // Messages.
  case op, id, t0, t1, t2, keepAlive, within
  // Saves and fetches.
  case zone, records, atomic, since, limit, token, results, more, changes, lostTags
  // Records.
  case name, type, fields, modifiedAt, device, tag, deleted, baseTag, unlessDeleted
  case chunks, includes
  // Results of a save.
  case conflict, error, title, status, code, detail, retryAfter, time, restoredThrough
  case lostThrough
  // Accounts and devices.
  case accountID, deviceID, deviceName, platform, appVersion, expiresAt, devices, lastSeen
  case connected
  // Scopes of devices, and keys for them.
  case scope, zones, access, expiresIn, wrapped, relay
  // Subscriptions.
  case kind, recordType, `where`, events
  // Chunks of files.
  case hashes, missing
  // Wakes.
  case endpoint, p256dh, auth, wakeKey, notification, navigate
  // Timing of a save.
  case timed, timing, received, durable, pushed

  /// The name on the wire: the case's own name.
  var text: String { String(describing: self) }

  /// Returns nil for a name that is not in the protocol.
  static func named(_ key: JSONKey) -> Member? { table.member(key) }

  private static let table = MemberTable()
}

/// Set of the members that an object has had so far, one bit each; 128 at most.
struct MemberSet {
  private var bits: UInt128 = 0

  /// Returns false if the member was already present.
  mutating func insert(_ member: Member) -> Bool {
    let bit: UInt128 = 1 << UInt128(member.rawValue)
    defer { bits |= bit }
    return bits & bit == 0
  }
}

/// Open-addressed table from keys to members, made once.
private struct MemberTable {
  private static let slots = 256
  private var keys: [JSONKey]
  private var members: [Member?]

  init() {
    keys = Array(repeating: JSONKey("".utf8), count: Self.slots)
    members = Array(repeating: nil, count: Self.slots)
    for member in Member.allCases {
      let key = JSONKey(member.text.utf8)
      var slot = Self.slot(key)
      while members[slot] != nil { slot = (slot + 1) % Self.slots }
      keys[slot] = key
      members[slot] = member
    }
  }

  func member(_ key: JSONKey) -> Member? {
    var slot = Self.slot(key)
    while let member = members[slot] {
      if keys[slot] == key { return member }
      slot = (slot + 1) % Self.slots
    }
    return nil
  }

  private static func slot(_ key: JSONKey) -> Int {
    Int(((key.low ^ key.high) &* 0x9E37_79B9_7F4A_7C15) >> 56)
  }
}
