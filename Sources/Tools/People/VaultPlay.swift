import LockstepApps
import LockstepClient
import LockstepModel

/// Files are saved again on any device. At the end every version must exist under the file's name
/// or as a conflict copy, unless a person who saw it replaced it.
struct VaultPlay: AppPlay {
  private var versions = WrittenTexts()
  private static let files = 2

  mutating func press(
    _ order: OrderID, seeing shown: ShownRecords, _ random: inout SeededRandom
  ) -> AgentOrder? {
    let name = Name(trusted: "file \(Int.random(in: 0..<VaultPlay.files, using: &random)).db")
    let key = RecordKey(zone: VaultApp.zone, name: name)
    let seal = VaultSeal.plain
    let old = shown[key].flatMap(VaultPlay.version)
    let isRemoved = old != nil && Int.random(in: 0..<10, using: &random) == 0
    let bytes = (0..<32).map { _ in UInt8.random(in: 0...255, using: &random) }
    guard let hash = ChunkHash(bytes: bytes) else { return nil }
    versions.ordered(order, old: old, new: isRemoved ? nil : hash.text)
    return .edit(
      order,
      EditRequest(key: key, type: VaultApp.fileType) { context throws(EditRefusal) in
        // A person who saves a file has seen that version of it.
        guard context.current.flatMap(VaultPlay.version) == old else {
          throw EditRefusal("it is another file by now")
        }
        if isRemoved { return nil }
        let manifest = VaultManifest(file: name.text, size: 0, sha256: hash, chunks: [])
        return seal.fields(of: manifest, chunks: [])
      })
  }

  mutating func done(_ order: OrderID) { versions.done(order) }

  mutating func dropped(_ order: OrderID) { versions.dropped(order) }

  func faults(in shown: ShownRecords) -> [String] {
    let found = shown.records(of: VaultApp.fileType).compactMap(VaultPlay.version)
    let lost = versions.lost(in: found)
    return lost.isEmpty ? [] : ["the vault has lost the versions \(lost)"]
  }

  private static func version(_ record: Record) -> String? {
    record.value.flatMap { VaultSeal.plain.contents(of: $0, record: record.name) }?
      .manifest.sha256.text
  }
}
