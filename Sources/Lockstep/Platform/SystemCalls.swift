#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

extension stat {
  /// Time of the last change of the content.
  var modification: timespec {
    #if canImport(Darwin)
      st_mtimespec
    #else
      st_mtim
    #endif
  }
}

/// Functions whose names are taken within the types that call them.
enum SystemCalls {
  static func read(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    #if canImport(Darwin)
      Darwin.read(descriptor, buffer, count)
    #else
      Glibc.read(descriptor, buffer, count)
    #endif
  }

  static func write(_ descriptor: Int32, _ buffer: UnsafeRawPointer?, _ count: Int) -> Int {
    #if canImport(Darwin)
      Darwin.write(descriptor, buffer, count)
    #else
      Glibc.write(descriptor, buffer, count)
    #endif
  }
}
