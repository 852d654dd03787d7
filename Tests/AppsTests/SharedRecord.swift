import LockstepModel

/// A record, a relay and some devices, reduced to what a resolver lives in: the relay's total order
/// of saves, and devices that keep what they have not saved yet on the server's newest version.
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

  /// All devices are in step with `first` at the beginning.
  init(_ first: Version?, resolver: any Resolver, devices: Int) {
    self.resolver = resolver
    server = first
    holders = Array(repeating: Holder(base: first, local: first), count: devices)
  }

  /// A person acts on a device; nobody else is told.
  mutating func edit(_ device: Int, _ version: Version) {
    holders[device].local = version
    holders[device].isDirty = true
  }

  /// The device learns what the server has, and rebases what it has not saved.
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

  /// The device saves, if what it has was made on what the server has.
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

/// All orders of some elements.
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
