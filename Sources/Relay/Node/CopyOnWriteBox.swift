/// Boxed copy-on-write value, for a large value that is rarely present: an owner without it pays
/// only for a pointer. Copied like the value itself.
struct CopyOnWriteBox<Value: Sendable>: Sendable {
  /// Changed only by its sole owner.
  private final class Storage: @unchecked Sendable {
    // Access to the whole box is exclusive already.
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
