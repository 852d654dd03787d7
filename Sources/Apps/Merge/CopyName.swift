import LockstepModel

/// Names of conflict copies. They are valid record names.
package enum CopyName {
  /// Returns `stem` followed by `suffix`. Cuts the stem if the name would exceed
  /// `Limits.nameBytes`.
  package static func text(_ stem: String, _ suffix: String) -> String {
    var stem = stem.unicodeScalars[...]
    var count = stem.reduce(0) { $0 + UTF8.width($1) } + suffix.utf8.count
    while count > Limits.nameBytes, let last = stem.popLast() { count -= UTF8.width(last) }
    return String(stem) + suffix
  }
}
