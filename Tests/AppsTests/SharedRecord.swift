import LockstepModel

/// Minimal model of one record for resolver tests: a relay with a total order of saves, and devices
/// that rebase unsaved changes on the server's newest version.
struct SharedRecord {
  struct Holder {
    var base: Version?
    var baseTag = 0
    var local: Version?
    var isDirty = false
  }

  let resolver: any Resolver
  private(set) var server: Version?
  private var tag = 0
  private(set) var holders: [Holder]

  /// All devices start in sync with `first`.
  init(_ first: Version?, resolver: any Resolver, devices: Int) {
    self.resolver = resolver
    server = first
    holders = Array(repeating: Holder(base: first, local: first), count: devices)
  }

  /// Applies a person's edit on one device; the other devices are not notified.
  mutating func edit(_ device: Int, _ version: Version) {
    holders[device].local = version
    holders[device].isDirty = true
  }

  /// Fetches the server's version and rebases the device's unsaved change.
  mutating func fetch(_ device: Int) {
    var holder = holders[device]
    guard holder.baseTag != tag, let server else { return }
    if holder.isDirty, let local = holder.local {
      let conflict = Conflict(base: holder.base, local: local, server: server)
      guard case .merged(let fields, _) = resolver.resolve(conflict) else { return }
      holder.local?.fields = fields
      holder.local?.modifiedAt = max(local.modifiedAt, server.modifiedAt)
      holder.isDirty = fields != server.fields
    } else {
      holder.local = server
    }
    holder.base = server
    holder.baseTag = tag
    holders[device] = holder
  }

  /// Saves the device's version if it is based on the server's newest one.
  mutating func save(_ device: Int) {
    guard holders[device].isDirty, holders[device].baseTag == tag else { return }
    server = holders[device].local
    tag += 1
    holders[device].base = server
    holders[device].baseTag = tag
    holders[device].isDirty = false
  }

  mutating func synchronise(_ device: Int) {
    fetch(device)
    save(device)
  }
}

/// Returns all permutations of some elements.
func permutations<Element>(of elements: [Element]) -> [[Element]] {
  guard let first = elements.first else { return [[]] }
  return permutations(of: Array(elements.dropFirst())).flatMap { rest in
    (0...rest.count).map { index in
      var order = rest
      order.insert(first, at: index)
      return order
    }
  }
}
