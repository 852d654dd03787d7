import Glibc
import Simulator

/// Plays slices in several processes at a time, and reports each seed as it arrives.
struct Crew {
  enum Event {
    case played(PlayedSeed, Slice)
    /// The process of a slice ended at this seed, as `how` says; another process plays the rest.
    case crashed(seed: UInt64, how: String)
  }

  let options: Options
  private var waiting: [Slice]
  private var running: [SliceProcess] = []

  init(options: Options, slices: [Slice]) {
    self.options = options
    waiting = slices.reversed()
  }

  /// Runs until all slices are played, or until `handleEvent` returns false.
  mutating func run(_ handleEvent: (Event) -> Bool) throws(ProcessFault) {
    defer { for process in running { process.stop() } }
    while true {
      while running.count < options.jobs, let slice = waiting.popLast() {
        running.append(try SliceProcess(slice, options))
      }
      guard !running.isEmpty else { return }
      var wanted = running.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
      guard poll(&wanted, nfds_t(wanted.count), -1) >= 0 || errno == EINTR else { return }
      for (process, found) in zip(running, wanted) where found.revents != 0 {
        guard let played = process.read() else {
          if let event = handleEnd(process), !handleEvent(event) { return }
          continue
        }
        for seed in played where !handleEvent(.played(seed, process.slice)) { return }
      }
    }
  }

  private mutating func handleEnd(_ process: SliceProcess) -> Event? {
    running.removeAll { $0 === process }
    guard let how = process.end() else { return nil }
    let seed = process.seed ?? process.slice.first
    if seed + 1 < process.slice.end {
      waiting.append(Slice(first: seed + 1, count: process.slice.end - seed - 1))
    }
    return .crashed(seed: seed, how: how)
  }
}
