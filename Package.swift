// swift-tools-version: 6.3
import PackageDescription

// A module's folder has a plain name and its target the prefix `Lockstep`, since SwiftPM refuses
// two packages with a target of one name. The lists of dependencies are the layers: a module
// imports what stands above it. docs/architecture.md explains them.

let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableExperimentalFeature("Lifetimes"),
  .treatAllWarnings(as: .error),
]

/// C libraries, the library for apps, and modules of the tests: their targets have no prefix.
let unprefixed: Set<String> = [
  "CDBus", "CLinux", "CNghttp2", "COpenSSL", "CPostgres", "CSQLite", "CZlib", "Lockstep",
  "AppLaws", "PushLaws", "Simulator", "Stages", "StorageContract", "TemporaryFolders", "WireLaws",
]

/// Targets that only Linux has; other systems have their own in their place.
let linuxOnly: Set<String> = ["CLinux", "COpenSSL", "EventLoop"]

func dependencies(_ names: [String]) -> [Target.Dependency] {
  names.map { name in
    .target(
      name: unprefixed.contains(name) ? name : "Lockstep" + name,
      condition: linuxOnly.contains(name) ? .when(platforms: [.linux]) : nil)
  }
}

func module(_ folder: String, _ uses: [String] = []) -> Target {
  .target(
    name: "Lockstep" + folder, dependencies: dependencies(uses), path: "Sources/" + folder,
    swiftSettings: strict)
}

/// A module that only tests import.
func testModule(_ folder: String, _ uses: [String] = []) -> Target {
  .target(
    name: folder, dependencies: dependencies(uses), path: "Tests/" + folder, swiftSettings: strict)
}

func tests(
  _ subject: String, _ uses: [String], exclude: [String] = []
) -> Target {
  .testTarget(
    name: subject + "Tests", dependencies: dependencies(uses), exclude: exclude,
    swiftSettings: strict)
}

func library(_ name: String, pkgConfig: String, package: String) -> Target {
  // Apple's SDKs have their own SQLite and zlib, which pkg-config does not know.
  #if os(Linux)
    let pkgConfig: String? = pkgConfig
  #else
    let pkgConfig: String? = nil
  #endif
  return .systemLibrary(
    name: name, path: "Sources/SystemLibraries/\(name)", pkgConfig: pkgConfig,
    providers: [.apt([package])])
}

let package = Package(
  name: "lockstep",
  platforms: [.macOS(.v15), .iOS(.v18)],
  products: [
    .library(name: "Lockstep", targets: ["Lockstep"]),
    .library(name: "LockstepTesting", targets: ["LockstepTesting"]),
    .executable(name: "lockstep", targets: ["LockstepCommand"]),
  ],
  targets: [
    // Values and rules, without I/O.
    module("JSON"),
    // Languages of texts for people.
    module("Language"),
    module("Model", ["JSON"]),
    module("Crypto", ["COpenSSL"]),
    module("Sealing", ["JSON", "Language", "Model", "Crypto"]),
    module("Wire", ["JSON", "Model", "Crypto", "CZlib"]),
    module("Runtime", ["Model"]),
    module("WebPush", ["JSON", "Model", "Crypto", "Wire", "Runtime"]),
    module("ACME", ["JSON", "Model", "Crypto", "Wire", "Runtime", "WebPush"]),
    module("Storage", ["JSON", "Language", "Model", "Crypto"]),
    module(
      "Client",
      ["JSON", "Language", "Model", "Crypto", "Sealing", "Wire", "Runtime", "Storage"]),
    module("Apps", ["JSON", "Language", "Model", "Crypto", "Sealing", "Terminal"]),
    module(
      "Relay",
      ["JSON", "Model", "Crypto", "Wire", "Runtime", "Storage", "WebPush"]),
    // Web Push to APNs.
    module(
      "Gateway", ["JSON", "Model", "Crypto", "Wire", "Runtime", "WebPush", "CNghttp2"]),
    // I/O.
    module(
      "EventLoop", ["Model", "Runtime", "CLinux", "COpenSSL"]),
    module("StorageFiles", ["Model", "Crypto", "Storage", "CLinux"]),
    module("StorageSQLite", ["JSON", "Model", "Storage", "StorageFiles", "CSQLite"]),
    module("StoragePostgres", ["Model", "Crypto", "Storage", "CPostgres"]),
    // The bus between relays on NATS.
    module("NATS", ["JSON", "Model", "Storage", "EventLoop"]),
    // The driver for Apple's systems; on Linux only the tests use it.
    module("DispatchDriver", ["Model", "Crypto", "Runtime"]),
    // The library for apps: a device, its home folder and its socket.
    .target(
      name: "Lockstep",
      dependencies: dependencies([
        "JSON", "Language", "Model", "Crypto", "Sealing", "Wire", "Runtime", "WebPush", "Storage",
        "Client", "EventLoop", "StorageSQLite", "StorageFiles",
      ]) + [
        .target(
          name: "LockstepDispatchDriver", condition: .when(platforms: [.macOS, .iOS]))
      ],
      path: "Sources/Lockstep", swiftSettings: strict),
    // The command line and the terminal.
    module("Terminal", ["JSON", "Language", "Model"]),
    module(
      "CommandLine",
      [
        "JSON", "Language", "Model", "Wire", "Runtime", "Client", "Terminal", "EventLoop",
        "Lockstep", "CLinux",
      ]),
    // A device as a process of the program, the relay's process, and the instruments.
    module(
      "Home",
      [
        "JSON", "Language", "Model", "Crypto", "Sealing", "Wire", "Runtime", "WebPush", "Storage",
        "Client", "Terminal", "Apps", "EventLoop", "StorageSQLite", "StorageFiles", "Lockstep",
        "CommandLine", "CLinux", "CDBus",
      ]),
    module(
      "RelayService",
      [
        "JSON", "Model", "Crypto", "Wire", "Runtime", "Storage", "Client", "Terminal", "Apps",
        "WebPush", "ACME", "Relay", "EventLoop", "StorageSQLite", "StoragePostgres", "NATS",
        "StorageFiles", "Lockstep", "CommandLine", "WebAssets", "CLinux",
      ]),
    module(
      "Simulation",
      ["JSON", "Model", "Crypto", "Wire", "Runtime", "Storage", "Client", "Apps", "Relay"]),
    // The library for the tests of apps.
    .target(
      name: "LockstepTesting",
      dependencies: ["Lockstep"]
        + dependencies(["JSON", "Model", "Runtime", "Storage", "Client", "Relay", "Simulation"]),
      path: "Sources/LockstepTesting", swiftSettings: strict),
    module(
      "Bench",
      [
        "JSON", "Model", "Crypto", "Wire", "WebPush", "Runtime", "Storage", "Client", "Terminal",
        "Apps", "Relay", "EventLoop", "StorageSQLite", "Lockstep", "CommandLine", "Home",
        "RelayService", "Simulation", "CSQLite",
      ]),
    module(
      "Doctor",
      [
        "JSON", "Model", "Sealing", "Wire", "Runtime", "Storage", "Client", "Terminal", "Apps",
        "Relay", "EventLoop", "StorageSQLite", "StoragePostgres", "Lockstep", "CommandLine", "Home",
        "RelayService",
      ]),
    module(
      "Dashboard",
      [
        "JSON", "Model", "Wire", "Client", "Terminal", "Apps", "EventLoop", "Lockstep",
        "CommandLine",
      ]),
    // The web client's files, embedded in the program.
    .target(
      name: "LockstepWebAssets", path: "Sources/WebAssets", swiftSettings: strict,
      plugins: ["EmbedAssets"]),
    .plugin(
      name: "EmbedAssets", capability: .buildTool(), dependencies: ["embed-assets"],
      path: "Sources/EmbedAssets/Plugin"),
    .executableTarget(
      name: "embed-assets", dependencies: dependencies(["ModuleBundler", "CZlib"]),
      path: "Sources/EmbedAssets/Generator", swiftSettings: strict),
    .target(
      name: "LockstepModuleBundler", path: "Sources/EmbedAssets/Bundler", swiftSettings: strict),
    // The program.
    .executableTarget(
      name: "LockstepCommand",
      dependencies: dependencies([
        "JSON", "Language", "Model", "Crypto", "Sealing", "Wire", "Runtime", "WebPush", "Storage",
        "Client", "Terminal", "Apps", "Gateway", "EventLoop", "StorageSQLite", "StorageFiles",
        "Lockstep", "CommandLine", "Home", "Relay", "RelayService", "Bench", "Doctor", "Dashboard",
      ]),
      path: "Sources/Command", swiftSettings: strict),
    // A WebSocket echo for conformance suites; not part of the release.
    .executableTarget(
      name: "wire-echo", dependencies: dependencies(["Model", "Wire", "Runtime", "EventLoop"]),
      swiftSettings: strict),
    // C libraries.
    .target(name: "CDBus", path: "Sources/SystemLibraries/CDBus"),
    .target(name: "CLinux", path: "Sources/SystemLibraries/CLinux"),
    library("CNghttp2", pkgConfig: "libnghttp2", package: "libnghttp2-dev"),
    library("COpenSSL", pkgConfig: "openssl", package: "libssl-dev"),
    .target(name: "CPostgres", path: "Sources/SystemLibraries/CPostgres"),
    library("CSQLite", pkgConfig: "sqlite3", package: "libsqlite3-dev"),
    library("CZlib", pkgConfig: "zlib", package: "zlib1g-dev"),
    // Unit tests, and what they share.
    tests("JSON", ["JSON", "Model"]),
    tests("Language", ["Language"]),
    tests("Model", ["JSON", "Model"], exclude: ["Vectors"]),
    tests("Crypto", ["Model", "Crypto", "COpenSSL"]),
    tests("Sealing", ["JSON", "Model", "Crypto", "Sealing"], exclude: ["Vectors"]),
    tests("Wire", ["JSON", "Model", "Wire", "WireLaws", "CZlib"]),
    tests("WebPush", ["Model", "Crypto", "Runtime", "WebPush", "PushLaws"]),
    tests("ACME", ["JSON", "Model", "Crypto", "Runtime", "WebPush", "ACME"]),
    tests("Gateway", ["JSON", "Model", "Crypto", "Wire", "Runtime", "WebPush", "Gateway"]),
    tests("Runtime", ["Model", "Runtime"]),
    tests("Storage", ["JSON", "Model", "Storage", "StorageContract"]),
    tests(
      "Client",
      ["JSON", "Language", "Model", "Crypto", "Sealing", "Wire", "Runtime", "Storage", "Client"]),
    // Files that are read beside the tests: embedded in code, they would take a minute to compile.
    tests(
      "Apps", ["JSON", "Language", "Model", "Crypto", "Sealing", "Apps", "AppLaws"],
      exclude: ["Vectors"]),
    tests(
      "Relay",
      ["JSON", "Model", "Crypto", "Wire", "WebPush", "Runtime", "Storage", "Relay"]),
    tests(
      "EventLoop",
      ["Model", "Wire", "WebPush", "Runtime", "EventLoop", "TemporaryFolders", "CLinux"]),
    tests(
      "StorageSQLite",
      ["Model", "Storage", "StorageSQLite", "StorageContract", "TemporaryFolders", "CSQLite"],
      exclude: ["Fixtures"]),
    tests(
      "StoragePostgres",
      [
        "Model", "Crypto", "Storage", "StorageSQLite", "StoragePostgres", "StorageContract",
        "TemporaryFolders",
      ]),
    tests("NATS", ["Model", "Storage", "EventLoop", "NATS"]),
    tests(
      "StorageFiles",
      ["Model", "Crypto", "Storage", "StorageFiles", "StorageContract", "TemporaryFolders"]),
    tests("DispatchDriver", ["Model", "Runtime", "EventLoop", "DispatchDriver"]),
    tests("Terminal", ["JSON", "Language", "Terminal", "Apps"]),
    tests(
      "CommandLine",
      [
        "JSON", "Language", "Model", "Wire", "Client", "Terminal", "Apps", "Relay", "EventLoop",
        "CommandLine", "Home", "RelayService", "Command", "Stages", "TemporaryFolders", "CLinux",
      ]),
    tests(
      "Home",
      [
        "JSON", "Language", "Model", "Crypto", "Sealing", "Wire", "Runtime", "Storage", "Client",
        "Apps", "EventLoop", "StorageSQLite", "StorageFiles", "Lockstep", "CommandLine", "Home",
        "Stages", "TemporaryFolders",
      ]),
    tests(
      "RelayService",
      [
        "JSON", "Model", "Runtime", "Storage", "Relay", "EventLoop", "StorageSQLite",
        "StoragePostgres", "StorageFiles", "CommandLine", "RelayService", "Stages",
        "TemporaryFolders",
      ]),
    tests(
      "Bench",
      [
        "JSON", "Model", "Wire", "Runtime", "Storage", "Client", "Terminal", "EventLoop",
        "Simulation", "Bench", "Stages",
      ]),
    tests(
      "Doctor",
      [
        "JSON", "Model", "Sealing", "Wire", "Storage", "Client", "Relay", "EventLoop",
        "StorageSQLite", "Lockstep", "CommandLine", "Home", "RelayService", "Simulation", "Doctor",
        "Stages",
        "TemporaryFolders",
      ]),
    tests(
      "Dashboard", ["JSON", "Model", "Client", "Terminal", "Apps", "CommandLine", "Dashboard"]),
    tests("WebAssets", ["Wire", "WebAssets", "ModuleBundler"]),
    tests(
      "Command",
      [
        "JSON", "Language", "Model", "Wire", "Apps", "Lockstep", "CommandLine", "Home", "Command",
      ]),
    .testTarget(
      name: "LockstepTests",
      dependencies: ["Lockstep"]
        + dependencies([
          "JSON", "Model", "Crypto", "Sealing", "Wire", "Runtime", "WebPush", "Storage", "Client",
          "Apps", "Gateway", "EventLoop", "StorageSQLite", "StorageFiles", "CommandLine", "Home",
          "Stages", "TemporaryFolders",
        ]),
      swiftSettings: strict),
    .testTarget(
      name: "LockstepTestingTests", dependencies: ["Lockstep", "LockstepTesting"],
      swiftSettings: strict),
    testModule("TemporaryFolders"),
    testModule(
      "Stages",
      [
        "JSON", "Model", "Crypto", "Wire", "Runtime", "WebPush", "Storage", "Client", "Apps",
        "Relay", "EventLoop", "StorageSQLite", "StorageFiles", "Lockstep", "CommandLine",
        "RelayService", "Simulation", "Bench", "TemporaryFolders",
      ]),
    testModule("StorageContract", ["JSON", "Model", "Crypto", "Storage"]),
    testModule("WireLaws", ["JSON", "Model", "Wire"]),
    testModule("AppLaws", ["JSON", "Model", "Apps", "WireLaws"]),
    testModule("PushLaws", ["Model", "Crypto", "Runtime", "WebPush", "WireLaws"]),
    // Web Push for other implementations; scripts/push-check compares them.
    .executableTarget(
      name: "push-echo", dependencies: dependencies(["Model", "Crypto", "WebPush"]),
      path: "Tests/PushEcho", swiftSettings: strict),
    // Sealed records for other implementations; scripts/sealing-check compares them.
    .executableTarget(
      name: "seal-echo", dependencies: dependencies(["JSON", "Model", "Crypto", "Sealing"]),
      path: "Tests/SealEcho", swiftSettings: strict),
    // Simulated worlds: relay, devices, people and faults in virtual time.
    testModule(
      "Simulator",
      [
        "JSON", "Model", "Crypto", "Sealing", "Wire", "WebPush", "Runtime", "Storage", "Client",
        "Apps", "Relay", "Simulation",
      ]),
    .executableTarget(
      name: "simulate",
      dependencies: dependencies([
        "JSON", "Model", "Storage", "EventLoop", "Simulator", "AppLaws", "WireLaws",
      ]),
      path: "Tests/Simulate", swiftSettings: strict),
    tests(
      "Simulation",
      [
        "JSON", "Model", "Wire", "Runtime", "Storage", "Client", "Apps", "Simulation", "Simulator",
        "Stages",
      ]),
    // The program as a process, and the source tree itself.
    tests("EndToEnd", [], exclude: ["Stories"]),
    tests("Tidy", ["Language"]),
  ]
)

// The targets of scripts/fuzz, which links each with libFuzzer.
if Context.environment["LOCKSTEP_FUZZING"] != nil {
  // No program is built with a fuzzer in it, nor what only a program needs.
  let programs: Set<String> = [
    "LockstepCommand", "CommandTests", "LockstepWebAssets", "WebAssetsTests", "EmbedAssets",
    "embed-assets", "LockstepModuleBundler",
  ]
  var removed = programs
  // Each round removes what depends on the targets of the round before.
  while package.targets.contains(where: { removed.contains($0.name) }) {
    package.targets.removeAll { removed.contains($0.name) }
    removed = Set(
      package.targets.filter { target in
        target.dependencies.contains { dependency in
          guard case .targetItem(let name, _) = dependency else { return false }
          return !package.targets.contains { $0.name == name }
        }
      }.map(\.name))
  }
  package.products.removeAll { $0.name == "lockstep" }
  let laws: [(subject: String, uses: [String])] = [
    ("HTTPRequest", ["WireLaws"]), ("WebSocket", ["WireLaws"]), ("JSON", ["WireLaws"]),
    ("Message", ["WireLaws"]), ("HTTPResponse", ["WireLaws"]),
    ("Conflicts", ["AppLaws", "WireLaws"]), ("Screens", ["AppLaws", "WireLaws"]),
    ("Push", ["PushLaws", "WireLaws"]),
  ]
  for (subject, uses) in laws {
    package.targets.append(
      .target(
        name: "Fuzz" + subject, dependencies: dependencies(uses), path: "Tests/Fuzzing",
        exclude: ["Corpus", "Dictionaries"], sources: ["Fuzz\(subject).swift"],
        swiftSettings: strict))
    package.products.append(
      .library(name: "Fuzz" + subject, type: .static, targets: ["Fuzz" + subject]))
  }
}
