import Glibc

/// Texts as C takes a list of them: pointers, the last of which points nowhere.
final class CStrings {
  private let copies: [UnsafeMutablePointer<CChar>?]

  init(_ texts: [String]) { copies = texts.map { strdup($0) } + [nil] }

  deinit { for copy in copies { free(copy) } }

  /// Good for as long as this is.
  var pointers: [UnsafePointer<CChar>?] { copies.map { $0.map { UnsafePointer($0) } } }
}
