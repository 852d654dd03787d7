// The part of Swift's overlay for Darwin that Lockstep uses: C functions with variable arguments,
// and macros that are not imported.
// swift-format-ignore-file: AlwaysUseLowerCamelCase
@_exported import Darwin

public var errno: Int32 {
  get { 0 }
  set {}
}

public var S_IFMT: mode_t { 0o170000 }

public var S_IFREG: mode_t { 0o100000 }
public var S_IFDIR: mode_t { 0o040000 }

public func open(_ path: UnsafePointer<CChar>, _ flags: Int32) -> Int32 { -1 }

public func open(_ path: UnsafePointer<CChar>, _ flags: Int32, _ mode: mode_t) -> Int32 { -1 }

public func openat(
  _ descriptor: Int32, _ path: UnsafePointer<CChar>, _ flags: Int32
) -> Int32 { -1 }

public func openat(
  _ descriptor: Int32, _ path: UnsafePointer<CChar>, _ flags: Int32, _ mode: mode_t
) -> Int32 { -1 }

public func fcntl(_ descriptor: Int32, _ command: Int32) -> Int32 { -1 }
