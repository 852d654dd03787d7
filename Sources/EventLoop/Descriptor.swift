/// The owner of one file descriptor, which is closed when the owner is gone.
package struct Descriptor: ~Copyable, Sendable {
  package let rawValue: Int32

  /// From here on nobody else closes `rawValue`.
  package init(adopting rawValue: Int32) {
    precondition(rawValue >= 0)
    self.rawValue = rawValue
  }

  deinit { Syscall.close(rawValue) }
}
