import Changes

/// Two devices wrote a file anew, neither having seen the other's. Nobody can merge its bytes, so
/// both are kept: the newer under the file's name, the other beside it.
package struct VaultFileResolver: Resolver {
  package init() {}

  package func resolve(_ conflict: Conflict) -> Resolution {
    if let standing = ChangeOutlivesDelete.resolution(of: conflict) { return standing }
    let hash = conflict.local.fields?["sha256"]
    if conflict.local.fields == conflict.server.fields
      || (hash?.string != nil && hash == conflict.server.fields?["sha256"])
    {
      return .merged(fields: conflict.server.fields, copies: [])
    }
    let (newer, older) = conflict.sides
    let file = older.fields?["file"]?.string ?? older.name
    let copy = VaultFileResolver.conflictName(of: file, modifiedAt: older.modifiedAt)
    let fields = (older.fields ?? [:]).setting("file", to: .string(copy))
    return .merged(fields: newer.fields, copies: [Resolution.Copy(name: copy, fields: fields)])
  }

  /// `vault_conflict_2026-03-01T12-00-00.000Z.db`: stem and extension part at the last dot, but
  /// not at one in front.
  package static func conflictName(of file: String, modifiedAt: Int64) -> String {
    let scalars = file.unicodeScalars
    var stem = file
    var suffix = "_conflict_" + UniversalTime(modifiedAt).fileName
    if let dot = scalars.lastIndex(of: "."), dot != scalars.startIndex {
      stem = String(scalars[..<dot])
      suffix += String(scalars[dot...])
    }
    return CopyName.text(stem, suffix)
  }
}
