import Simulator
import Testing

/// Devices lose the network, loudly and silently, and people switch sync off.
struct PartitionsTests {
  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func whatWasDoneApartComesTogether(seed: UInt64) throws {
    try play(seed, .partitions)
  }
}
