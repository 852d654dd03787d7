import LockstepJSON
import LockstepModel

/// Version of a record that a change replaces, as a client names it: in a body (`baseTag`, or the
/// `tag` of a record that is sent back), or in a header (`If-Match`, `If-None-Match`).
package enum ReplacedVersion: Hashable, Sendable {
  /// Any version, or none: a blind overwrite.
  case any
  /// No live record.
  case absent
  /// A live record of any version.
  case existing
  case version(ChangeTag)

  /// `tag`: 0 for no live record.
  package init(tag: ChangeTag) { self = tag == 0 ? .absent : .version(tag) }
}

extension Mutation {
  package mutating func setReplacedVersion(_ base: ReplacedVersion) {
    onlyExisting = base == .existing
    switch base {
    case .any, .existing: baseTag = nil
    case .absent: baseTag = 0
    case .version(let tag): baseTag = tag
    }
  }

  /// Reads the body of `PUT /v1/zones/{zone}/records/{name}`: the change, which has no base yet,
  /// and the version that the body names; nil if it names none.
  package static func decoded(
    recordBody body: [UInt8], name: Name
  ) throws(Refusal) -> (mutation: Mutation, base: ReplacedVersion?) {
    var reader = MessageReader(body.span.bytes, formCode: .badRequest)
    let (mutation, base) = try reader.recordBody(name: name)
    try reader.finish()
    return (mutation, base)
  }
}
