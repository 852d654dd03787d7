import PackageDescription

let package = Package(
  name: "todo",
  // SNIPPET
)
