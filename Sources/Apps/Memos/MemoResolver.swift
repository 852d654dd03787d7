import LockstepModel

/// Merges a memo field by field. If both sides wrote a different text, the newer text stays and the
/// older one is kept whole as a separate memo.
package struct MemoResolver: Resolver {
  package init() {}

  package func resolve(_ conflict: Conflict) -> Resolution {
    if let standing = ChangeOutlivesDelete.resolution(of: conflict) { return standing }
    let (newer, older) = conflict.sides
    var merged = FieldMerge.merge(
      base: conflict.base?.fields, newer: newer.fields, older: older.fields)
    merged = merged.setting(
      "date",
      to: Greater.number(newer.fields?["date"], older.fields?["date"]) ?? merged["date"])
    if let content = merged["content"]?.string {
      merged = merged.setting("title", to: .string(MemoResolver.title(of: content)))
    }
    return .merged(fields: merged, copies: copies(conflict.base, newer, older))
  }

  private func copies(_ base: Version?, _ newer: Version, _ older: Version) -> [Resolution.Copy] {
    let contents = [base, newer, older].map { $0?.fields?["content"] }
    guard contents[1] != contents[0], contents[2] != contents[0], contents[1] != contents[2],
      contents[2] != nil, let fields = older.fields
    else { return [] }
    let name = CopyName.text(older.name, "~\(older.device)-\(older.modifiedAt)")
    return [Resolution.Copy(name: name, fields: fields)]
  }

  /// Returns the first line of a memo, at most its first hundred characters (Unicode scalars).
  package static func title(of content: String) -> String {
    String(content.unicodeScalars.prefix { $0 != "\n" }.prefix(100))
  }
}
