import LockstepModel

/// Resolver for a file that two devices changed concurrently. File bytes cannot be merged, so both
/// versions are kept: the newer under the file's name, the other as a copy. Sealed versions are
/// compared by their decrypted contents.
package struct VaultFileResolver: Resolver {
  private let seal: @Sendable () -> VaultSeal?

  /// `seal`: returns the vault's seal if this device has the keys; called when a version may be
  /// sealed.
  package init(seal: @escaping @Sendable () -> VaultSeal? = { nil }) { self.seal = seal }

  package func resolve(_ conflict: Conflict) -> Resolution {
    if let resolution = ChangeOutlivesDelete.resolution(of: conflict) { return resolution }
    let (newer, older) = conflict.sides
    let sides = [newer.fields, older.fields]
    if sides.contains(where: { $0?["sealed"] != nil || $0?["seal"] != nil }) {
      let seal = seal()
      if sides.contains(where: { VaultSeal.isSealed($0, seal) }) { return sealed(conflict, seal) }
    }
    let hash = conflict.local.fields?["sha256"]
    if conflict.local.fields == conflict.server.fields
      || (hash?.string != nil && hash == conflict.server.fields?["sha256"])
    {
      return .merged(fields: conflict.server.fields, copies: [])
    }
    let file = older.fields?["file"]?.string ?? older.name
    let copy = VaultFileResolver.conflictName(of: file, modifiedAt: older.modifiedAt)
    let fields = (older.fields ?? [:]).setting("file", to: .string(copy))
    return .merged(fields: newer.fields, copies: [Resolution.Copy(name: copy, fields: fields)])
  }

  /// Resolves a conflict with a sealed version. A plain version loses against a sealed one that
  /// opens: the plain one may come from a writer without the key. If a sealed version cannot be
  /// read here, the conflict stays open and nothing is lost: `VaultApp` can resolve it later, with
  /// the key.
  private func sealed(_ conflict: Conflict, _ seal: VaultSeal?) -> Resolution {
    if conflict.local.fields == conflict.server.fields {
      return .merged(fields: conflict.server.fields, copies: [])
    }
    let (newer, older) = conflict.sides
    guard let seal else { return .ask }
    for (sealed, plain) in [(newer, older), (older, newer)]
    where !seal.isOfZone && !VaultSeal.isSealed(plain.fields, seal)
      && seal.contents(of: sealed) != nil
    {
      return .merged(fields: sealed.fields, copies: [])
    }
    guard let kept = seal.contents(of: newer), let copied = seal.contents(of: older) else {
      return .ask
    }
    if kept.manifest.sha256 == copied.manifest.sha256 {
      return .merged(fields: conflict.server.fields, copies: [])
    }
    let file = VaultFileResolver.conflictName(
      of: copied.manifest.file, modifiedAt: older.modifiedAt)
    guard let copy = seal.copy(of: copied, as: file) else { return .ask }
    return .merged(
      fields: newer.fields,
      copies: [Resolution.Copy(name: copy.name.text, fields: copy.fields)])
  }

  private static let mark = "_conflict_"

  /// `vault_conflict_2026-03-01T12-00-00.000Z.db`: the extension begins at the last dot, but a dot
  /// at the front does not count.
  package static func conflictName(of file: String, modifiedAt: Int64) -> String {
    let scalars = file.unicodeScalars
    var stem = file
    var suffix = mark + UniversalTime(modifiedAt).fileName
    if let dot = scalars.lastIndex(of: "."), dot != scalars.startIndex {
      stem = String(scalars[..<dot])
      suffix += String(scalars[dot...])
    }
    return CopyName.text(stem, suffix)
  }

  /// Returns the original file's name for the name of a conflict copy; nil for any other file. If
  /// the copy's name had to be cut, only the rest of the original name is known.
  package static func original(ofCopy file: String) -> String? {
    let bytes = Array(file.utf8)
    let mark = Array(mark.utf8)
    let form = UniversalTime(0).fileName.utf8
    let length = mark.count + form.count
    guard bytes.count > length else { return nil }
    for start in (1...bytes.count - length).reversed()
    where bytes[start...].starts(with: mark) {
      let instant = bytes[(start + mark.count)..<(start + length)]
      let isInstant = zip(instant, form).allSatisfy { byte, form in
        // `form` is an instant of 1970: where it has a digit, any digit matches.
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(form)
          ? (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) : byte == form
      }
      let rest = bytes[(start + length)...]
      let dot = UInt8(ascii: ".")
      guard isInstant, rest.isEmpty || rest.lastIndex(of: dot) == rest.startIndex else { continue }
      return String(decoding: bytes[..<start], as: UTF8.self)
        + String(decoding: rest, as: UTF8.self)
    }
    return nil
  }
}

extension VaultSeal {
  fileprivate func contents(of version: Version) -> Contents? {
    guard let fields = version.fields, let name = Name(version.name) else { return nil }
    return contents(of: fields, record: name)
  }
}
