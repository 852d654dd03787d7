// The part of Security that Lockstep uses, with the names of its C functions.
// swift-format-ignore-file: TypeNamesShouldBeCapitalized, AlwaysUseLowerCamelCase
public import Dispatch
public import Foundation

public typealias OSStatus = Int32

public var errSecSuccess: OSStatus { 0 }
public var errSSLProtocol: OSStatus { -9800 }
public var errSSLXCertChainInvalid: OSStatus { -9807 }
public var errSSLUnknownRootCert: OSStatus { -9812 }
public var errSSLNoRootCert: OSStatus { -9813 }
public var errSSLCertExpired: OSStatus { -9814 }
public var errSSLCertNotYetValid: OSStatus { -9815 }
public var errSSLHostNameMismatch: OSStatus { -9843 }

public final class SecCertificate {}
public final class SecPolicy {}
public final class SecTrust {}
public final class sec_protocol_metadata {}
public final class sec_protocol_options {
  public init() {}
}
public final class sec_trust {}

public typealias sec_protocol_metadata_t = sec_protocol_metadata
public typealias sec_protocol_options_t = sec_protocol_options
public typealias sec_trust_t = sec_trust
public typealias sec_protocol_verify_complete_t = (Bool) -> Void
public typealias sec_protocol_verify_t = (
  sec_protocol_metadata_t, sec_trust_t, @escaping sec_protocol_verify_complete_t
) -> Void

public enum tls_protocol_version_t: UInt16, Sendable {
  case TLSv12 = 0x0303
  case TLSv13 = 0x0304
}

public func SecCertificateCreateWithData(
  _ allocator: CFAllocator?, _ data: CFData
) -> SecCertificate? { nil }

public func SecPolicyCreateSSL(_ server: Bool, _ hostname: CFString?) -> SecPolicy { SecPolicy() }

public func SecTrustSetPolicies(_ trust: SecTrust, _ policies: CFTypeRef) -> OSStatus { 0 }

public func SecTrustSetAnchorCertificates(
  _ trust: SecTrust, _ anchorCertificates: CFArray?
) -> OSStatus { 0 }

public func SecTrustSetAnchorCertificatesOnly(
  _ trust: SecTrust, _ anchorCertificatesOnly: Bool
) -> OSStatus { 0 }

public func SecTrustEvaluateWithError(
  _ trust: SecTrust, _ error: UnsafeMutablePointer<CFError?>?
) -> Bool { false }

public func sec_trust_copy_ref(_ trust: sec_trust_t) -> Unmanaged<SecTrust> {
  Unmanaged.passRetained(SecTrust())
}

public func sec_protocol_options_set_min_tls_protocol_version(
  _ options: sec_protocol_options_t, _ version: tls_protocol_version_t
) {}

public func sec_protocol_options_set_verify_block(
  _ options: sec_protocol_options_t, _ verify_block: @escaping sec_protocol_verify_t,
  _ verify_block_queue: DispatchQueue
) {}
