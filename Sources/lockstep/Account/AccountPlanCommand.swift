import LockstepApps
import LockstepModel
import LockstepStorage

/// `lockstep account plan`: shows or changes the plan of an account.
enum AccountPlanCommand {
  static let zones = CommandOption.optional(
    "zones", ValueKind.zones,
    "The zones into which its devices may save; an app's name stands for its zone.")
  static let all = CommandOption.flag("all", "All zones, also those of apps to come.")
  static let free = CommandOption.flag(
    "free", "The zones of all apps here but Habits, which is what a free plan has.")
  static let none = CommandOption.flag(
    "none", "No zone: its devices are turned away until the plan has one.")

  static let quota = CommandOption.optional(
    "quota", ValueKind.bytes(0...1 << 50),
    "How many bytes of records the account may have, in place of the relay's --quota.")
  static let records = CommandOption.optional(
    "records", ValueKind.integer(0...1 << 40),
    "How many records the account may have, deleted ones that are remembered among them.")
  static let usual = CommandOption.flag(
    "usual-limits", "The relay's own limits again, in place of --quota and --records.")

  static let command = Command(
    name: "plan",
    summary: "Shows what an account may save, and into which zones, or changes that.",
    discussion: """
      A new plan holds at once. What the account holds already it may always read; a plan without \
      any zone turns all its devices away. Nothing that a device has not sent yet is lost: it goes \
      out when the plan includes it again.
      """,
    options: [
      RelayCommand.store.entry, zones.entry, all.entry, free.entry, none.entry, quota.entry,
      records.entry, usual.entry, AccountCommand.json.entry,
    ],
    operands: AccountCommand.account
  ) { arguments throws(CommandFailure) in
    let zones = try plan(arguments)
    let office = try AccountCommand.office(arguments)
    var account = try office.account(named: arguments.operands[0])
    if let wanted = plan(account.plan, zones, arguments) {
      try office.setPlan(wanted, of: account.id)
      account.plan = wanted
    }
    if arguments[AccountCommand.json] {
      let id = JSONValue.string(account.id.text)
      return try TerminalOutput.printed(account.plan.json.setting("accountID", to: id).text)
    }
    return try TerminalOutput.printed(
      "\(AccountCommand.name(of: account)) may save into \(account.plan.text)")
  }

  /// Returns the changed plan; parts without an option stay as they are. Returns nil if the command
  /// only shows the plan.
  private static func plan(_ old: Plan, _ zones: Plan?, _ arguments: Arguments) -> Plan? {
    var plan = old
    if let zones { plan.zones = zones.zones }
    if arguments[usual] { (plan.bytes, plan.records) = (nil, nil) }
    if let bytes = arguments[quota] { plan.bytes = bytes }
    if let count = arguments[records] { plan.records = Int64(count) }
    let isNamed =
      zones != nil || arguments[usual] || arguments[quota] != nil || arguments[records] != nil
    return isNamed ? plan : nil
  }

  /// Returns the plan with the given zones, or nil if no zones are given.
  private static func plan(_ arguments: Arguments) throws(CommandFailure) -> Plan? {
    let plans = [
      arguments[zones].map { Plan(zones: $0) },
      arguments[all] ? .everything : nil,
      arguments[free] ? freePlan : nil,
      arguments[none] ? Plan(zones: []) : nil,
    ].compactMap { $0 }
    guard plans.count <= 1 else {
      throw CommandFailure(
        "--zones, --all, --free and --none exclude one another", exitCode: .usage)
    }
    return plans.first
  }

  static var freePlan: Plan {
    Plan(zones: AppCatalog.all.map(\.zone).filter { $0 != HabitsApp.zone }.sorted())
  }
}

extension ValueKind where Value == [Name] {
  /// Zone names, sorted, without duplicates. An app's name, or its zone's name in another case,
  /// means that zone.
  static var zones: ValueKind {
    ValueKind("ZONE,…") { text throws(ValueFault) in
      var names: Set<Name> = []
      for part in text.split(separator: ",", omittingEmptySubsequences: false) {
        guard let name = Name(String(part)) else {
          throw ValueFault("\"\(text)\" is no list of zones, such as Timer,Memos")
        }
        let app = AppCatalog.all.first { app in
          [app.name, app.zone.text.lowercased()].contains(part.lowercased())
        }
        names.insert(app?.zone ?? name)
      }
      guard names.count <= Limits.planZones else {
        throw ValueFault("a plan names at most \(Limits.planZones) zones, not \(names.count)")
      }
      return names.sorted()
    }
  }
}
