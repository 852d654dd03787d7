import LockstepModel
import LockstepRuntime
import Testing

@testable import LockstepGateway

struct DeviceLimiterTests {
  private let relay = PeerNetwork(of: .host("192.0.2.1", port: 1))

  private func instant(_ milliseconds: Int64 = 0) -> Instant {
    Samples.moment(milliseconds).instant
  }

  private func network(_ number: Int) -> PeerNetwork {
    PeerNetwork(of: .host("198.51.\(number >> 8).\(number & 0xFF)", port: 1))
  }

  private func target(_ number: Int) throws -> APNsTarget {
    try #require(
      APNsTarget(
        deviceToken: [UInt8(number >> 16), UInt8(number >> 8 & 0xFF), UInt8(number & 0xFF)],
        topic: "com.example.app", environment: .production))
  }

  /// Pushes, and lets APNs answer. Returns the code of a refusal.
  private func push(
    _ limiter: inout DeviceLimiter, _ number: Int, _ result: APNsResult,
    at now: Instant? = nil
  ) throws -> GatewayProblem.Code? {
    let (target, now) = (try target(number), now ?? instant())
    do throws(GatewayProblem) {
      let asker = try limiter.admit(target, from: relay, at: now)
      limiter.record(result, of: target, asker: asker, at: now)
      return nil
    } catch {
      return error.code
    }
  }

  @Test func allNetworksTogetherHaveALimit() throws {
    var limiter = DeviceLimiter()
    #expect(try push(&limiter, 0, .accepted(notification: nil)) == nil)
    for number in 1...GatewayLimits.badTokens {
      let asker = network(number / (GatewayLimits.badTokensPerNetwork - 1))
      limiter.recordEndpoint(try target(number), from: asker, at: instant())
      #expect(try push(&limiter, number, .badToken) == nil)
    }
    let new = GatewayLimits.badTokens + 1
    limiter.recordEndpoint(try target(new), from: network(60_000), at: instant())
    #expect(try push(&limiter, new, .badToken) == .tooManyRequests)
    #expect(try push(&limiter, 0, .accepted(notification: nil)) == nil, "APNs knows the device")
    let later = instant(GatewayLimits.rateMilliseconds)
    #expect(try push(&limiter, new, .accepted(notification: nil), at: later) == nil)
  }

  @Test func tokenThatNobodyIsKnownToHaveAskedForIsTheRelays() throws {
    var limiter = DeviceLimiter()
    for number in 0..<GatewayLimits.badTokensPerNetwork {
      #expect(try push(&limiter, number, .badToken) == nil)
    }
    #expect(try push(&limiter, 100, .badToken) == .tooManyRequests)
    limiter.recordEndpoint(try target(100), from: network(1), at: instant())
    #expect(try push(&limiter, 100, .accepted(notification: nil)) == nil)
  }

  @Test(arguments: [
    APNsResult.gone, .accepted(notification: nil), .throttled(milliseconds: 1),
    .unavailable(milliseconds: 1), .misconfigured,
  ])
  func onlyBadTokensAreCharged(_ result: APNsResult) throws {
    var limiter = DeviceLimiter()
    for number in 0..<10 * GatewayLimits.badTokensPerNetwork {
      #expect(try push(&limiter, number, result) == nil)
    }
  }

  @Test func deviceThatLosesItsAppIsNotKnownAnyMore() throws {
    var limiter = DeviceLimiter()
    #expect(try push(&limiter, 0, .accepted(notification: nil)) == nil)
    #expect(try push(&limiter, 0, .gone) == nil)
    #expect(try push(&limiter, 0, .accepted(notification: nil)) == .gone)
    for number in 1...GatewayLimits.badTokensPerNetwork {
      #expect(try push(&limiter, number, .badToken) == nil)
    }
    let later = instant(GatewayLimits.goneMilliseconds)
    for number in 101...100 + GatewayLimits.badTokensPerNetwork {
      #expect(try push(&limiter, number, .badToken, at: later) == nil)
    }
    #expect(
      try push(&limiter, 0, .accepted(notification: nil), at: later) == .tooManyRequests,
      "it is asked for as any other that is not known")
  }

  @Test func pushesToADeviceAreLimited() throws {
    var limiter = DeviceLimiter()
    for _ in 0..<GatewayLimits.pushesPerDevice {
      #expect(try push(&limiter, 0, .accepted(notification: nil)) == nil)
    }
    #expect(try push(&limiter, 0, .accepted(notification: nil)) == .tooManyRequests)
    #expect(try push(&limiter, 1, .accepted(notification: nil)) == nil)
  }
}
