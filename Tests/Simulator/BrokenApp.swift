import Apps
import Changes

/// The timer with a rule that throws the local change away: what `Breakage.takesRemote` installs.
struct BrokenApp: App {
  private let timer = TimerApp()

  var name: String { timer.name }
  var zone: Name { timer.zone }

  func resolver(for type: Name) -> (any Resolver)? {
    timer.resolver(for: type) == nil ? nil : TakesRemote()
  }

  var timedTypes: [Name] { timer.timedTypes }

  func dueEdit(for record: Record) -> DueEdit? { timer.dueEdit(for: record) }

  func restamped(
    _ fields: JSONValue, of type: Name, base: JSONValue?, from: Int64, to: Int64
  ) -> JSONValue {
    timer.restamped(fields, of: type, base: base, from: from, to: to)
  }

  private struct TakesRemote: Resolver {
    func resolve(_ conflict: Conflict) -> Resolution {
      .merged(fields: conflict.server.fields, copies: [])
    }
  }
}
