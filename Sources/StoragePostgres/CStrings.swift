import Glibc

/// A null-terminated array of C strings.
final class CStrings {
  private let copies: [UnsafeMutablePointer<CChar>?]

  init(_ texts: [String]) { copies = texts.map { strdup($0) } + [nil] }

  deinit { for copy in copies { free(copy) } }

  /// Valid for the lifetime of this object.
  var pointers: [UnsafePointer<CChar>?] { copies.map { $0.map { UnsafePointer($0) } } }
}
