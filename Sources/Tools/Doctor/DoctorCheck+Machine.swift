import LockstepApps
import LockstepModel

/// Checks of this machine.
extension DoctorCheck {
  /// Checks the free space for a home or a store; `free`: nil if the system does not report it.
  public static func disk(_ area: Area, of folder: String, free: Int64?) -> DoctorCheck {
    guard let free else {
      return .skipped(
        area, "disk", "the system does not tell how much room \(folder) has",
        nextStep: "Look with df \(folder).")
    }
    let figures = [JSONMember("freeBytes", .whole(free))]
    let seen = "\(RowText.bytes(free)) are free in \(folder)"
    let verdict: Verdict =
      free < DoctorThresholds.diskProblemBytes
      ? .problem : free < DoctorThresholds.diskWarningBytes ? .warning : .ok
    return DoctorCheck(
      area, "disk", verdict, seen,
      nextStep: verdict == .ok
        ? nil : "Free some: without room nothing is saved, and sync stops until there is some.",
      figures: figures)
  }

  /// Reports that the devices of the trial account could not be revoked.
  public static func leftDevices(_ reason: String) -> DoctorCheck {
    DoctorCheck(
      .ladder, "account", .warning,
      "the devices of the trial, \"device 1\" and \"device 2\", could not be revoked: \(reason)",
      nextStep: "They do no harm; the relay's owner may remove their account (lockstep account "
        + "list).")
  }

  /// Checks the limit of open files. `needed`: open files of a relay with all its usual
  /// connections; nil if no relay is checked here.
  public static func openFiles(soft: Int, hard: Int, needed: Int?) -> DoctorCheck {
    var figures = [
      JSONMember("soft", .whole(Int64(soft))), JSONMember("hard", .whole(Int64(hard))),
    ]
    let seen = "a process may open \(soft) files, and raise that to \(hard)"
    guard let needed else {
      let isEnough = hard >= DoctorThresholds.openFiles
      return DoctorCheck(
        .machine, "open-files", isEnough ? .ok : .warning, seen,
        nextStep: isEnough ? nil : "Raise it (ulimit -n): a device opens some tens of files.",
        figures: figures)
    }
    figures.append(JSONMember("needed", .whole(Int64(needed))))
    let isEnough = hard >= needed
    return DoctorCheck(
      .machine, "open-files", isEnough ? .ok : .warning,
      "\(seen); a relay with all its usual connections opens \(needed)",
      nextStep: isEnough
        ? nil
        : "A relay takes fewer connections then; for more raise it (LimitNOFILE in the unit, or "
          + "ulimit -n).",
      figures: figures)
  }

  /// Checks a relay's store on this machine. `contents`: amount of data, as text; `faults`: as
  /// text.
  public static func relayStore(_ contents: String, faults: [String]) -> DoctorCheck {
    guard let first = faults.first else {
      return DoctorCheck(
        .machine, "store", .ok,
        "\(contents); nothing is wrong with its database, and all chunks are there")
    }
    let more = faults.count > 1 ? ", and \(faults.count - 1) more" : ""
    return DoctorCheck(
      .machine, "store", .problem, "\(first)\(more)",
      nextStep: "lockstep relay check tells all; restore a backup (lockstep relay restore), or see "
        + "docs/operations.md.",
      figures: [JSONMember("faults", .array(faults.map { .string($0) }))])
  }

  /// Reports a store that cannot be read.
  public static func noRelayStore(_ reason: String) -> DoctorCheck {
    DoctorCheck(
      .machine, "store", .problem, reason,
      nextStep: "Name the relay's own folder (--store), and run as its owner.")
  }
}
