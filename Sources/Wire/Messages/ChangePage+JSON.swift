public import LockstepModel

extension ChangePage {
  /// Encodes the body of `GET /v1/changes`.
  public func encodedBody() -> [UInt8] {
    EncodedChanges(changes, lostTags: lostTags).body(since: since, token: token, more: more)
  }

  public static func decoded(body: [UInt8]) throws(Refusal) -> ChangePage {
    var reader = MessageReader(body.span.bytes, formCode: .badMessage)
    let (_, page) = try reader.changePage()
    try reader.finish()
    return page
  }
}

extension MessageReader {
  /// Reads a page, and the id of the request that it answers, if there is one.
  mutating func changePage() throws(Refusal) -> (id: String?, page: ChangePage) {
    var id: String?
    var since: ChangeToken?
    var token: ChangeToken?
    var more: Bool?
    var changes: [Record]?
    var lostTags: [TagGap] = []
    var seen = MemberSet()
    try enterObject()
    while let member = try nextMember(&seen) {
      switch member {
      case .id: id = try takeNull() ? nil : try string(.id)
      case .since: since = try optionalChangeToken(.since)
      case .token: token = try changeToken(.token)
      case .more: more = try bool(.more)
      case .changes: changes = try records()
      case .lostTags: lostTags = try gaps()
      default: try skip()
      }
    }
    let page = ChangePage(
      since: since, token: try require(token, .token), more: try require(more, .more),
      changes: try require(changes, .changes), lostTags: lostTags)
    return (id, page)
  }

  private mutating func gaps() throws(Refusal) -> [TagGap] {
    var gaps: [TagGap] = []
    try enterArray(.lostTags)
    while try nextElement() {
      var tags: [ChangeTag] = []
      try enterArray(.lostTags)
      while try nextElement() { tags.append(try integer(.lostTags)) }
      guard tags.count == 2 else { throw wrong(.lostTags, "pairs of tags") }
      gaps.append(TagGap(after: tags[0], through: tags[1]))
    }
    return gaps
  }

  private mutating func records() throws(Refusal) -> [Record] {
    var records: [Record] = []
    try enterArray(.changes)
    while try nextElement() {
      place = Place(list: .changes, index: records.count)
      records.append(try record())
      place = nil
    }
    return records
  }
}
