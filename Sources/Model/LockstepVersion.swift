/// Version of this package, which the program, the relay and the devices report.
package enum LockstepVersion {
  package static let current = "0.2.0"
  /// Day of its release, which the manual pages bear.
  package static let day = "2026-11-25"
}
