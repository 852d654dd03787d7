import LockstepApps
import LockstepClient
import LockstepModel

/// Records of the account's files, and the progress of sent changes.
extension VaultEngine {
  /// Handles a new sync status.
  func take(_ status: SyncStatus) {
    let wasInReach = sync.transport != nil
    sync = status
    if !isSyncKnown {
      isSyncKnown = true
      // Changes from before the home was closed, or the process killed, may not have been sent.
      let isUnsent = status.waiting > 0 || status.parkedCount > 0
      for name in tracks.keys { tracks[name]?.isUnsent = isUnsent }
    }
    if !wasInReach && status.transport != nil {
      for (name, track) in tracks where track.state == .syncing || track.state == .error {
        tracks[name]?.wakes(at: now)
      }
    }
    for (name, track) in tracks where track.isUnsent { settleSent(name) }
  }

  /// Updates the state of a sent change: at the relay, on its way, or refused.
  func settleSent(_ name: String) {
    guard let entry = registry?[name], tracks[name]?.isUnsent ?? false else { return }
    if let refusal = refusal(of: entry) {
      tracks[name]?.state = .error
      tracks[name]?.reason = refusal
      return
    }
    // An error without a retry was a refusal of the relay, which no longer applies.
    let wasRefused = tracks[name]?.state == .error && tracks[name]?.due == nil
    let state = tracks[name]?.state
    if sync.waiting == 0 {
      tracks[name]?.isUnsent = false
      tracks[name]?.upload = [:]
      if state == .uploading || wasRefused { rest(name) }
      return
    }
    guard state == .uploading || state == .synced || wasRefused else { return }
    tracks[name]?.state = .uploading
    tracks[name]?.reason = nil
    if case .offline(_, let reason) = sync.state {
      tracks[name]?.reason = "it goes up when the relay is back (\(reason))"
    }
  }

  /// Returns the relay's reason for the refusal of this file's change, or nil if there is none.
  private func refusal(of entry: VaultEntry) -> String? {
    if sync.blockedZones.contains(VaultApp.zone) {
      return "the account's plan does not include the vault; ask the relay's owner"
    }
    if let refusal = sync.chunksRefused { return "it cannot go up: \(refusal.detail)" }
    let record = recordName(of: entry)
    let parked = sync.parked.first { $0.key.zone == VaultApp.zone && $0.key.name == record }
    return parked.map { "the relay does not take it: \($0.refusal.detail)" }
  }

  /// Marks a file as synced: nothing is left to do for now.
  func rest(_ name: String) {
    tracks[name]?.state = .synced
    tracks[name]?.reason = nil
    tracks[name]?.bytesDone = 0
    tracks[name]?.bytesInAll = 0
  }

  /// Handles changed records, of any device.
  func take(_ records: [Record]) {
    // Of any type: a record of another type under a file's name is not a deletion of the file.
    let own = records.filter { $0.zone == VaultApp.zone }
    guard !own.isEmpty else { return }
    shelfChanges += 1
    for record in own { moved.insert(record.name) }
    // Each of these files may have a new copy.
    for name in tracks.keys { tracks[name]?.wakes(at: now) }
  }

  // MARK: records

  /// Returns the seal of this file's record.
  func seal(of entry: VaultEntry) throws(VaultFault) -> VaultSeal {
    if entry.isPlain { return .plain }
    guard let seal = homeSeal else {
      throw .problem(
        "this device does not have the vault's key; bring it with lockstep agent vault unlock")
    }
    return seal
  }

  /// Seal with the home's key; nil if the home has no usable key. A key may arrive at any time.
  var homeSeal: VaultSeal? {
    do throws(CommandFailure) { return try VaultKeys.seal(in: home) } catch { return nil }
  }

  func recordName(of entry: VaultEntry) -> Name? {
    (entry.isPlain ? .plain : homeSeal)?.recordName(of: entry.name)
  }

  /// Reads the vault's records if they have changed.
  func refreshShelf() throws(VaultFault) {
    guard isShelfStale else { return }
    moved = []
    // A command may request the same meanwhile, and must not get an earlier state.
    let known = shelfChanges
    let answer = try ask { .readRecords($0, zone: VaultApp.zone, type: nil) }
    guard case .read(_, let result) = answer else { return }
    switch result {
    case .failure(let error): throw .problem("\(error)")
    case .success(let records):
      shelfRead = known
      let seal = homeSeal
      shelf = [:]
      for record in records where !record.isDeleted {
        shelf[record.name] = VaultRecord(record, seal)
      }
    }
    try adoptCopies()
  }

  /// Keeps the conflict copies of files that are kept here, beside these files.
  private func adoptCopies() throws(VaultFault) {
    let known = shelf.values.filter { $0.contents != nil }.sorted {
      $0.record.name < $1.record.name
    }
    for record in known {
      guard let file = record.contents?.manifest.file, registry?[file] == nil,
        let original = VaultFileResolver.original(ofCopy: file), let entry = registry?[original],
        entry.isPlain == record.isPlain, (registry?.entries.count ?? 0) < Limits.vaultFiles
      else { continue }
      try keep(copy: file, of: entry)
    }
  }

  /// Adds a conflict copy beside its file to the kept files.
  func keep(copy name: String, of entry: VaultEntry) throws(VaultFault) {
    var copy = VaultEntry(name: name, path: FilePath.joined(entry.folderPath, name))
    copy.isPlain = entry.isPlain
    copy.isCopy = true
    try put(copy)
    tracks[name, default: VaultTrack()].wakes(at: now)
    var event = VaultHistory.Event(.conflict, entry.name, at: wall)
    event.note = name
    history.add(event)
  }

  func put(_ entry: VaultEntry) throws(VaultFault) {
    do throws(CommandFailure) {
      try registry?.put(entry)
    } catch {
      throw .problem(error.message ?? "the home cannot be written")
    }
  }
}
