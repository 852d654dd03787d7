/// Who may import whom: design's table, which Package.swift may narrow but not widen.
enum ImportRule {
  struct Allowance {
    /// Targets of the package.
    var rooms: [String]
    /// Modules of the platform.
    var platform: [String] = []
  }

  static let table: [String: Allowance] = [
    "Changes": Allowance(rooms: []),
    "Digest": Allowance(rooms: ["COpenSSL"]),
    "Apps": Allowance(rooms: ["Changes", "Digest"], platform: ["FoundationEssentials"]),
    "Link": Allowance(rooms: ["Changes", "Digest", "CZlib"]),
    "Storage": Allowance(rooms: ["Changes", "Digest"]),
    "Devices": Allowance(rooms: ["Changes", "Digest", "Link", "Storage"]),
    "Relay": Allowance(rooms: ["Changes", "Digest", "Link", "Storage"]),
    "Loop": Allowance(
      rooms: ["Changes", "Link", "CLinux", "COpenSSL"], platform: ["Glibc", "Synchronization"]),
    "StorageSQLite": Allowance(
      rooms: ["Changes", "Digest", "Storage", "CSQLite"], platform: ["Glibc"]),
    "StoragePostgres": Allowance(
      rooms: ["Changes", "Digest", "Storage", "CPostgres"], platform: ["Glibc"]),
    "StorageFiles": Allowance(rooms: ["Changes", "Digest", "Storage"], platform: ["Glibc"]),
    "Simulation": Allowance(
      rooms: ["Changes", "Devices", "Digest", "Link", "Relay", "Storage"]),
    "Tools": Allowance(
      rooms: ["Apps", "Changes", "Devices", "Link", "Simulation", "Storage"]),
    "PageFiles": Allowance(rooms: []),
    "lockstep": Allowance(
      rooms: [
        "Apps", "Changes", "Devices", "Digest", "Link", "Loop", "PageFiles", "Relay", "Storage",
        "StorageFiles", "StoragePostgres", "StorageSQLite", "Tools", "CLinux",
      ], platform: ["Glibc", "FoundationEssentials", "Synchronization"]),
    "wire-echo": Allowance(rooms: ["Changes", "Link", "Loop"], platform: ["Glibc"]),
    "Simulator": Allowance(
      rooms: [
        "Apps", "Changes", "Devices", "Digest", "Link", "Relay", "Simulation", "Storage", "Tools",
      ]),
    "WireLaws": Allowance(rooms: ["Changes", "Link"]),
    "AppLaws": Allowance(rooms: ["Apps", "Changes", "WireLaws"]),
    "Fuzzing": Allowance(rooms: ["AppLaws", "WireLaws"]),
    "StorageContract": Allowance(rooms: ["Changes", "Digest", "Storage"], platform: ["Testing"]),
  ]

  static func faults(in file: SourceFile) -> [Fault] {
    guard let allowance = table[file.room] else {
      return [
        Fault(path: file.path, line: 1, reason: "no import rule names the folder \(file.room)")
      ]
    }
    let allowed = allowance.rooms + allowance.platform
    return file.imports.filter { !allowed.contains($0.module) }.map {
      Fault(
        path: file.path, line: $0.line,
        reason: "\(file.room) may import \(allowed.joined(separator: ", ")), not \($0.module): "
          + "every folder but lockstep can be read alone")
    }
  }

  /// Package.swift's dependencies must stay within the table, so that an import rule is changed in
  /// both places, knowingly.
  static func faults(inManifest manifest: SwiftText) -> [Fault] {
    dependencies(of: manifest).flatMap { target -> [Fault] in
      guard let allowance = table[target.name] else { return [] }
      return target.dependencies.filter { !allowance.rooms.contains($0) }.map {
        Fault(
          path: "Package.swift", line: target.line,
          reason: "\(target.name) depends on \($0), which the import rules do not allow")
      }
    }
  }

  struct Target {
    var name: String
    var line: Int
    var dependencies: [String]
  }

  /// Reads `room("X", ["Y"])` and `.target(name: "X", dependencies: ["Y"], …)`.
  static func dependencies(of manifest: SwiftText) -> [Target] {
    manifest.tokens.indices.compactMap { index in
      let token = manifest.tokens[index]
      guard token.kind == .word, ["room", "target", "executableTarget"].contains(token.text),
        manifest.has("(", at: index + 1)
      else { return nil }
      let end = manifest.closing(index + 1)
      let inside = (index + 2)..<end
      guard let name = inside.first(where: { manifest.tokens[$0].kind == .string }) else {
        return nil
      }
      let list = inside.first {
        manifest.has("[", at: $0)
          && (token.text == "room" || manifest.has("dependencies", at: $0 - 2))
      }
      let names = list.map { open in
        (open..<manifest.closing(open)).filter { manifest.tokens[$0].kind == .string }.map {
          manifest.tokens[$0].text
        }
      }
      return Target(
        name: manifest.tokens[name].text, line: token.line, dependencies: names ?? [])
    }
  }
}
