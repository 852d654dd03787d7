import Apps
import Changes
import Devices
import Simulation
import Storage
import Tools

/// Simulated persons: each has an account and presses buttons on its devices, sometimes on two at
/// once, online or not. What they do and when follows from the seed alone.
package struct People {
  package struct Act: Hashable {
    /// Milliseconds since the world began.
    package var at: Int64
    package var device: Int
    package var press: Press
  }

  package enum Press: Hashable {
    case timer(TimerEvent)
    /// Sets a whole number in the settings.
    case setting(String, Int64)
    /// Writes a note, or deletes it.
    case note(Int, text: Int64?)
    /// Writes a note that names pieces of files, which are put into the home first.
    case attach(Int, text: Int64, pieces: [Int])
    /// Reads the pieces that a note names.
    case readPieces(Int)
    case syncNow
    case readStatus
  }

  package private(set) var acts: [Act] = []

  package init(acts: [Act]) { self.acts = acts }

  /// `devices`: the numbers of one person's devices; acts fall within `span` milliseconds.
  /// `notes`: how many notes there are to write on; 0: these persons write none. `hasPieces`: they
  /// attach pieces of files to them.
  package init(
    random: inout SeededRandom, devices: [Int], count: Int, span: Int64, notes: Int = 0,
    hasPieces: Bool = false
  ) {
    var at = random.number(in: 200...2_000)
    for number in 0..<count where at < span {
      let writes = notes > 0 && random.chance(2, of: 3)
      var press =
        writes ? People.note(&random, number, of: notes) : People.press(&random, number)
      if hasPieces { press = People.withPieces(press, &random) }
      acts.append(Act(at: at, device: random.one(of: devices), press: press))
      // One in three: at nearly the same moment, most likely on another device.
      at +=
        random.chance(1, of: 3)
        ? random.number(in: 0...60) : random.number(in: 100...max(101, 2 * span / Int64(count)))
    }
  }

  private static func press(_ random: inout SeededRandom, _ act: Int) -> Press {
    switch random.count(in: 0...15) {
    case 0...4: .timer(.start(length: length(&random)))
    case 5, 6: .timer(.pause)
    case 7, 8: .timer(.resume)
    case 9, 10: .timer(.stop)
    case 11: .timer(.skip)
    case 12: .timer(.snooze(length: length(&random)))
    case 13:
      // A value of its own, so that it tells who chose it and when.
      .setting(
        random.one(of: ["focusMinutes", "shortBreakMinutes", "longBreakEvery"]), Int64(act + 1))
    case 14: .syncNow
    default: .readStatus
    }
  }

  /// On few notes, so that persons meet; now and then on any.
  private static func note(_ random: inout SeededRandom, _ act: Int, of notes: Int) -> Press {
    let number = random.count(in: 0...(random.chance(4, of: 5) ? min(notes, 5) : notes) - 1)
    return .note(number, text: random.chance(1, of: 4) ? nil : Int64(act + 1))
  }

  /// Of few pieces, so that they meet.
  private static func withPieces(_ press: Press, _ random: inout SeededRandom) -> Press {
    guard case .note(let number, let text) = press else { return press }
    guard let text else { return random.chance(1, of: 2) ? press : .readPieces(number) }
    switch random.count(in: 0...3) {
    case 0: return press
    case 1: return .readPieces(number)
    default:
      let pieces = (0..<random.count(in: 1...2)).map { _ in random.count(in: 0...5) }
      return .attach(number, text: text, pieces: pieces)
    }
  }

  /// Mostly so short that it runs out while the world lasts.
  private static func length(_ random: inout SeededRandom) -> Int64? {
    random.chance(1, of: 4) ? nil : random.number(in: 300...15_000)
  }
}

extension DeviceMachine {
  package func press(_ press: People.Press) {
    guard isRunning else { return }
    switch press {
    case .timer(let event):
      order(.edit(nextOrderID(), .timer(event, settings: settingsRecord)))
    case .setting(let name, let number):
      order(
        .edit(
          nextOrderID(),
          EditRequest(key: TimerApp.settingsKey, type: TimerApp.settingsType) {
            (context) throws(EditRefusal) -> JSONValue? in
            DeviceMachine.fields(of: context.current)
              .setting(name, to: .number(JSONNumber(number)))
          }))
    case .note(let number, let text):
      order(.edit(nextOrderID(), NotesApp.edit(number, text: text)))
    case .attach(let number, let text, let pieces): attach(pieces, to: number, text: text)
    case .readPieces(let number): readPieces(of: number)
    case .syncNow: order(.syncNow(nextOrderID()))
    case .readStatus: order(.readStatus(nextOrderID()))
    }
  }

  private var settingsRecord: Record? {
    do throws(StorageError) {
      return try store.record(TimerApp.settingsKey)
    } catch {
      return nil
    }
  }

  private static func fields(of record: Record?) -> JSONValue {
    guard let bytes = record?.fields else { return .object([]) }
    do throws(JSONFault) {
      return try JSONValue(parsing: bytes)
    } catch {
      return .object([])
    }
  }
}
