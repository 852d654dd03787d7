import Simulator
import Testing

/// Devices lose the network, with and without notice, and users switch sync off.
struct PartitionsTests {
  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func whatWasDoneApartComesTogether(seed: UInt64) throws {
    try play(seed, .partitions)
  }
}
