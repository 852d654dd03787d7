// The part of Foundation and Core Foundation that Lockstep uses, with the names of its C functions.
// swift-format-ignore-file: AlwaysUseLowerCamelCase
@_exported import Darwin

public protocol ContiguousBytes {}

public protocol DataProtocol: RandomAccessCollection where Element == UInt8 {}

extension Array: ContiguousBytes where Element == UInt8 {}
extension Array: DataProtocol where Element == UInt8 {}

public struct Data: Hashable, Sendable, RandomAccessCollection, MutableCollection,
  RangeReplaceableCollection, ContiguousBytes, DataProtocol
{
  public struct Base64DecodingOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
  }

  public struct Base64EncodingOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
  }

  var bytes: [UInt8] = []

  public init() {}
  public init?(base64Encoded text: String, options: Base64DecodingOptions = []) {}
  public func base64EncodedString(options: Base64EncodingOptions = []) -> String { "" }

  public var startIndex: Int { 0 }
  public var endIndex: Int { bytes.count }
  public subscript(index: Int) -> UInt8 {
    get { bytes[index] }
    set { bytes[index] = newValue }
  }
  public subscript(bounds: Range<Int>) -> Data {
    get { self }
    set {}
  }
  public mutating func replaceSubrange<Elements: Collection>(
    _ range: Range<Int>, with elements: Elements
  ) where Elements.Element == UInt8 {}
}

public struct Date: Hashable, Comparable, Sendable {
  public var timeIntervalSince1970: Double
  public init() { timeIntervalSince1970 = 0 }
  public init(timeIntervalSince1970 interval: Double) { timeIntervalSince1970 = interval }
  public static func < (left: Date, right: Date) -> Bool {
    left.timeIntervalSince1970 < right.timeIntervalSince1970
  }
}

public struct URL: Hashable, Sendable {
  public init?(string: String) {}
  public init(fileURLWithPath path: String) {}
  public var absoluteString: String { "" }
  public var path: String { "" }
  public var lastPathComponent: String { "" }
  public var isFileURL: Bool { true }
}

extension Data: Codable {
  public init(from decoder: any Decoder) throws {}
  public func encode(to encoder: any Encoder) throws {}
}

extension Date: Codable {
  public init(from decoder: any Decoder) throws { self.init() }
  public func encode(to encoder: any Encoder) throws {}
}

extension URL: Codable {
  public init(from decoder: any Decoder) throws { self.init(fileURLWithPath: "") }
  public func encode(to encoder: any Encoder) throws {}
}

public typealias CFIndex = Int
public typealias CFStringEncoding = UInt32
public typealias CFTypeRef = AnyObject
public final class CFAllocator {}
public final class CFArray {}
public final class CFData {}
public final class CFError {}
public final class CFString {}

public struct CFArrayCallBacks {}

public nonisolated(unsafe) let kCFTypeArrayCallBacks = CFArrayCallBacks()

public enum CFStringBuiltInEncodings: CFStringEncoding {
  case UTF8 = 0x0800_0100
}

public func CFArrayCreate(
  _ allocator: CFAllocator!, _ values: UnsafeMutablePointer<UnsafeRawPointer?>!,
  _ numValues: CFIndex, _ callBacks: UnsafePointer<CFArrayCallBacks>!
) -> CFArray! { nil }

public func CFDataCreate(
  _ allocator: CFAllocator!, _ bytes: UnsafePointer<UInt8>!, _ length: CFIndex
) -> CFData! { nil }

public func CFStringCreateWithCString(
  _ alloc: CFAllocator!, _ cStr: UnsafePointer<CChar>!, _ encoding: CFStringEncoding
) -> CFString! { nil }
