/// A large value that few have at a time, kept outside of what it belongs to: who does not have it
/// pays for a pointer only. Copied like the value itself.
struct CopyOnWriteBox<Value: Sendable>: Sendable {
  /// Only ever changed by the one who holds it alone.
  private final class Storage: @unchecked Sendable {
    // Who accesses the whole holds it alone already.
    @exclusivity(unchecked) var value: Value
    init(_ value: Value) { self.value = value }
  }

  private var storage: Storage

  init(_ value: Value) { storage = Storage(value) }

  var value: Value {
    @inline(__always) _read { yield storage.value }
    @inline(__always) _modify {
      if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.value) }
      yield &storage.value
    }
  }
}
