import LockstepEventLoop
import LockstepModel

/// Watched folders, and the handling of events in them.
extension VaultEngine {
  /// Watches the folders of all files. If one is missing, watches its nearest existing ancestor, so
  /// that its return is noticed.
  func watchFolders() {
    guard let registry, !registry.entries.isEmpty || watcher != nil else { return }
    guard let watcher = openedWatcher else { return }
    var wanted: Set<String> = []
    for entry in registry.entries {
      var folder = entry.folderPath
      while !isWatched(folder, by: watcher), folder != "/" {
        folder = FilePath.folder(of: folder)
      }
      wanted.insert(folder)
    }
    for folder in watcher.watched where !wanted.contains(folder) { watcher.unwatch(folder) }
  }

  /// Nil if the system provides none. A home without files needs none.
  private var openedWatcher: FileWatcher? {
    if let watcher { return watcher }
    do throws(SystemFault) {
      watcher = try FileWatcher()
    } catch {
      log.error("files cannot be watched: \(error)")
    }
    return watcher
  }

  /// Throws if changes in a folder would not be noticed.
  func requireWatch(of folder: String) throws(VaultFault) {
    guard let watcher = openedWatcher else {
      throw .problem(
        "files cannot be watched: too many programs do so; raise fs.inotify.max_user_instances")
    }
    if watcher.watched.contains(folder) { return }
    do throws(SystemFault) {
      try watcher.watch(folder)
    } catch {
      throw .problem(
        "the folder \(folder) cannot be watched (\(error.text)); let it be read, or raise "
          + "fs.inotify.max_user_watches")
    }
  }

  private func isWatched(_ folder: String, by watcher: FileWatcher) -> Bool {
    do throws(SystemFault) {
      try watcher.watch(folder)
      return true
    } catch {
      return false
    }
  }

  func take(_ event: FileEvent) {
    guard let registry else { return }
    switch event.kind {
    case .overflow, .mounts, .folderGone:
      watchFolders()
      for entry in registry.entries { tracks[entry.name]?.heard(event.kind, at: now) }
    case .written, .writing, .touched, .gone:
      let isOfFiles = registry.entries.contains { $0.folderPath == event.folder }
      for entry in registry.entries where entry.folderPath == event.folder {
        if let name = event.name, name == FilePath.name(of: entry.path) {
          tracks[entry.name]?.heard(event.kind, at: now)
        }
      }
      if !isOfFiles { lookForFolders() }
    }
  }

  /// Handles an event in an ancestor of missing folders.
  private func lookForFolders() {
    guard let watcher, let registry else { return }
    let before = Set(watcher.watched)
    watchFolders()
    for entry in registry.entries where !before.contains(entry.folderPath) {
      tracks[entry.name]?.wakes(at: now)
    }
  }
}
