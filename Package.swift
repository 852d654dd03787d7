// swift-tools-version: 6.2
import PackageDescription

// A module's folder has a plain name and its target the prefix `Lockstep`, since SwiftPM refuses two
// packages with a target of one name. The lists of dependencies are the layers: a module imports
// what stands above it. docs/architecture.md explains them.

let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableExperimentalFeature("Lifetimes"),
  .treatAllWarnings(as: .error),
]

/// C libraries, and modules of the tests: their targets have no prefix.
let unprefixed: Set<String> = [
  "CLinux", "COpenSSL", "CPostgres", "CSQLite", "CZlib",
  "AppLaws", "Simulator", "StorageContract", "TemporaryFolders", "WireLaws",
]

func dependencies(_ names: [String]) -> [Target.Dependency] {
  names.map { .target(name: unprefixed.contains($0) ? $0 : "Lockstep" + $0) }
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
  _ subject: String, _ uses: [String], exclude: [String] = [], resources: [Resource] = []
) -> Target {
  .testTarget(
    name: subject + "Tests", dependencies: dependencies(uses), exclude: exclude,
    resources: resources, swiftSettings: strict)
}

func library(_ name: String, pkgConfig: String, package: String) -> Target {
  .systemLibrary(
    name: name, path: "Sources/SystemLibraries/\(name)", pkgConfig: pkgConfig,
    providers: [.apt([package])])
}

let package = Package(
  name: "lockstep",
  products: [.executable(name: "lockstep", targets: ["LockstepCommand"])],
  targets: [
    // Values and rules, without I/O.
    module("Model"),
    module("Crypto", ["COpenSSL"]),
    module("Wire", ["Model", "Crypto", "CZlib"]),
    module("Storage", ["Model", "Crypto"]),
    module("Client", ["Model", "Crypto", "Wire", "Storage"]),
    module("Apps", ["Model", "Crypto"]),
    module("Relay", ["Model", "Crypto", "Wire", "Storage"]),
    // I/O.
    module("EventLoop", ["Model", "Wire", "CLinux", "COpenSSL"]),
    module("StorageSQLite", ["Model", "Crypto", "Storage", "CSQLite"]),
    module("StoragePostgres", ["Model", "Crypto", "Storage", "CPostgres"]),
    module("StorageFiles", ["Model", "Crypto", "Storage"]),
    // Instruments.
    module("Simulation", ["Model", "Client", "Crypto", "Wire", "Relay", "Storage"]),
    module("Tools", ["Apps", "Model", "Client", "Wire", "Simulation", "Storage"]),
    // The web client's files, embedded in the program.
    .target(
      name: "LockstepWebAssets", path: "Sources/WebAssets", swiftSettings: strict,
      plugins: ["EmbedAssets"]),
    .plugin(
      name: "EmbedAssets", capability: .buildTool(), dependencies: ["embed-assets"],
      path: "Sources/EmbedAssets/Plugin"),
    .executableTarget(
      name: "embed-assets", path: "Sources/EmbedAssets/Generator", swiftSettings: strict),
    // The program.
    .executableTarget(
      name: "LockstepCommand",
      dependencies: dependencies([
        "Apps", "Client", "Crypto", "EventLoop", "Model", "Relay", "Storage", "StorageFiles",
        "StoragePostgres", "StorageSQLite", "Tools", "WebAssets", "Wire", "CLinux",
      ]),
      path: "Sources/lockstep", swiftSettings: strict),
    // A WebSocket echo for conformance suites; not part of the release.
    .executableTarget(
      name: "wire-echo", dependencies: dependencies(["EventLoop", "Model", "Wire"]),
      swiftSettings: strict),
    // C libraries.
    .target(name: "CLinux", path: "Sources/SystemLibraries/CLinux"),
    library("COpenSSL", pkgConfig: "openssl", package: "libssl-dev"),
    .target(name: "CPostgres", path: "Sources/SystemLibraries/CPostgres"),
    library("CSQLite", pkgConfig: "sqlite3", package: "libsqlite3-dev"),
    library("CZlib", pkgConfig: "zlib", package: "zlib1g-dev"),
    // Unit tests, and what they share.
    tests("Model", ["Model"]),
    tests("Crypto", ["Crypto"]),
    tests("Wire", ["Wire", "Model", "Crypto", "CZlib", "WireLaws"]),
    tests("Storage", ["Storage", "StorageContract", "Model"]),
    tests("Client", ["Client", "Model", "Wire", "Storage", "Crypto"]),
    tests(
      "Apps", ["Apps", "AppLaws", "Model", "Crypto"], resources: [.embedInCode("Vectors")]),
    tests("Relay", ["Relay", "Wire", "Model", "Storage", "Crypto"]),
    tests("EventLoop", ["EventLoop", "Wire", "Model", "CLinux", "TemporaryFolders"]),
    tests(
      "StorageSQLite",
      ["StorageSQLite", "Storage", "StorageContract", "TemporaryFolders", "Model", "CSQLite"],
      resources: [.embedInCode("Fixtures")]),
    tests(
      "StoragePostgres",
      [
        "StoragePostgres", "StorageSQLite", "Storage", "StorageContract", "TemporaryFolders",
        "Model", "Crypto", "CSQLite",
      ]),
    tests(
      "StorageFiles",
      ["StorageFiles", "Storage", "StorageContract", "TemporaryFolders", "Model", "Crypto"]),
    tests(
      "Tools",
      ["Tools", "Apps", "Model", "Client", "Crypto", "Wire", "Relay", "Simulation", "Storage"]),
    tests("WebAssets", ["WebAssets"]),
    tests(
      "lockstep",
      [
        "Command", "Apps", "Client", "Crypto", "EventLoop", "Model", "Relay", "Storage",
        "StorageFiles", "StoragePostgres", "StorageSQLite", "TemporaryFolders", "Tools", "Wire",
        "CLinux",
      ]),
    testModule("TemporaryFolders"),
    testModule("StorageContract", ["Storage", "Model", "Crypto"]),
    testModule("WireLaws", ["Wire", "Model"]),
    testModule("AppLaws", ["Apps", "Model", "WireLaws"]),
    // Simulated worlds: relay, devices, people and faults in virtual time.
    testModule(
      "Simulator",
      ["Apps", "Model", "Client", "Crypto", "Wire", "Relay", "Simulation", "Storage", "Tools"]),
    .executableTarget(
      name: "simulate",
      dependencies: dependencies(["Model", "Simulation", "Simulator", "Storage"]),
      path: "Tests/Simulate", swiftSettings: strict),
    tests("Simulation", ["Simulation", "Simulator", "Apps", "Model", "Wire", "Storage", "Tools"]),
    // The program as a process, and the source tree itself.
    tests("EndToEnd", [], exclude: ["Stories"]),
    tests("Tidy", []),
  ]
)

// The targets of scripts/fuzz, which links each with libFuzzer.
if Context.environment["LOCKSTEP_FUZZING"] != nil {
  // No program is built with a fuzzer in it, nor what only a program needs.
  let programs: Set<String> = [
    "LockstepCommand", "lockstepTests", "LockstepWebAssets", "WebAssetsTests", "EmbedAssets",
    "embed-assets",
  ]
  package.targets.removeAll { programs.contains($0.name) }
  package.products.removeAll { $0.name == "lockstep" }
  let laws: [(subject: String, uses: [String])] = [
    ("HTTPRequest", ["WireLaws"]), ("WebSocket", ["WireLaws"]), ("JSON", ["WireLaws"]),
    ("Message", ["WireLaws"]), ("HTTPResponse", ["WireLaws"]),
    ("Conflicts", ["AppLaws", "WireLaws"]), ("Screens", ["AppLaws", "WireLaws"]),
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
