import Lockstep
import LockstepApps
import LockstepCommandLine
import LockstepLanguage
import LockstepModel
import LockstepSealing

/// Merge rules that a home keeps for zones that no app of this program knows:
///
///     HOME/rules.json     {"tables": [table…]}, one table a zone
///
/// The home has a copy of the file that a person names, because every command that holds the home
/// must merge by the same rules. A table replaces the former one of its zone; the records and the
/// changes that wait stay as they are.
package struct HomeRules {
  private let folder: HomeFolder
  private var stored = RuleTables()

  /// Reads what the home keeps.
  package init(of folder: HomeFolder) throws(CommandFailure) {
    self.folder = folder
    let content = try CommandFailure.wrap { () throws(HomeFault) in
      try HomeFile.contents(
        of: folder.rules, atMost: RuleTables.countMax * Limits.rulesFileBytes)
    }
    guard let bytes = content else { return }
    do throws(RuleFault) {
      stored = try RuleTables(parsing: bytes)
    } catch {
      throw CommandFailure(
        localized(
          "{path}: {reason}; remove the file, and name the rules again with "
            + "lockstep agent run --rules", ["path": folder.rules, "reason": error.reason]))
    }
  }

  package var apps: [any App] { stored.apps }

  /// Keeps a table. Throws if one of this program's apps has its zone.
  package mutating func store(_ table: RuleTable) throws(CommandFailure) {
    if let app = AppCatalog.all.first(where: { $0.zone == table.zone }) {
      throw CommandFailure(
        localized(
          "the zone {zone} has the rules of the app {app}; choose another zone",
          ["zone": "\(table.zone)", "app": app.name]))
    }
    guard table.zone != KeyRing.zone else {
      throw CommandFailure(
        localized(
          "the zone {zone} is for the account's keys alone; choose another zone",
          ["zone": "\(table.zone)"]))
    }
    let before = stored
    do throws(RuleFault) {
      try stored.put(table)
    } catch {
      throw CommandFailure(
        localized("{reason}; use another home for further zones", ["reason": error.reason]))
    }
    guard stored != before else { return }
    try CommandFailure.wrap { () throws(HomeFault) in
      try HomeFile.replace(folder.rules, by: stored.json.serialized())
    }
  }
}
