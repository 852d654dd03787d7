import LockstepModel
import LockstepRelay
import Testing

@testable import LockstepRelayService

struct DescriptorShareTests {
  private func configuration(nodes: Int = 2, connections: Int? = nil) -> RelayConfiguration {
    var configuration = RelayConfiguration()
    configuration.nodes = nodes
    if let connections { configuration.limits.connections = connections }
    return configuration
  }

  @Test(arguments: [256, 512, 1_024, 2_048])
  func aSmallLimitLeavesMostOfItToConnections(descriptors: Int) throws {
    let share = try #require(DescriptorShare(of: descriptors, for: configuration()))
    let limits = share.configuration.limits
    #expect(limits.connections >= descriptors * 2 / 5)
    #expect(limits.uploads > 0 && limits.uploadsPerAccount > 0)
    #expect(share.ownerConnections >= descriptors / 8 || share.ownerConnections == 256)
    #expect(
      limits.connections + share.ownerConnections + limits.uploads * 2 + Limits.spareDescriptors
        <= descriptors)
    #expect(share.advice != nil)
  }

  @Test func aLargeLimitTakesNothingFromAnybody() throws {
    let share = try #require(DescriptorShare(of: 1 << 20, for: configuration()))
    #expect(share.configuration == configuration())
    #expect(share.ownerConnections == Limits.ownerConnections)
    #expect(share.advice == nil)
  }

  @Test func whoeverAsksForFewConnectionsGetsThemWithAllElse() throws {
    let asked = configuration(connections: 100)
    let share = try #require(DescriptorShare(of: 1_024, for: asked))
    #expect(share.configuration == asked)
  }

  @Test func aLimitThatIsTooSmallIsRefused() {
    #expect(DescriptorShare(of: 64, for: configuration()) == nil)
    let fewest = DescriptorShare.fewest(for: configuration())
    #expect(DescriptorShare(of: fewest - 1, for: configuration()) == nil)
    #expect(DescriptorShare(of: fewest, for: configuration()) != nil)
    #expect(fewest < 256)
  }
}
