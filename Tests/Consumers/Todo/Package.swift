// swift-tools-version: 6.3
import PackageDescription

// A to-do app as others would write it: outside of the package, with its products alone.
// LOCKSTEP_URL names a git repository; without it, the checkout around this folder is used.

let url = Context.environment["LOCKSTEP_URL"]
let lockstep: Package.Dependency =
  if let url {
    .package(url: url, branch: "main")
  } else {
    .package(name: "lockstep", path: "../../..")
  }

let package = Package(
  name: "todo",
  platforms: [.macOS(.v15)],
  dependencies: [lockstep],
  targets: [
    .executableTarget(
      name: "todo", dependencies: [.product(name: "Lockstep", package: "lockstep")]),
    .testTarget(
      name: "TodoTests",
      dependencies: ["todo", .product(name: "LockstepTesting", package: "lockstep")]),
  ]
)
