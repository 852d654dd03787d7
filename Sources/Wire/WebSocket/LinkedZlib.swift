import CZlib

/// zlib library that the program runs with. A release links it statically, so only the program
/// itself can report the version.
package enum LinkedZlib {
  /// `1.2.13`.
  package static var version: String { String(cString: zlibVersion()) }
}
