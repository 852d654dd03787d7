import Simulator
import Testing

/// Machines that do not read make their senders wait, within bounds.
struct SlowReadersTests {
  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func slowDevicesCatchUpAndCostLittle(seed: UInt64) throws {
    try play(seed, .slowReaders)
  }
}
