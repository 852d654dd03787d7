import Changes

/// Files that are the same on every device: zone `Vault`, a record a file.
package struct VaultApp: App {
  package static let zone = Name(trusted: "Vault")
  package static let fileType = Name(trusted: "VaultFile")

  package init() {}

  package var name: String { "vault" }
  package var zone: Name { VaultApp.zone }

  package func resolver(for type: Name) -> (any Resolver)? {
    type == VaultApp.fileType ? VaultFileResolver() : nil
  }

  package func chunks(in fields: JSONValue, of type: Name) -> [ChunkHash] {
    guard type == VaultApp.fileType else { return [] }
    var seen: Set<ChunkHash> = []
    let hashes = (fields["chunks"]?.array ?? []).compactMap { value in
      value.string.flatMap(ChunkHash.init(text:))
    }
    return hashes.filter { seen.insert($0).inserted }
  }
}
