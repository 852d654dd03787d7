import LockstepApps
import LockstepCrypto
import LockstepJSON
import LockstepModel
import LockstepSimulation
import LockstepStorage

/// Sealed files of an account that has a device without the vault's key, and all contents that were
/// written into them with the key. They have no chunks: a record is accepted or rejected before any
/// chunk is requested.
package final class SealedFiles {
  /// Names of the files. Users with the key never edit the first, and edit the second on one
  /// device.
  package static let names = ["diary.txt", "journal.txt"]

  package let seal: VaultSeal
  fileprivate private(set) var written: [ChunkHash: String] = [:]

  /// Returns nil if the bytes do not have the length of a key.
  init?(keyBytes: [UInt8]) {
    guard let key = VaultKey(bytes: keyBytes) else { return nil }
    seal = VaultSeal(key)
  }

  func key(_ file: String) -> RecordKey? {
    seal.recordName(of: file).map { RecordKey(zone: VaultApp.zone, name: $0) }
  }

  /// True if the name has the form of a sealed file's record name.
  static func isSealed(_ name: Name) -> Bool {
    name.text.utf8.count == 64 && name.text.utf8.allSatisfy(UInt8.isDigitOfHash)
  }

  /// Returns the fields of a version that is written with the key, and registers its content.
  func sealed(_ file: String, _ content: String) -> JSONValue? {
    guard let hash = ChunkHash(bytes: SHA256.hash(Array(content.utf8))) else { return nil }
    written[hash] = file
    let manifest = VaultManifest(
      file: file, size: content.utf8.count, sha256: hash, chunks: [])
    return seal.fields(of: manifest, chunks: [])
  }

  /// Returns the fields of a version that is written without the key. `file`: the name that they
  /// claim.
  static func forged(_ file: String, _ content: String) -> JSONValue? {
    VaultFile.fields(file, Array(content.utf8), [])
  }
}

/// Content that a device without the key writes under the name of a sealed file's record.
package enum ForgedForm: CaseIterable, Sendable {
  /// A plain file of the sealed file's name.
  case namingFile
  /// A plain file of the record's name.
  case namingRecord
  /// A record of another type.
  case ofOtherType
}

extension UInt8 {
  fileprivate static func isDigitOfHash(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
      || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
  }
}

/// Vault of a device with the key: the files on its disk, and the vault's plan for each of them
/// whenever the account's records have changed. No other program writes the files.
package final class VaultKeeper {
  private let sealed: SealedFiles
  private let device: String
  /// Files on the disk; a crash does not change them.
  private(set) var files: [String: ChunkHash] = [:]
  /// Injected bug: takes records that are not sealed, to prove that the checker detects it.
  var acceptsPlain = false

  init(_ sealed: SealedFiles, device: String) {
    self.sealed = sealed
    self.device = device
  }

  /// Applies the vault's plan. Reports a violation if a file has content not written with the key.
  func update(from store: WatchedReplicaStore, _ environment: WorldEnvironment) {
    for name in SealedFiles.names {
      do throws(StorageError) {
        guard let key = sealed.key(name), let record = try store.record(key), !record.isDeleted
        else { continue }
        applyPlan(name, record)
      } catch {
        environment.fault("\(device): the vault's records cannot be read: \(error)")
      }
      if let content = files[name], sealed.written[content] != name {
        environment.fault("\(device): \(name) takes what nobody with the key wrote")
      }
    }
  }

  private func applyPlan(_ name: String, _ record: Record) {
    guard let content = content(of: name, in: record) else { return }
    let file = files[name].map { VaultPlan.Version($0, at: 0) }
    let plan = VaultPlan(
      agreed: files[name], file: file, record: .init(content, at: record.modifiedAt))
    switch plan {
    case .pull, .keepEmptied: files[name] = content
    // The file equals the record, and no program changes it here, so nothing is sent.
    case .inSync, .push, .removeFile, .deleteRecord, .keepBoth: break
    }
  }

  /// Returns the content of the file in this record; nil if the record is not valid for the file.
  func content(of name: String, in record: Record) -> ChunkHash? {
    if acceptsPlain, !VaultSeal.isSealed(record.value, sealed.seal) {
      return record.value?["sha256"]?.string.flatMap(ChunkHash.init(text:))
    }
    do throws(VaultRecord.Mismatch) {
      return try VaultRecord(record, sealed.seal).version(of: name, isPlain: false).manifest
        .sha256
    } catch {
      return nil
    }
  }
}

extension DeviceMachine {
  /// Writes a sealed file as the user: the device without the key overwrites the diary, and the
  /// device with `writesJournal` writes the journal. Does nothing on other devices.
  func write(_ text: String, _ form: ForgedForm) {
    guard let sealedFiles else { return }
    let file = SealedFiles.names[vaultKeeper == nil ? 0 : 1]
    // A user overwrites only a version that the device holds; conflicts are another matter.
    guard let key = sealedFiles.key(file), holds(key) else { return }
    if vaultKeeper == nil {
      let fields = SealedFiles.forged(form == .namingRecord ? key.name.text : file, text)
      let type = form == .ofOtherType ? Name(trusted: "Note") : VaultApp.fileType
      edit(EditRequest(key: key, type: type) { _ throws(EditRefusal) in fields })
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

  /// Returns a difference at the end; nil if each file is as the account has it. If the account's
  /// record is not valid for a file any more, the file may be as it was.
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
