import LockstepModel

/// What a store remembers of a batch, so that a retry under the same id changes nothing and gets
/// the same tags and codes. Names and fields are not kept: a retry brings them, and its digest
/// proves that they are the same.
package struct RememberedBatch: Hashable {
  /// SHA-256 over the batch's content.
  package var digest: [UInt8]
  /// The tag of the first record that was saved; the others follow it one by one.
  package var firstTag: ChangeTag
  /// nil where all records were saved; otherwise a word a mutation, separated by commas: `saved`,
  /// `conflict` or the code of a refusal.
  package var words: String?

  /// What each takes at least.
  package static let leastUse = AccountUse(bytes: Limits.rowBytes, batches: 1)

  /// What it counts for.
  package var use: AccountUse { RememberedBatch.use(words: words?.utf8.count ?? 0) }

  /// `words`: how many bytes they have.
  package static func use(words: Int) -> AccountUse {
    AccountUse(bytes: Limits.rowBytes + Int64(words), batches: 1)
  }

  package init(digest: [UInt8], firstTag: ChangeTag, words: String?) {
    self.digest = digest
    self.firstTag = firstTag
    self.words = words
  }

  /// `newest` is the account's newest tag before the batch.
  package init(_ plan: SavePlan, after newest: ChangeTag, digest: [UInt8]) {
    let isWhole = plan.newest - newest == plan.verdicts.count
    self.init(
      digest: digest, firstTag: newest + 1,
      words: isWhole ? nil : RememberedBatch.words(of: plan.verdicts))
  }

  private static func words(of verdicts: [SavePlan.Verdict]) -> String {
    let words = verdicts.map { verdict in
      switch verdict {
      case .save: "saved"
      case .conflict: "conflict"
      case .refuse(let refusal): refusal.code.rawValue
      }
    }
    return words.joined(separator: ",")
  }

  /// The results as they were, with conflicts as they stand now. `record` tells what stands under
  /// a name, tombstones too; `wall` is the relay's time now, which a refused stamp is told with.
  package func results(
    of request: SaveRequest, wall: Int64, record: (Name) throws(StorageError) -> Record?
  ) throws(StorageError) -> [MutationResult] {
    let words = words?.split(separator: ",")
    var results: [MutationResult] = []
    results.reserveCapacity(request.mutations.count)
    var tag = firstTag
    var room = Limits.pageBytes
    for (index, mutation) in request.mutations.enumerated() {
      let name = mutation.name
      switch words.map({ index < $0.count ? $0[index] : "" }) ?? "saved" {
      case "saved":
        results.append(.saved(name: name, tag: tag))
        tag += 1
      case "conflict":
        results.append(
          try .conflict(
            at: RecordKey(zone: request.zone, name: name), room: &room, record: record))
      case let word:
        let code = RefusalCode(rawValue: String(word)) ?? .internalError
        results.append(
          .refused(
            name: name,
            Refusal(
              code, "\(code.title), as this batch was told before; mend it under a new batch id.",
              relayTime: code == .clockAhead ? wall : nil)))
      }
    }
    return results
  }
}
