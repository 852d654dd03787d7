import LockstepApps
import LockstepCrypto
import LockstepModel
import LockstepSimulation
import LockstepStorage

/// The sealed files of an account that has a device without the vault's key, and what those who
/// have the key ever wrote into them. They have no chunks: what a record may become of is decided
/// before any is asked for.
package final class SealedFiles {
  /// Nobody with the key touches the first; a person writes the second on one device.
  package static let names = ["diary.txt", "journal.txt"]

  package let seal: VaultSeal
  fileprivate private(set) var written: [ChunkHash: String] = [:]

  /// nil only where a key has another length than this one.
  init?(keyBytes: [UInt8]) {
    guard let key = VaultKey(bytes: keyBytes) else { return nil }
    seal = VaultSeal(key)
  }

  func key(_ file: String) -> RecordKey? {
    seal.recordName(of: file).map { RecordKey(zone: VaultApp.zone, name: $0) }
  }

  /// Whether a record is called as those of sealed files are.
  static func isSealed(_ name: Name) -> Bool {
    name.text.utf8.count == 64 && name.text.utf8.allSatisfy(UInt8.isDigitOfHash)
  }

  /// The fields of a version that somebody with the key writes.
  func sealed(_ file: String, _ content: String) -> JSONValue? {
    guard let hash = ChunkHash(bytes: SHA256.hash(Array(content.utf8))) else { return nil }
    written[hash] = file
    let manifest = VaultManifest(
      file: file, size: content.utf8.count, sha256: hash, chunks: [])
    return seal.fields(of: manifest, chunks: [])
  }

  /// The fields that somebody without the key writes; `file`: that they say they are of.
  static func forged(_ file: String, _ content: String) -> JSONValue? {
    VaultFile.fields(file, Array(content.utf8), [])
  }
}

extension UInt8 {
  fileprivate static func isDigitOfHash(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
      || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
  }
}

/// What a device with the key makes of these files: the disk, and the plan of the vault for each of
/// them whenever the account's records have changed. Nobody else writes the files.
package final class VaultKeeper {
  private let sealed: SealedFiles
  private let device: String
  /// The disk, which a crash leaves as it is.
  private(set) var files: [String: ChunkHash] = [:]
  /// A device that takes what is not sealed, to prove that the checker sees it.
  var takesPlain = false

  init(_ sealed: SealedFiles, device: String) {
    self.sealed = sealed
    self.device = device
  }

  /// Does what the plan says. What has come of it that nobody with the key wrote is a fault.
  func look(into store: WatchedReplicaStore, _ outside: WorldOutside) {
    for name in SealedFiles.names {
      do throws(StorageError) {
        guard let key = sealed.key(name), let record = try store.record(key), !record.isDeleted
        else { continue }
        take(name, record)
      } catch {
        outside.fault("\(device): the vault's records cannot be read: \(error)")
      }
      if let content = files[name], sealed.written[content] != name {
        outside.fault("\(device): \(name) takes what nobody with the key wrote")
      }
    }
  }

  private func take(_ name: String, _ record: Record) {
    guard let content = content(of: name, in: record) else { return }
    let file = files[name].map { VaultPlan.Version($0, at: 0) }
    let plan = VaultPlan(
      agreed: files[name], file: file, record: .init(content, at: record.modifiedAt))
    switch plan {
    case .pull, .keepEmptied: files[name] = content
    // The file is as the record has it; and nobody changes it here, so nothing goes out.
    case .settled, .push, .removeFile, .deleteRecord, .keepBoth: break
    }
  }

  /// nil where the record does not stand for the file.
  func content(of name: String, in record: Record) -> ChunkHash? {
    if takesPlain, !VaultSeal.isSealed(record.value) {
      return record.value?["sha256"]?.string.flatMap(ChunkHash.init(text:))
    }
    do throws(VaultRecord.Unfit) {
      return try VaultRecord(record, sealed.seal).version(of: name, isPlain: false).manifest
        .sha256
    } catch {
      return nil
    }
  }
}

extension DeviceMachine {
  /// What a person does with the sealed files, on the device that may: the one without the key
  /// writes over the diary, and the one that keeps the journal writes into it.
  func write(_ text: String, namesItself: Bool) {
    guard let sealedFiles else { return }
    let file = SealedFiles.names[vaultKeeper == nil ? 0 : 1]
    // Who writes over a version has read it: two that meet are another matter.
    guard let key = sealedFiles.key(file), holds(key) else { return }
    if vaultKeeper == nil {
      let fields = SealedFiles.forged(namesItself ? key.name.text : file, text)
      edit(EditRequest(key: key, type: VaultApp.fileType) { _ throws(EditRefusal) in fields })
    } else if writesJournal {
      let fields = sealedFiles.sealed(file, text)
      edit(EditRequest(key: key, type: VaultApp.fileType) { _ throws(EditRefusal) in fields })
    }
  }

  private func holds(_ key: RecordKey) -> Bool {
    do throws(StorageError) {
      return try store.record(key) != nil
    } catch {
      return false
    }
  }

  /// In the end: nil where each file is as the account has it, or as it was when the account's
  /// record does not stand for it any more.
  func sealedFilesDifference(_ current: (RecordKey) -> Record?) -> String? {
    guard let vaultKeeper, let sealedFiles else { return nil }
    for name in SealedFiles.names {
      guard let key = sealedFiles.key(name), let record = current(key) else { continue }
      let held = vaultKeeper.files[name]
      let content = vaultKeeper.content(of: name, in: record)
      if content != nil && content != held {
        return "\(self.name): \(name) is not as the account has it"
      }
    }
    return nil
  }
}
