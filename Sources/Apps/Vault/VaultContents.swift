import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepTerminal

/// The vault's files that this device can read.
package struct VaultContents: Sendable {
  package struct File: Hashable, Sendable {
    package let record: Record
    package let manifest: VaultManifest
    package let isSealed: Bool

    /// For a conflict copy: the original file.
    package var copyOf: String? { VaultFileResolver.original(ofCopy: manifest.file) }
  }

  /// Reason why this device cannot read a record.
  package enum VaultProblem: String, CaseIterable, Hashable, Sendable {
    /// It is sealed, and this device does not have the vault's key.
    case noKey
    /// It is sealed with another key than this device has.
    case otherKey
    /// It is malformed, or was not written with the vault's key.
    case unreadable
  }

  /// Key for finding redundant copies of a file.
  private struct Content: Hashable {
    var file: [UInt8]
    var isSealed: Bool
    var sha256: ChunkHash
  }

  /// Sorted by name.
  package let files: [File]
  private let contents: Set<Content>
  private let hasKey: Bool
  package let unreadable: [(record: Record, problem: VaultProblem)]

  package init(_ records: [Record], seal: VaultSeal?) {
    var files: [File] = []
    var unreadable: [(record: Record, problem: VaultProblem)] = []
    for record in records where record.type == VaultApp.fileType && !record.isDeleted {
      let fields = record.value ?? .null
      let isSealed = VaultSeal.isSealed(fields, seal)
      let reader = VaultSeal.reader(of: fields, seal)
      if let contents = reader?.contents(of: fields, record: record.name) {
        files.append(File(record: record, manifest: contents.manifest, isSealed: isSealed))
      } else if isSealed, let seal {
        let isOtherKey = fields["sealed"] != nil && !seal.hasOwnKey(of: fields)
        unreadable.append((record, isOtherKey ? .otherKey : .unreadable))
      } else {
        unreadable.append((record, isSealed ? .noKey : .unreadable))
      }
    }
    self.files = files.sorted { left, right in
      let names = (left.manifest.file.utf8, right.manifest.file.utf8)
      return names.0.elementsEqual(names.1)
        ? left.record.name < right.record.name : names.0.lexicographicallyPrecedes(names.1)
    }
    contents = Set(
      files.map {
        Content(
          file: Array($0.manifest.file.utf8), isSealed: $0.isSealed, sha256: $0.manifest.sha256)
      })
    self.unreadable = unreadable
    hasKey = seal != nil
  }

  /// Conflict copies.
  package var copies: [File] { files.filter { $0.copyOf != nil } }

  /// True if a copy has the same bytes as its original file.
  package func isRedundant(_ copy: File) -> Bool {
    guard let original = copy.copyOf else { return false }
    return contents.contains(
      Content(
        file: Array(original.utf8), isSealed: copy.isSealed, sha256: copy.manifest.sha256))
  }

  package func view(_ shown: [File], of state: AppState, empty: String) -> AppView {
    let name = shown.map { RowText.width(of: RowText.line($0.manifest.file)) }.max() ?? 0
    let ages = shown.map { RowText.age(of: $0.record.modifiedAt, at: state.now) }
    let ageColumns = ages.map(RowText.width(of:)).reduce(6, max)
    let files = zip(shown, ages).map { file, age in
      row(file, min(name, 48), RowText.right(age, ageColumns), of: state)
    }
    let rows = files + problemLines
    return AppView(
      json: [
        "files": .array(shown.map { json($0, of: state) }),
        "others": .array(
          unreadable.map { entry in
            let json: JSONValue = [
              "name": .string(entry.record.name.text), "trouble": .string(entry.problem.rawValue),
              "modifiedAt": .number(JSONNumber(entry.record.modifiedAt)),
              "device": .string(entry.record.device.text),
            ]
            return json.setting("key", to: entry.record.value?["key"]?.string.map { .string($0) })
          }),
      ],
      lines: rows.isEmpty ? [empty] : rows)
  }

  private func json(_ file: File, of state: AppState) -> JSONValue {
    let entry: JSONValue = [
      "name": .string(file.record.name.text), "file": .string(file.manifest.file),
      "size": .number(JSONNumber(Int64(file.manifest.size))),
      "sha256": .string(file.manifest.sha256.text),
      "modifiedAt": .number(JSONNumber(file.record.modifiedAt)),
      "device": .string(file.record.device.text),
      "deviceName": .string(state.name(of: file.record.device)),
      "isSealed": .bool(file.isSealed),
    ]
    guard let original = file.copyOf else { return entry }
    return entry.setting("copyOf", to: .string(original))
      .setting("isNeedless", to: .bool(isRedundant(file)))
  }

  private func row(_ file: File, _ width: Int, _ age: String, of state: AppState) -> String {
    var columns = [
      RowText.left(RowText.line(file.manifest.file), width),
      RowText.right(RowText.bytes(Int64(file.manifest.size)), 10), age,
      RowText.line(state.name(of: file.record.device)),
    ]
    if let original = file.copyOf {
      let values = ["file": RowText.line(original)]
      columns.append(
        isRedundant(file)
          ? localized("[same as {file}]", values) : localized("[other version of {file}]", values))
    }
    // In a vault with a key, a plain record may come from outside the account.
    if hasKey && !file.isSealed { columns.append(localized("[not sealed]")) }
    return columns.joined(separator: "  ")
  }

  /// Sentences about the records that this device cannot read.
  private var problemLines: [String] {
    VaultProblem.allCases.compactMap { problem in
      let count = unreadable.count { $0.problem == problem }
      if count == 0 { return nil }
      return VaultContents.text(of: problem, count)
    }
  }

  private static func text(of problem: VaultProblem, _ count: Int) -> String {
    switch problem {
    case .noKey:
      localized(
        count: count,
        one: "{count} file is sealed, and this device does not have the vault's key: give it a "
          + "code from lockstep agent pair of a device that has it, with lockstep vault unlock",
        many: "{count} files are sealed, and this device does not have the vault's key: give it a "
          + "code from lockstep agent pair of a device that has it, with lockstep vault unlock")
    case .otherKey:
      localized(
        count: count,
        one: "{count} file is sealed with another key than this device's: bring the right one "
          + "with lockstep vault restore",
        many: "{count} files are sealed with another key than this device's: bring the right one "
          + "with lockstep vault restore")
    case .unreadable:
      localized(
        count: count,
        one: "{count} file is not readable, and written by no device that has the vault's key: "
          + "add the file again on a device that still has it",
        many: "{count} files are not readable, and written by no device that has the vault's key: "
          + "add the file again on a device that still has it")
    }
  }
}
