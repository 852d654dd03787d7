import LockstepClient
import LockstepEventLoop
import LockstepModel
import Testing

@testable import LockstepHome

struct VaultTrackTests {
  private func at(_ milliseconds: Int64) -> Instant {
    Instant(nanoseconds: milliseconds * 1_000_000)
  }

  @Test func aFileIsLookedAtSoonAfterItWasClosed() {
    var track = VaultTrack()
    track.handleEvent(.writing, at: at(0))
    #expect(track.due == at(500))
    track.handleEvent(.written, at: at(20))
    #expect(track.due == at(70))
    #expect(track.isSuspect)
  }

  @Test func writesPutTheLookOffButNotForEver() {
    var track = VaultTrack()
    for time in stride(from: Int64(0), through: 20_000, by: 100) {
      track.handleEvent(.writing, at: at(time))
    }
    #expect(track.due == at(5_000))
  }

  @Test func whatIsWrittenAgainAndAgainIsCheckedAllTheSame() {
    var track = VaultTrack()
    for time in stride(from: Int64(0), through: 20_000, by: 40) {
      track.handleEvent(.written, at: at(time))
    }
    #expect(track.due == at(5_000))
  }

  @Test func rightsAloneMakeNoContentSuspect() {
    var track = VaultTrack()
    track.handleEvent(.touched, at: at(0))
    #expect(track.due == at(500) && !track.isSuspect)
    track.handleEvent(.overflow, at: at(10))
    #expect(track.due == at(10) && track.isSuspect)
  }

  @Test func progressCountsEachByteOnce() throws {
    let hashes = try (1...2).map { number in
      try #require(ChunkHash(bytes: [UInt8](repeating: UInt8(number), count: 32)))
    }
    var track = VaultTrack()
    track.upload = [hashes[0]: .init(bytes: 10)]
    func progress(_ hash: ChunkHash, _ done: Int, _ way: ChunkProgress.Direction = .up) -> Bool {
      track.applyProgress(
        ChunkProgress(hash: hash, direction: way, bytesDone: done, bytesInAll: 10))
    }
    #expect(progress(hashes[0], 4))
    #expect(progress(hashes[0], 4))
    // A broken upload begins again.
    #expect(progress(hashes[0], 0))
    #expect(progress(hashes[0], 10))
    #expect(track.bytesDone == 10)
    #expect(!progress(hashes[1], 5) && !progress(hashes[0], 5, .down))
  }
}
