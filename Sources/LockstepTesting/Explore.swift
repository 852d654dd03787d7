import Lockstep
import LockstepModel

/// Faults of `explore`.
public struct WorldFaults: OptionSet, Sendable {
  public let rawValue: Int
  public init(rawValue: Int) { self.rawValue = rawValue }

  /// Devices lose their network, and get it back.
  public static let cuts = WorldFaults(rawValue: 1 << 0)
  /// Apps crash, and start again.
  public static let restarts = WorldFaults(rawValue: 1 << 1)
  /// Devices have wrong clocks.
  public static let clocks = WorldFaults(rawValue: 1 << 2)

  public static let none: WorldFaults = []
  public static let all: WorldFaults = [.cuts, .restarts, .clocks]
}

/// A world in which devices ended with different records, with the smallest plan that was found.
public struct WorldFault: Error, CustomStringConvertible, Sendable {
  public let description: String
}

/// Plays random worlds: two to four devices save, change and delete records of a type, with faults.
/// At the end, all networks are back, and every device must show the same records. Of a type that
/// asks, persons decide some conflicts meanwhile and all others at the end, each for one of the two
/// versions at random.
///
/// A seed that fails is played again with fewer and fewer steps, until none can be left out.
///
/// - Parameters:
///   - type: Type of the records.
///   - seeds: One world for each.
///   - faults: Faults that may happen.
///   - samples: Draws a value, for a type whose values cannot be drawn; `nil` draws them.
/// - Throws: `WorldFault`, also for a type whose values cannot be drawn.
public func explore<Record: SyncedRecord>(
  _ type: Record.Type, seeds: ClosedRange<UInt64>, faults: WorldFaults = .all,
  samples: ((_ index: Int) -> Record)? = nil
) throws {
  for seed in seeds {
    let plan: WorldPlan<Record>
    do {
      plan = try WorldPlan<Record>(seed: seed, faults: faults, samples: samples)
    } catch let error as DecodingError {
      throw WorldFault(description: RandomValues.explanation(of: error, drawing: type))
    }
    guard let difference = try plan.play() else { continue }
    let smallest = try plan.shrunk()
    let last = try smallest.play() ?? difference
    throw WorldFault(
      description: """
        seed \(seed): \(last)
        \(smallest.text)
        repeat it with: explore(\(Record.self).self, seeds: \(seed)...\(seed))
        """)
  }
}

/// The steps of one world.
struct WorldPlan<Record: SyncedRecord> {
  enum Step {
    case save(device: Int, Record)
    case change(device: Int, id: String, Record)
    case delete(device: Int, id: String)
    case cut(device: Int)
    case heal(device: Int)
    case restart(device: Int)
    case setClock(device: Int, milliseconds: Int64)
    case wait(seconds: Int64)
    /// Decides the first conflict that waits for a person on this device.
    case decide(device: Int, ConflictSide)
  }

  /// Limit of the decisions at the end. A decision may meet a change that it did not know, and
  /// another person decides again.
  private static var decisionsMost: Int { 200 }

  private let seed: UInt64
  private let devices: Int
  private var steps: [Step]

  init(seed: UInt64, faults: WorldFaults, samples: ((Int) -> Record)? = nil) throws {
    self.seed = seed
    var random = SeededRandom(seed: seed)
    var values = RandomValues(seed: random.next())
    var drawn = 0
    func draw() throws -> Record {
      drawn += 1
      return try samples.map { $0(Int(clamping: seed) &* 32 &+ drawn) }
        ?? values.draw(Record.self)
    }
    devices = Int.random(in: 2...4, using: &random)
    let ids = ["1", "2", "3"]
    steps = []
    for _ in 0..<Int.random(in: 8...30, using: &random) {
      let device = Int.random(in: 0..<devices, using: &random)
      let id = ids[Int.random(in: 0..<ids.count, using: &random)]
      switch Int.random(in: 0..<16, using: &random) {
      case 0..<3:
        var value = try draw()
        value.id = id
        steps.append(.save(device: device, value))
      case 3..<8: steps.append(.change(device: device, id: id, try draw()))
      case 8: steps.append(.delete(device: device, id: id))
      case 9..<11 where faults.contains(.cuts): steps.append(.cut(device: device))
      case 11 where faults.contains(.cuts): steps.append(.heal(device: device))
      case 12 where faults.contains(.restarts): steps.append(.restart(device: device))
      case 13 where faults.contains(.clocks):
        let error = Int64.random(in: -600_000...600_000, using: &random)
        steps.append(.setClock(device: device, milliseconds: error))
      default: steps.append(.wait(seconds: Int64.random(in: 0...3, using: &random)))
      }
      // Plans of other types are not changed by this.
      if Record.rules.asks, Int.random(in: 0..<6, using: &random) == 0 {
        steps.append(.decide(device: device, Self.side(&random)))
      }
    }
  }

  private init(_ plan: WorldPlan, steps: [Step]) {
    seed = plan.seed
    devices = plan.devices
    self.steps = steps
  }

  private static func side(_ random: inout SeededRandom) -> ConflictSide {
    Bool.random(using: &random) ? .local : .relay
  }

  /// Plays the world. Returns nil if all devices end with the same records.
  func play() throws -> String? {
    var world = World(seed: seed, records: [Record.self])
    let devices = (0..<devices).map { world.device("device\($0)") }
    for step in steps { try perform(step, devices, &world) }
    for device in devices { world.heal(device) }
    guard world.settle() else { return "the devices are not in sync after ten minutes" }
    guard try decideAll(devices, &world) else {
      return "conflicts wait after \(Self.decisionsMost) decisions"
    }
    let lists = try devices.map { try world.records(Record.self, on: $0) }
    for (index, list) in lists.enumerated() where list != lists[0] {
      return "device0 shows \(lists[0]), and device\(index) \(list)"
    }
    return nil
  }

  /// Decides all conflicts. Returns false if there are more and more of them.
  private func decideAll(_ devices: [World.Device], _ world: inout World) throws -> Bool {
    guard Record.rules.asks else { return true }
    var random = SeededRandom(seed: seed)
    for _ in 0..<Self.decisionsMost {
      var isDone = true
      for device in devices {
        guard let conflict = try world.undecidedConflicts(Record.self, on: device).first else {
          continue
        }
        isDone = false
        try world.decide(conflict, keep: Self.side(&random), on: device)
        // Sometimes two persons decide at once.
        if Bool.random(using: &random) { world.settle() }
      }
      if isDone { return true }
      guard world.settle() else { return false }
    }
    return false
  }

  private func perform(_ step: Step, _ devices: [World.Device], _ world: inout World) throws {
    switch step {
    case .save(let device, let value): try world.save(value, on: devices[device])
    case .change(let device, let id, let value):
      do {
        try world.update(Record.self, id: id, on: devices[device]) { record in
          record = value
          record.id = id
        }
      } catch LockstepError.noSuchRecord {
        // The device does not have it, or no longer.
        return
      }
    case .delete(let device, let id):
      try world.delete(Record.self, id: id, on: devices[device])
    case .cut(let device): world.cut(devices[device])
    case .heal(let device): world.heal(devices[device])
    case .restart(let device): world.restart(devices[device])
    case .setClock(let device, let milliseconds):
      world.setClockError(milliseconds: milliseconds, of: devices[device])
    case .wait(let seconds): world.run(seconds: seconds)
    case .decide(let device, let side):
      guard
        let conflict = try world.undecidedConflicts(Record.self, on: devices[device]).first
      else { return }
      try world.decide(conflict, keep: side, on: devices[device])
    }
  }

  /// Returns the plan with as few steps as still fail, found by leaving out ever smaller parts.
  func shrunk() throws -> WorldPlan {
    var smallest = self
    var part = max(1, steps.count / 2)
    while true {
      var isSmaller = false
      var start = 0
      while start < smallest.steps.count {
        var steps = smallest.steps
        steps.removeSubrange(start..<min(start + part, steps.count))
        let candidate = WorldPlan(smallest, steps: steps)
        if try candidate.play() != nil {
          smallest = candidate
          isSmaller = true
        } else {
          start += part
        }
      }
      if part == 1, !isSmaller { return smallest }
      part = max(1, part / 2)
    }
  }

  /// The steps as a list.
  var text: String {
    steps.enumerated().map { "  \($0.offset + 1). \(Self.text($0.element))" }
      .joined(separator: "\n")
  }

  private static func text(_ step: Step) -> String {
    switch step {
    case .save(let device, let value): "device\(device) saves \(value)"
    case .change(let device, let id, let value): "device\(device) changes \(id) to \(value)"
    case .delete(let device, let id): "device\(device) deletes \(id)"
    case .cut(let device): "device\(device) loses its network"
    case .heal(let device): "device\(device) has its network back"
    case .restart(let device): "device\(device) crashes and starts again"
    case .setClock(let device, let milliseconds):
      "the clock of device\(device) is wrong by \(milliseconds) ms"
    case .wait(let seconds): "\(seconds) s pass"
    case .decide(let device, let side):
      "a person decides a conflict on device\(device) for the version \(side)"
    }
  }
}
