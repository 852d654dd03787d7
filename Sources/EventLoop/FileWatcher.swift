import CLinux
import Glibc
import LockstepWire

/// What happened in a folder that is watched.
package struct FileEvent: Hashable, Sendable {
  package enum Kind: Hashable, Sendable {
    /// Somebody wrote, and may go on.
    case writing
    /// Whoever wrote has closed the file, or it was moved here.
    case written
    /// It was made, or its rights or times were changed.
    case touched
    /// It was removed or moved away.
    case gone
    /// The folder itself is gone, or the disk that it was on; it is watched no more.
    case folderGone
    /// More happened than the system could tell: anything may have, in every folder.
    case overflow
    /// A disk was mounted or unmounted somewhere.
    case mounts
  }

  package var kind: Kind
  /// As it was given to `watch`; nil where it is about no folder.
  package var folder: String?
  /// Without the folder; nil where it is about the folder itself, or no UTF-8.
  package var name: String?
}

/// Folders of which one thread wants to know what happens in them (inotify). It sleeps until then,
/// or until a message comes, and never looks by itself.
package final class FileWatcher {
  private let descriptor: Descriptor
  /// Told by the system where a disk comes or goes, which no folder tells; nil where there is no
  /// such file.
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

  /// Watching a folder twice is watching it once. Throws where it is none, or cannot be read.
  package func watch(_ folder: String) throws(SystemFault) {
    let number = try Syscall.result("inotify_add_watch") {
      Int(inotify_add_watch(descriptor.rawValue, folder, Self.wanted))
    }
    folders[Int32(number)] = folder
  }

  package var watched: [String] { folders.values.sorted() }

  package func unwatch(_ folder: String) {
    for (number, path) in folders where path == folder {
      // Fails where the folder is gone by itself; then it is watched no more either.
      _ = inotify_rm_watch(descriptor.rawValue, number)
      folders[number] = nil
    }
  }

  /// Sleeps until there are events, or messages in the mailbox, or the time is up; without end
  /// where none is given. The mailbox must be a blocking one.
  package func wait<Message>(for mailbox: Mailbox<Message>, milliseconds: Int64?) {
    guard mailbox.fallAsleep() else { return }
    var polled = [
      pollfd(fd: descriptor.rawValue, events: Int16(POLLIN), revents: 0),
      pollfd(fd: mailbox.bell.rawValue, events: Int16(POLLIN), revents: 0),
    ]
    if mountsNumber >= 0 {
      polled.append(pollfd(fd: mountsNumber, events: Int16(POLLPRI), revents: 0))
    }
    let timeout = milliseconds.map { Int32(clamping: max(0, $0)) } ?? -1
    // An interrupted wait is a short one.
    guard poll(&polled, nfds_t(polled.count), timeout) > 0 else { return }
    if polled[1].revents != 0 { mailbox.bell.wait() }
    if polled.count == 3, polled[2].revents & Int16(POLLPRI | POLLERR) != 0 { hasNewMounts = true }
  }

  /// All that happened since the last time, in order; never waits.
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
      take(UnsafeRawBufferPointer(rebasing: buffer[..<count]), into: &events)
    }
    return events
  }

  /// The system's own form: a head of 16 bytes, and a name that is padded with zeros.
  private func take(_ bytes: UnsafeRawBufferPointer, into events: inout [FileEvent]) {
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
  /// nil where the bytes are no UTF-8.
  fileprivate init?(validating bytes: Slice<UnsafeRawBufferPointer>) {
    self.init(validating: Array(bytes), as: UTF8.self)
  }
}
