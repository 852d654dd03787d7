import Glibc
import TemporaryFolders
import Testing

@testable import LockstepEventLoop

struct FileWatcherTests {
  private let folder: TemporaryFolder
  private let watcher: FileWatcher
  private let mailbox: Mailbox<Int>

  init() throws {
    folder = try TemporaryFolder()
    watcher = try FileWatcher()
    mailbox = try Mailbox<Int>(isBlocking: true)
  }

  /// Waits for the next events of `name`.
  private func kinds(of name: String?) throws -> [FileEvent.Kind] {
    for _ in 0..<100 {
      let events = try watcher.events().filter { $0.name == name && $0.folder == folder.path }
      if !events.isEmpty { return events.map(\.kind) }
      watcher.wait(for: mailbox, milliseconds: 10_000)
    }
    return []
  }

  @Test func writtenFilesAreReported() throws {
    try watcher.watch(folder.path)
    try folder.write([1], to: "a.tmp")
    #expect(rename(folder.path("a.tmp"), folder.path("a")) == 0)
    #expect(try kinds(of: "a").last == .written)
  }

  @Test func changesOfAnEditorAreReported() throws {
    try folder.write([1], to: "a")
    try watcher.watch(folder.path)
    let descriptor = open(folder.path("a"), O_WRONLY)
    #expect(write(descriptor, "x", 1) == 1)
    #expect(try kinds(of: "a") == [.writing])
    close(descriptor)
    #expect(try kinds(of: "a") == [.written])
    #expect(chmod(folder.path("a"), 0o600) == 0)
    #expect(try kinds(of: "a") == [.touched])
    #expect(unlink(folder.path("a")) == 0)
    #expect(try kinds(of: "a").contains(.gone))
  }

  @Test func removedFoldersAreReported() throws {
    let path = folder.path("inner")
    #expect(mkdir(path, 0o700) == 0)
    try watcher.watch(path)
    #expect(rmdir(path) == 0)
    var events: [FileEvent] = []
    while events.isEmpty {
      watcher.wait(for: mailbox, milliseconds: 10_000)
      events = try watcher.events()
    }
    #expect(events.contains(FileEvent(kind: .folderGone, folder: path)))
    #expect(watcher.watched == [])
    #expect(throws: SystemFault.self) { try watcher.watch(path) }
  }

  @Test func onlyFoldersAreWatched() throws {
    try folder.write([1], to: "a")
    #expect(throws: SystemFault.self) { try watcher.watch(folder.path("a")) }
  }

  @Test func unwatchedFoldersAreNotReported() throws {
    try watcher.watch(folder.path)
    watcher.unwatch(folder.path)
    try folder.write([1], to: "a")
    #expect(try watcher.events() == [])
  }

  @Test func aMessageEndsTheWait() throws {
    try watcher.watch(folder.path)
    let thread = try LoopThread("poster") { [mailbox] in mailbox.post(1) }
    var messages: [Int] = []
    while messages.isEmpty {
      watcher.wait(for: mailbox, milliseconds: nil)
      mailbox.drain(into: &messages)
    }
    #expect(messages == [1])
    thread.join()
    // The wakeup is consumed: the next wait does not report it again.
    watcher.wait(for: mailbox, milliseconds: 0)
    #expect(mailbox.isEmpty)
  }
}
