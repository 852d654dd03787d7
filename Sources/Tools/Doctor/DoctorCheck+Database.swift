import LockstepModel

/// Checks of a relay's database.
extension DoctorCheck {
  /// Reports a database that cannot be opened; `reason` is a complete sentence.
  public static func noDatabase(_ reason: String) -> DoctorCheck {
    DoctorCheck(
      .database, "store", .problem, reason,
      nextStep: "Try it with psql and the same URL, as the relay's user: the server must run, let "
        + "it in, and be no standby. A password comes from PGPASSWORD or ~/.pgpass.")
  }

  /// Checks the database. `accounts`: nil if no relay has created its tables yet.
  public static func database(
    _ name: String, server: String, accounts: Int?, isOlderCopy: Bool
  ) -> DoctorCheck {
    let seen = "\(name): PostgreSQL \(server)"
    guard let accounts else {
      return DoctorCheck(
        .database, "store", .warning, "\(seen), without tables of a relay",
        nextStep: "A relay makes them when it starts; if one has run here, see that the URL names "
          + "its database, user and schema.")
    }
    let figures = [JSONMember("accounts", .whole(Int64(accounts)))]
    let contents = "\(seen), \(accounts) account\(accounts == 1 ? "" : "s")"
    if isOlderCopy {
      return DoctorCheck(
        .database, "store", .warning, "\(contents); it is another copy than relays last saw",
        nextStep: "If a backup was put back, or a standby took over, all is well: the next relay "
          + "that asks it notices, and devices bring back what it lacks.", figures: figures)
    }
    return DoctorCheck(.database, "store", .ok, contents, figures: figures)
  }

  /// Checks the durability. `lossy`: settings that are off although they are needed to keep
  /// answered writes after a crash.
  public static func durability(lossy: [String]) -> DoctorCheck {
    guard let first = lossy.first else {
      return DoctorCheck(.database, "durability", .ok, "commits outlast a crash of its machine")
    }
    let all = lossy.joined(separator: " and ")
    return DoctorCheck(
      .database, "durability", .warning,
      "\(all) \(lossy.count == 1 ? "is" : "are") off: a crash of its machine loses or harms what "
        + "was saved",
      nextStep: "For anything but a trial set that to on (ALTER SYSTEM SET \(first) = on), and "
        + "have it read (SELECT pg_reload_conf()).",
      figures: [JSONMember("off", .array(lossy.map { .string($0) }))])
  }

  /// Checks the number of server sessions that are not reserved for administrators.
  public static func databaseConnections(free: Int, of all: Int) -> DoctorCheck {
    let isEnough = free >= DoctorThresholds.databaseConnections
    return DoctorCheck(
      .database, "connections", isEnough ? .ok : .warning, "\(free) of \(all) sessions are free",
      nextStep: isEnough
        ? nil
        : "Raise max_connections, or end what else is there: a relay takes "
          + "\(DoctorThresholds.databaseConnections), and has to get them anew after a restart.",
      figures: [
        JSONMember("free", .whole(Int64(free))), JSONMember("all", .whole(Int64(all))),
      ])
  }
}
