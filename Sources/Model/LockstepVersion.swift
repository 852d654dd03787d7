/// Version of this package, which the program, the relay and the devices report.
package enum LockstepVersion {
  package static let current = "0.2.0"
}
