import LockstepModel

/// Names for the copies that conflicts leave: they are names of records as well.
package enum CopyName {
  /// `stem` and what tells the copy apart; of a long stem as much as a record's name has room for.
  package static func text(_ stem: String, _ suffix: String) -> String {
    var stem = stem.unicodeScalars[...]
    var count = stem.reduce(0) { $0 + UTF8.width($1) } + suffix.utf8.count
    while count > Limits.nameBytes, let last = stem.popLast() { count -= UTF8.width(last) }
    return String(stem) + suffix
  }
}
