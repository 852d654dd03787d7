import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepTerminal

/// Image of a clipboard item: in the item's fields, `image` is a reference to its file, and
/// `imageType` its media type. `content` is the name of the file, which programs show that know no
/// images.
package struct ClipboardImage: Hashable, Sendable {
  package let file: FileReference
  /// Media type, such as `image/png`; empty if it is none that pages write.
  package let type: String

  private static let types = [
    "image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WebP",
  ]

  /// Returns nil if the item has no image.
  init?(_ fields: JSONValue) {
    guard let reference = fields["image"], let chunks = reference["chunks"]?.array,
      let file = FileReference.references(in: reference).first, file.chunks.count == chunks.count
    else { return nil }
    self.file = file
    let type = fields["imageType"]?.string ?? ""
    self.type = Self.types[type] == nil ? "" : type
  }

  /// Kind and size, such as `[image, 240.0 KiB, PNG]`.
  package var label: String {
    let size = RowText.bytes(Int64(file.bytes))
    guard let format = Self.types[type] else { return localized("[image, {size}]", ["size": size]) }
    return localized("[image, {size}, {format}]", ["size": size, "format": format])
  }

  package var json: JSONValue {
    ["bytes": .number(JSONNumber(Int64(file.bytes))), "type": .string(type)]
  }
}
