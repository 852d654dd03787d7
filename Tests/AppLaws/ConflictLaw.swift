import LockstepApps
import LockstepJSON
import LockstepModel
import WireLaws

/// Laws of the apps' rules and screens for any content of the records, which other programs write
/// as well. Fuzzing searches for bytes that break one.
package enum AppLaw {
  package static let types = [
    TimerApp.stateType, TimerApp.settingsType, VaultApp.fileType, ClipboardApp.itemType,
    MemosApp.memoType, HabitsApp.habitType, HabitsApp.checkInType, HabitsApp.listType,
  ]

  /// A conflict has the same result each time, with its sides exchanged, and after it is written
  /// and read again. The result resolves to itself, and its size is bounded by that of the
  /// conflict.
  ///
  /// `bytes`: a case in the format of `lockstep resolve`, or bytes from which a case is drawn.
  package static func conflicts(_ bytes: [UInt8]) throws(BrokenLaw) {
    guard let (type, conflict) = try written(bytes) ?? drawn(bytes),
      let resolver = AppCatalog.all.lazy.compactMap({ $0.resolver(for: type) }).first
    else { return }
    let answer = resolver.resolve(conflict)
    let form = form(of: answer)
    try expect(self.form(of: resolver.resolve(conflict)) == form, "twice, it ends otherwise")
    try expect(
      self.form(of: resolver.resolve(conflict.exchanged)) == form, "exchanged, it ends otherwise")
    try expect(
      self.form(of: resolver.resolve(conflict.reread)) == form, "written anew, it ends otherwise")
    let versions = [conflict.base, conflict.local, conflict.server].compactMap { $0 }
    let size = versions.reduce(0) { sum, version in
      // The stamp of each member may name the device.
      let members = 1 + (version.fields?.members?.count ?? 0)
      return sum + (version.fields?.serialized().count ?? 0) + version.name.utf8.count
        + members * version.device.utf8.count
    }
    try expect(
      form.count <= 4 * size + 4_096,
      "\(form.count) bytes came of \(size) of \(type)")
    guard case .merged(let fields, _) = answer, !conflict.local.isDeleted,
      !conflict.server.isDeleted
    else { return }
    var outcome = conflict.local
    outcome.fields = fields
    outcome.modifiedAt = max(conflict.local.modifiedAt, conflict.server.modifiedAt)
    let settled = self.form(of: .merged(fields: fields, copies: []))
    for base in [conflict.base, conflict.server, nil] {
      let again = resolver.resolve(Conflict(base: base, local: outcome, server: outcome))
      try expect(self.form(of: again) == settled, "what came of it does not stay")
    }
  }

  static func expect(_ holds: Bool, _ law: @autoclosure () -> String) throws(BrokenLaw) {
    if !holds { throw BrokenLaw(law()) }
  }

  /// Returns nil if the bytes are not a JSON object in this format.
  private static func written(_ bytes: [UInt8]) throws(BrokenLaw) -> (Name, Conflict)? {
    guard let value = JSONValue(ifJSON: bytes), value.members != nil else { return nil }
    guard let type = value["type"]?.string.flatMap(Name.init(_:)),
      let local = version(value["local"]), let server = version(value["server"])
    else { return nil }
    return (type, Conflict(base: version(value["base"]), local: local, server: server))
  }

  private static func version(_ value: JSONValue?) -> Version? {
    guard let value, value.members != nil else { return nil }
    let fields = value["fields"].flatMap { $0.members == nil ? nil : $0 }
    return Version(
      name: value["name"]?.string ?? "", fields: fields,
      modifiedAt: value["modifiedAt"]?.int64 ?? 0,
      device: value["device"]?.string ?? "")
  }

  private static func drawn(_ bytes: [UInt8]) -> (Name, Conflict)? {
    var hostile = HostileFields(draw: ByteDraw(bytes))
    let type = hostile.draw.one(of: types)
    let name = hostile.text()
    func version() -> Version {
      Version(
        name: name, fields: hostile.draw.below(8) == 1 ? nil : hostile.fields(of: type),
        modifiedAt: hostile.draw.instant(), device: hostile.text())
    }
    let base = hostile.draw.below(4) == 0 ? nil : version()
    return (type, Conflict(base: base, local: version(), server: version()))
  }

  private static func form(of resolution: Resolution) -> [UInt8] {
    switch resolution {
    case .ask: Array("ask".utf8)
    case .merged(let fields, let copies):
      JSONValue.array(
        [fields ?? .null] + copies.flatMap { [.string($0.name), $0.fields] }
      ).serialized()
    }
  }
}

extension Conflict {
  fileprivate var exchanged: Conflict { Conflict(base: base, local: server, server: local) }

  fileprivate var reread: Conflict {
    func reread(_ version: Version) -> Version {
      var version = version
      version.fields = version.fields.flatMap { JSONValue(ifJSON: $0.serialized()) }
      return version
    }
    return Conflict(base: base.map(reread), local: reread(local), server: reread(server))
  }
}
