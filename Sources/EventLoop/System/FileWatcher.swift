import CLinux
import Glibc

/// Event in a watched folder.
package struct FileEvent: Hashable, Sendable {
  package enum Kind: Hashable, Sendable {
    /// A file was written to, and more writes may follow.
    case writing
    /// A written file was closed, or a file was moved here.
    case written
    /// A file was created, or its permissions or times changed.
    case touched
    /// A file was removed or moved away.
    case gone
    /// The folder is gone, or its disk was unmounted. It is no longer watched.
    case folderGone
    /// The system's event queue overflowed: anything may have changed, in every folder.
    case overflow
    /// A disk was mounted or unmounted somewhere.
    case mounts
  }

  package var kind: Kind
  /// The path as passed to `watch`; nil if the event concerns no folder.
  package var folder: String?
  /// Name without the folder; nil if the event concerns the folder itself, or if the name is not
  /// UTF-8.
  package var name: String?
}

/// Watcher of folders for one thread (inotify). The thread sleeps until an event or a message
/// comes; there is no polling interval.
package final class FileWatcher {
  private let descriptor: Descriptor
  /// /proc/self/mountinfo, which the system signals when a disk is mounted or unmounted; no folder
  /// event reports that. nil if the file does not exist.
  private let mounts: Descriptor?
  private let mountsNumber: Int32
  private var folders: [Int32: String] = [:]
  private var hasNewMounts = false

  package init() throws(SystemFault) {
    let number = try Syscall.result("inotify_init1") {
      Int(inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK)))
    }
    descriptor = Descriptor(adopting: Int32(number))
    mountsNumber = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)
    mounts = mountsNumber < 0 ? nil : Descriptor(adopting: mountsNumber)
  }

  private static let wanted = UInt32(
    IN_CLOSE_WRITE | IN_MODIFY | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_ATTRIB
      | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

  /// Starts watching a folder; a second call for the same folder has no effect. Throws if the path
  /// is not a folder or cannot be read.
  package func watch(_ folder: String) throws(SystemFault) {
    let number = try Syscall.result("inotify_add_watch") {
      Int(inotify_add_watch(descriptor.rawValue, folder, Self.wanted))
    }
    folders[Int32(number)] = folder
  }

  package var watched: [String] { folders.values.sorted() }

  package func unwatch(_ folder: String) {
    for (number, path) in folders where path == folder {
      // Fails if the folder is already gone; then it is no longer watched either.
      _ = inotify_rm_watch(descriptor.rawValue, number)
      folders[number] = nil
    }
  }

  /// Sleeps until there are events or messages, or the time is over. nil waits without limit. The
  /// mailbox must be a blocking one.
  package func wait<Message>(for mailbox: Mailbox<Message>, milliseconds: Int64?) {
    guard mailbox.prepareToSleep() else { return }
    var polled = [
      pollfd(fd: descriptor.rawValue, events: Int16(POLLIN), revents: 0),
      pollfd(fd: mailbox.wakeup.rawValue, events: Int16(POLLIN), revents: 0),
    ]
    if mountsNumber >= 0 {
      polled.append(pollfd(fd: mountsNumber, events: Int16(POLLPRI), revents: 0))
    }
    let timeout = milliseconds.map { Int32(clamping: max(0, $0)) } ?? -1
    // An interrupted wait just ends early.
    guard poll(&polled, nfds_t(polled.count), timeout) > 0 else { return }
    if polled[1].revents != 0 { mailbox.wakeup.wait() }
    if polled.count == 3, polled[2].revents & Int16(POLLPRI | POLLERR) != 0 { hasNewMounts = true }
  }

  /// Returns all events since the last call, in order. Never blocks.
  package func events() throws(SystemFault) -> [FileEvent] {
    var events: [FileEvent] = []
    if hasNewMounts {
      hasNewMounts = false
      events.append(FileEvent(kind: .mounts))
    }
    let capacity = 16 << 10
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 8)
    defer { buffer.deallocate() }
    while case .done(let count) = try Syscall.read(descriptor.rawValue, buffer), count > 0 {
      parseEvents(UnsafeRawBufferPointer(rebasing: buffer[..<count]), into: &events)
    }
    return events
  }

  /// Parses inotify's format: a header of 16 bytes, and a name padded with zeros.
  private func parseEvents(_ bytes: UnsafeRawBufferPointer, into events: inout [FileEvent]) {
    let head = 16
    var start = 0
    while start + head <= bytes.count {
      let number = bytes.loadUnaligned(fromByteOffset: start, as: Int32.self)
      let mask = bytes.loadUnaligned(fromByteOffset: start + 4, as: UInt32.self)
      let length = Int(bytes.loadUnaligned(fromByteOffset: start + 12, as: UInt32.self))
      let name = bytes[start + head..<start + head + length].prefix { $0 != 0 }
      start += head + length
      guard let kind = kind(mask) else {
        if mask & UInt32(IN_IGNORED) != 0 { folders[number] = nil }
        continue
      }
      let folder = folders[number]
      if kind == .folderGone {
        folders[number] = nil
        _ = inotify_rm_watch(descriptor.rawValue, number)
      }
      guard folder != nil || kind == .overflow else { continue }
      events.append(
        FileEvent(
          kind: kind, folder: folder, name: name.isEmpty ? nil : String(validating: name)))
    }
  }

  private func kind(_ mask: UInt32) -> FileEvent.Kind? {
    func has(_ bits: Int32...) -> Bool { bits.contains { mask & UInt32(bitPattern: $0) != 0 } }
    if has(Int32(IN_Q_OVERFLOW)) { return .overflow }
    if has(Int32(IN_DELETE_SELF), Int32(IN_MOVE_SELF), Int32(IN_UNMOUNT)) { return .folderGone }
    if has(Int32(IN_CLOSE_WRITE), Int32(IN_MOVED_TO)) { return .written }
    if has(Int32(IN_MODIFY)) { return .writing }
    if has(Int32(IN_MOVED_FROM), Int32(IN_DELETE)) { return .gone }
    if has(Int32(IN_CREATE), Int32(IN_ATTRIB)) { return .touched }
    return nil
  }
}

extension String {
  /// Returns nil if the bytes are not UTF-8.
  fileprivate init?(validating bytes: Slice<UnsafeRawBufferPointer>) {
    self.init(validating: Array(bytes), as: UTF8.self)
  }
}
