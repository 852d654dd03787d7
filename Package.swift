// swift-tools-version: 6.2
import PackageDescription

// Targets stand in the order in which a change travels; README.md tells the road.
// The lists of dependencies are the import rules: what is not named here does not compile.

let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableExperimentalFeature("Lifetimes"),
  .treatAllWarnings(as: .error),
]

/// For virtual worlds, of which very many are played: debug builds alone look for overlapping
/// accesses at run time.
let virtual =
  strict + [.unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release))]

/// A module of `Sources`: the folder has the plain name, the target a prefix, since SwiftPM refuses two
/// packages with a target of one name.
func module(
  _ folder: String, _ dependencies: [Target.Dependency] = [], _ settings: [SwiftSetting] = strict
) -> Target {
  .target(
    name: "Lockstep" + folder, dependencies: dependencies, path: "Sources/" + folder,
    swiftSettings: settings)
}

func tests(
  _ name: String, _ dependencies: [Target.Dependency], exclude: [String] = [],
  resources: [Resource] = []
) -> Target {
  .testTarget(
    name: name, dependencies: dependencies, exclude: exclude, resources: resources,
    swiftSettings: strict)
}

func library(_ name: String, pkgConfig: String, package: String) -> Target {
  .systemLibrary(
    name: name, path: "Sources/SystemLibraries/\(name)", pkgConfig: pkgConfig,
    providers: [.apt([package])])
}

let package = Package(
  name: "lockstep",
  products: [.executable(name: "lockstep", targets: ["lockstep"])],
  targets: [
    // The shared words, and the rules of the apps.
    module("Model"),
    room("Apps", ["LockstepModel", "LockstepCrypto"]),
    // A device, the wire, the loop.
    module("Client", ["LockstepModel", "LockstepCrypto", "LockstepWire", "Storage"]),
    module("Wire", ["LockstepModel", "LockstepCrypto", "CZlib"]),
    module("EventLoop", ["LockstepModel", "LockstepWire", "CLinux", "COpenSSL"]),
    // The middle, and what survives a crash.
    room("Relay", ["LockstepModel", "LockstepCrypto", "LockstepWire", "Storage"]),
    room("Storage", ["LockstepModel", "LockstepCrypto"]),
    room("StorageSQLite", ["LockstepModel", "LockstepCrypto", "Storage", "CSQLite"]),
    room("StoragePostgres", ["LockstepModel", "LockstepCrypto", "Storage", "CPostgres"]),
    room("StorageFiles", ["LockstepModel", "LockstepCrypto", "Storage"]),
    module("Crypto", ["COpenSSL"]),
    // Instruments, and the command line that joins the parts.
    room(
      "Simulation",
      ["LockstepModel", "LockstepClient", "LockstepCrypto", "LockstepWire", "Relay", "Storage"],
      virtual),
    room(
      "Tools", ["Apps", "LockstepModel", "LockstepClient", "LockstepWire", "Simulation", "Storage"]),
    // What the relay serves to browsers: the files of Sources/Pages, embedded.
    .target(name: "PageFiles", swiftSettings: strict, plugins: ["EmbedAssets"]),
    .plugin(
      name: "EmbedAssets", capability: .buildTool(), dependencies: ["embed-assets"],
      path: "Sources/EmbedAssets/Plugin"),
    .executableTarget(
      name: "embed-assets", path: "Sources/EmbedAssets/Generator", swiftSettings: strict),
    .executableTarget(
      name: "lockstep",
      dependencies: [
        "Apps", "LockstepModel", "LockstepClient", "LockstepCrypto", "LockstepWire",
        "LockstepEventLoop",
        "PageFiles",
        "Relay",
        "Storage",
        "StorageFiles", "StoragePostgres", "StorageSQLite", "Tools", "CLinux",
      ],
      swiftSettings: strict),
    // A WebSocket echo for conformance suites; it does not ship.
    .executableTarget(
      name: "wire-echo", dependencies: ["LockstepModel", "LockstepWire", "LockstepEventLoop"],
      swiftSettings: strict),
    // C libraries.
    .target(name: "CLinux", path: "Sources/SystemLibraries/CLinux"),
    library("COpenSSL", pkgConfig: "openssl", package: "libssl-dev"),
    .target(name: "CPostgres", path: "Sources/SystemLibraries/CPostgres"),
    library("CSQLite", pkgConfig: "sqlite3", package: "libsqlite3-dev"),
    library("CZlib", pkgConfig: "zlib", package: "zlib1g-dev"),
    // Tests, with a simulator of the whole.
    tests("ModelTests", ["LockstepModel"]),
    tests(
      "AppsTests", ["Apps", "AppLaws", "LockstepModel", "LockstepCrypto"],
      resources: [.embedInCode("Vectors")]),
    tests(
      "ClientTests",
      ["LockstepClient", "LockstepModel", "LockstepWire", "Storage", "LockstepCrypto"]),
    tests("CryptoTests", ["LockstepCrypto"]),
    tests("WireTests", ["LockstepWire", "LockstepModel", "LockstepCrypto", "CZlib", "WireLaws"]),
    tests(
      "EventLoopTests",
      ["LockstepEventLoop", "LockstepWire", "LockstepModel", "CLinux", "TemporaryFolders"]),
    tests("PageFilesTests", ["PageFiles"]),
    tests("RelayTests", ["Relay", "LockstepWire", "LockstepModel", "Storage", "LockstepCrypto"]),
    tests("StorageTests", ["Storage", "StorageContract", "LockstepModel"]),
    tests(
      "StorageSQLiteTests",
      [
        "StorageSQLite", "Storage", "StorageContract", "TemporaryFolders", "LockstepModel",
        "CSQLite",
      ],
      resources: [.embedInCode("Fixtures")]),
    tests(
      "StoragePostgresTests",
      [
        "StoragePostgres", "StorageSQLite", "Storage", "StorageContract", "TemporaryFolders",
        "LockstepModel", "LockstepCrypto", "CSQLite",
      ]),
    tests(
      "StorageFilesTests",
      [
        "StorageFiles", "Storage", "StorageContract", "TemporaryFolders", "LockstepModel",
        "LockstepCrypto",
      ]),
    tests(
      "ToolsTests",
      [
        "Tools", "Apps", "LockstepModel", "LockstepClient", "LockstepCrypto", "LockstepWire",
        "Relay",
        "Simulation",
        "Storage",
      ]),
    tests(
      "lockstepTests",
      [
        "lockstep", "Apps", "LockstepModel", "LockstepClient", "LockstepCrypto", "LockstepWire",
        "LockstepEventLoop",
        "Relay",
        "Storage",
        "StorageFiles", "StoragePostgres", "StorageSQLite", "TemporaryFolders", "Tools", "CLinux",
      ]),
    .target(
      name: "TemporaryFolders", path: "Tests/TemporaryFolders", swiftSettings: strict),
    .target(
      name: "StorageContract", dependencies: ["Storage", "LockstepModel", "LockstepCrypto"],
      path: "Tests/StorageContract", swiftSettings: strict),
    .target(
      name: "WireLaws", dependencies: ["LockstepWire", "LockstepModel"], path: "Tests/WireLaws",
      swiftSettings: strict),
    .target(
      name: "AppLaws", dependencies: ["Apps", "LockstepModel", "WireLaws"], path: "Tests/AppLaws",
      swiftSettings: strict),
    .target(
      name: "Simulator",
      dependencies: [
        "Apps", "LockstepModel", "LockstepClient", "LockstepCrypto", "LockstepWire", "Relay",
        "Simulation",
        "Storage",
        "Tools",
      ],
      path: "Tests/Simulator", swiftSettings: virtual),
    // Many worlds, one after the other; it does not ship.
    .executableTarget(
      name: "simulate", dependencies: ["LockstepModel", "Simulation", "Simulator", "Storage"],
      path: "Tests/Simulate", swiftSettings: strict),
    tests(
      "SimulationTests",
      ["Simulation", "Simulator", "Apps", "LockstepModel", "LockstepWire", "Storage", "Tools"]),
    tests("EndToEndTests", [], exclude: ["Stories"]),
    tests("TidyTests", []),
  ]
)

// The targets of scripts/fuzz, which links each with libFuzzer; a usual build does not see them.
if Context.environment["LOCKSTEP_FUZZING"] != nil {
  // No program is built with a fuzzer in it, nor what a program embeds.
  let programs = [
    "lockstep", "lockstepTests", "PageFiles", "PageFilesTests", "EmbedAssets", "embed-assets",
  ]
  package.targets.removeAll { programs.contains($0.name) }
  package.products.removeAll { $0.name == "lockstep" }
  let laws: [(subject: String, dependencies: [Target.Dependency])] = [
    ("HTTPRequest", ["WireLaws"]), ("WebSocket", ["WireLaws"]), ("JSON", ["WireLaws"]),
    ("Message", ["WireLaws"]), ("HTTPResponse", ["WireLaws"]),
    ("Conflicts", ["AppLaws", "WireLaws"]), ("Screens", ["AppLaws", "WireLaws"]),
  ]
  for (subject, dependencies) in laws {
    package.targets.append(
      .target(
        name: "Fuzz" + subject, dependencies: dependencies, path: "Tests/Fuzzing",
        exclude: ["Corpus", "Dictionaries"], sources: ["Fuzz\(subject).swift"],
        swiftSettings: strict))
    package.products.append(
      .library(name: "Fuzz" + subject, type: .static, targets: ["Fuzz" + subject]))
  }
}
