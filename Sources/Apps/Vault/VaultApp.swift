import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepSealing

/// Files that are the same on every device: zone `Vault`, one record per file.
///
/// Unless the zone's records are sealed, the record `key` says which key seals the vault, and
/// records `code/…` contain keys for other devices (`WrappedVaultKey`). Both have the type
/// `VaultKey` and are written without the outbox. In a sealed zone, records `key/…` of this type
/// contain the keys that the vault had before (`FormerVaultKey`).
package struct VaultApp: App {
  package static let zone = Name(trusted: "Vault")
  package static let fileType = Name(trusted: "VaultFile")
  package static let keyType = Name(trusted: "VaultKey")
  package static let keyRecord = Name(trusted: "key")

  private let seal: @Sendable () -> VaultSeal?

  /// `seal`: returns the vault's seal if this device has the keys. It is called when needed,
  /// because a device may receive keys at any time.
  package init(seal: @escaping @Sendable () -> VaultSeal? = { nil }) { self.seal = seal }

  package var name: String { "vault" }
  package var zone: Name { VaultApp.zone }
  package var types: [Name] { [VaultApp.fileType, VaultApp.keyType] }

  package func resolver(for type: Name) -> (any Resolver)? {
    type == VaultApp.fileType ? VaultFileResolver(seal: seal) : nil
  }

  package func chunks(in fields: JSONValue, of type: Name) -> [ChunkHash] {
    guard type == VaultApp.fileType else { return [] }
    var seen: Set<ChunkHash> = []
    let hashes = (fields["chunks"]?.array ?? []).compactMap { value in
      value.string.flatMap(ChunkHash.init(text:))
    }
    return hashes.filter { seen.insert($0).inserted }
  }

  /// Returns none for a file that is sealed with the vault's own key.
  package func unsealedChunks(
    in fields: JSONValue, of type: Name, zone: Name
  ) -> [ChunkHash] {
    if type == VaultApp.fileType, fields["sealed"] != nil { return [] }
    return FileReference.chunks(chunks(in: fields, of: type), in: fields, notSealedIn: zone)
  }

  package func outcome(of order: JSONValue, on state: AppState) throws(EditRefusal) -> AppOutcome {
    switch try VaultAction(json: order) {
    case .clean:
      let contents = VaultContents(state.records, seal: seal())
      let redundant = contents.copies.filter(contents.isRedundant)
      let others = contents.copies.count - redundant.count
      return AppOutcome(
        redundant.map { .edit(VaultApp.removalEdit($0.record)) },
        view: AppView(
          json: [
            "removed": .array(redundant.map { .string($0.manifest.file) }),
            "left": JSONValue(integerLiteral: Int64(others)),
          ],
          lines: VaultApp.removalLines(removed: redundant.count, left: others)))
    case .settle: return resolveConflicts(of: state)
    }
  }

  package func view(_ question: JSONValue, of state: AppState) throws(EditRefusal) -> AppView {
    switch try VaultQuestion(json: question) {
    case .files:
      let contents = VaultContents(state.records, seal: seal())
      return contents.view(
        contents.files, of: state, empty: localized("there is no file in the vault yet"))
    case .conflicts:
      let contents = VaultContents(state.records, seal: seal())
      return contents.view(
        contents.copies, of: state, empty: localized("there are no conflict copies"))
    case .codes: return VaultApp.codes(of: state)
    }
  }

  /// Resolves conflicts again that this device could not resolve because it could not read one
  /// side: it may have received the key since. If the server version was not written with the
  /// vault's key and the local one can be read, the local one wins.
  private func resolveConflicts(of state: AppState) -> AppOutcome {
    let seal = seal()
    var steps: [AppOutcome.Step] = []
    var resolvedCount = 0
    let waiting = state.asking.filter { $0.type == VaultApp.fileType }
    let localRecords = state.recordsByKey
    for server in waiting {
      guard let local = localRecords[server.key] else { continue }
      let resolver = VaultFileResolver(seal: { seal })
      let conflict = Conflict(base: nil, local: Version(local), server: Version(server))
      if case .merged(let fields, let copies) = resolver.resolve(conflict) {
        steps += copies.compactMap(VaultApp.copyEdit)
        let isLocal = fields == local.value && fields != server.value
        steps.append(.decide(server.key, keepLocal: isLocal))
      } else if VaultContents([server], seal: seal).unreadable.first?.problem == .unreadable,
        !VaultContents([local], seal: seal).files.isEmpty
      {
        steps.append(.decide(server.key, keepLocal: true))
      } else {
        continue
      }
      resolvedCount += 1
    }
    let left = waiting.count - resolvedCount
    var lines = [
      localized(
        count: resolvedCount, one: "{count} conflict settled", many: "{count} conflicts settled")
    ]
    if left > 0 {
      lines.append(
        localized(
          "{count} cannot be: this device cannot read both sides", ["count": String(left)]))
    }
    return AppOutcome(
      steps,
      view: AppView(
        json: [
          "settled": JSONValue(integerLiteral: Int64(resolvedCount)),
          "left": JSONValue(integerLiteral: Int64(left)),
        ], lines: lines))
  }

  private static func copyEdit(_ copy: Resolution.Copy) -> AppOutcome.Step? {
    guard let name = Name(copy.name) else { return nil }
    let key = RecordKey(zone: zone, name: name)
    return .edit(EditRequest(key: key, type: fileType) { _ throws(EditRefusal) in copy.fields })
  }

  private static func removalEdit(_ record: Record) -> EditRequest {
    EditRequest(key: record.key, type: fileType) { context throws(EditRefusal) in
      guard context.current?.fields == record.fields else {
        throw EditRefusal(localized("a conflict copy has just changed; look at them again"))
      }
      return nil
    }
  }

  private static func removalLines(removed: Int, left: Int) -> [String] {
    let gone = localized(
      count: removed, one: "{count} conflict copy removed", many: "{count} conflict copies removed")
    if left == 0 { return [gone] }
    let stays = localized(
      count: left, one: "{count} differs from its file and stays", many: "{count} differ and stay")
    return [gone, stays]
  }

  /// Lists the pending keys for other devices. The maker of the next code removes the expired ones.
  private static func codes(of state: AppState) -> AppView {
    let codes = state.records(of: keyType).compactMap { record -> JSONValue? in
      guard record.name.text.hasPrefix(JoinCode.recordPrefix), let fields = record.value
      else { return nil }
      // An unreadable record counts as expired: no device can use it.
      let expiresAt = WrappedVaultKey(fields: fields)?.expiresAt ?? 0
      return [
        "name": .string(record.name.text), "expiresAt": .number(JSONNumber(expiresAt)),
      ]
    }
    return AppView(
      json: ["codes": .array(codes)],
      lines: [localized(count: codes.count, one: "{count} code waits", many: "{count} codes wait")])
  }
}

extension Version {
  fileprivate init(_ record: Record) {
    self.init(
      name: record.name.text, fields: record.value, modifiedAt: record.modifiedAt,
      device: record.device.text)
  }
}
