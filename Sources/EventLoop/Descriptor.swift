/// Owner of one file descriptor. Its deinit closes the descriptor.
package struct Descriptor: ~Copyable, Sendable {
  package let rawValue: Int32

  /// Takes over ownership: no other code may close `rawValue` from here on.
  package init(adopting rawValue: Int32) {
    precondition(rawValue >= 0)
    self.rawValue = rawValue
  }

  deinit { Syscall.close(rawValue) }
}
