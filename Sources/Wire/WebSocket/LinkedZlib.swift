import CZlib

/// The zlib that the program runs with. A release has it linked in, so that only the program can
/// tell.
package enum LinkedZlib {
  /// `1.2.13`.
  package static var version: String { String(cString: zlibVersion()) }
}
