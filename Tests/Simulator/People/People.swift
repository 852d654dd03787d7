import LockstepModel
import LockstepSimulation

/// Simulated users: each has an account and acts on its devices, sometimes on two at once, online
/// or not. Their actions and times follow from the seed alone.
package struct People {
  package struct Act: Hashable {
    /// Milliseconds since the simulation began.
    package var at: Int64
    package var device: Int
    package var press: Press
  }

  package private(set) var acts: [Act] = []

  package init(acts: [Act]) { self.acts = acts }

  /// Apps and data that the users work with.
  package struct Workload {
    package var apps: [PlayedApp] = [.timer]
    /// Number of notes to write on; 0: these users write none.
    package var notes = 0
    /// True if users attach chunks of files to notes.
    package var hasChunks = false
    /// True if one of the devices does not have the vault's key.
    package var hasKeylessDevice = false

    package init() {}
  }

  /// Draws the actions of one user. `devices`: indices of the user's devices; `span`: time within
  /// which the actions fall, in milliseconds.
  package init(
    random: inout SeededRandom, devices: [Int], count: Int, span: Int64, _ workload: Workload
  ) {
    var at = random.number(in: 200...2_000)
    var isSoon = false
    var app = random.one(of: workload.apps)
    for number in 0..<count where at < span {
      // A user in a hurry stays with one app, so that changes of two devices conflict.
      if !isSoon { app = random.one(of: workload.apps) }
      let press = People.press(&random, number, app, workload)
      acts.append(Act(at: at, device: random.one(of: devices), press: press))
      // One in three: at nearly the same moment, most likely on another device.
      isSoon = random.chance(1, of: 3)
      at +=
        isSoon
        ? random.number(in: 0...60) : random.number(in: 100...max(101, 2 * span / Int64(count)))
    }
  }

  private static func press(
    _ random: inout SeededRandom, _ act: Int, _ app: PlayedApp, _ workload: Workload
  ) -> Press {
    let share = workload.apps.count > 1 ? 4 : 12
    if workload.notes > 0, random.chance(share, of: 18) {
      let press = note(&random, act, of: workload.notes)
      return workload.hasChunks ? withChunks(press, &random) : press
    }
    if workload.hasKeylessDevice, random.chance(1, of: 2) {
      // Sometimes empty, as a device that cannot read the file would write it.
      let content = random.chance(1, of: 3) ? "" : "written \(act)"
      let forms = ForgedForm.allCases
      return .vault(
        .write(content: content, form: forms[random.count(in: 0...forms.count - 1)]))
    }
    return switch random.count(in: 0...15) {
    case 0: .syncNow
    case 1: .readStatus
    default: app.press(&random, act)
    }
  }

  /// Draws mostly from a few notes, so that changes conflict; sometimes from all.
  private static func note(_ random: inout SeededRandom, _ act: Int, of notes: Int) -> Press {
    let number = random.count(in: 0...(random.chance(4, of: 5) ? min(notes, 5) : notes) - 1)
    return .note(number, text: random.chance(1, of: 4) ? nil : Int64(act + 1))
  }

  /// Draws from a few chunks, so that several notes name the same.
  private static func withChunks(_ press: Press, _ random: inout SeededRandom) -> Press {
    guard case .note(let number, let text) = press else { return press }
    guard let text else { return random.chance(1, of: 2) ? press : .readChunks(number) }
    switch random.count(in: 0...3) {
    case 0: return press
    case 1: return .readChunks(number)
    default:
      let chunks = (0..<random.count(in: 1...2)).map { _ in random.count(in: 0...5) }
      return .attach(number, text: text, chunks: chunks)
    }
  }
}
