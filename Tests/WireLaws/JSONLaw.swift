import LockstepJSON
import LockstepModel

extension WireLaw {
  /// JSON: skipping and parsing accept the same texts, both find repeated names, and a tree that is
  /// written reads the same.
  package static func json(_ bytes: [UInt8]) throws(BrokenLaw) {
    let skipped = skipFault(bytes)
    let checked = skipFault(bytes, withUniqueNames: true)
    let value: JSONValue
    do throws(JSONFault) {
      value = try JSONValue(parsing: bytes)
    } catch {
      // Passed over, names are compared only once the value is known to be JSON; what follows it
      // may be a fault as well.
      let isRepeated = error.reason == .duplicateName && checked == error
      let agrees =
        isRepeated
        || skipped != nil && checked == skipped
          && (error == skipped || error.reason == .duplicateName)
      return try expect(
        agrees,
        "read, it is refused as \(error); passed over, as \(skipped as Any), or \(checked as Any)")
    }
    try expect(skipped == nil, "read, it is good; passed over, \(skipped as Any)")
    try expect(checked == nil, "read, it is good; with names compared, \(checked as Any)")
    let written = value.serialized()
    guard let again = JSONValue(ifJSON: written) else {
      throw BrokenLaw("\(value) is refused once it is written")
    }
    try expect(again == value, "\(value) reads \(again) once it is written")
    try expect(again.serialized() == written, "\(value) has two canonical forms")
  }

  private static func skipFault(_ bytes: [UInt8], withUniqueNames: Bool = false) -> JSONFault? {
    var scanner = JSONScanner(bytes.span.bytes)
    do throws(JSONFault) {
      let range =
        withUniqueNames ? try scanner.skipValueWithUniqueNames() : try scanner.skipValue()
      try scanner.finish()
      precondition(range.upperBound <= bytes.count, "a value beyond its bytes")
      return nil
    } catch {
      return error
    }
  }
}
