#if canImport(Network)
  import Dispatch
  import Foundation
  import LockstepRuntime
  import Network
  import Security

  /// Authorities that may sign a relay's certificate.
  package struct NetworkTrust: Sendable {
    /// These alone, as DER; nil: those that the system trusts.
    private let authorities: [[UInt8]]?

    package static let system = NetworkTrust(authorities: nil)

    private init(authorities: [[UInt8]]?) { self.authorities = authorities }

    /// Reads the certificates of a PEM file; nil if it has none, or one that is broken.
    package init?(pem: [UInt8]) {
      guard let authorities = PEMCertificates.decode(pem),
        authorities.allSatisfy({ Self.certificate($0) != nil })
      else { return nil }
      self.init(authorities: authorities)
    }

    /// Returns the TLS options of a connection: TLS 1.2 or newer, and these authorities.
    func options(for host: String, on queue: DispatchQueue) -> NWProtocolTLS.Options {
      let options = NWProtocolTLS.Options()
      sec_protocol_options_set_min_tls_protocol_version(options.securityProtocolOptions, .TLSv12)
      guard let authorities else { return options }
      sec_protocol_options_set_verify_block(
        options.securityProtocolOptions,
        { _, trust, complete in
          complete(Self.isTrusted(sec_trust_copy_ref(trust).takeRetainedValue(), host, authorities))
        }, queue)
      return options
    }

    /// Verifies the host's name, and the chain up to one of the authorities.
    private static func isTrusted(
      _ trust: SecTrust, _ host: String, _ authorities: [[UInt8]]
    ) -> Bool {
      let anchors = authorities.compactMap { certificate($0) }
      var pointers = anchors.map { UnsafeRawPointer?(Unmanaged.passUnretained($0).toOpaque()) }
      var callbacks = kCFTypeArrayCallBacks
      let list = withExtendedLifetime(anchors) {
        CFArrayCreate(nil, &pointers, pointers.count, &callbacks)
      }
      let name = CFStringCreateWithCString(nil, host, CFStringBuiltInEncodings.UTF8.rawValue)
      guard anchors.count == authorities.count, let list, let name,
        SecTrustSetPolicies(trust, SecPolicyCreateSSL(true, name)) == errSecSuccess,
        SecTrustSetAnchorCertificates(trust, list) == errSecSuccess,
        SecTrustSetAnchorCertificatesOnly(trust, true) == errSecSuccess
      else { return false }
      return SecTrustEvaluateWithError(trust, nil)
    }

    private static func certificate(_ bytes: [UInt8]) -> SecCertificate? {
      CFDataCreate(nil, bytes, bytes.count).flatMap { SecCertificateCreateWithData(nil, $0) }
    }

    /// Names the reason of a failed handshake (Security's `SecureTransport.h`).
    static func fault(_ status: OSStatus) -> SecurityFault {
      switch status {
      case errSSLXCertChainInvalid, errSSLUnknownRootCert, errSSLNoRootCert: .unknownAuthority
      case errSSLCertExpired: .expired
      case errSSLCertNotYetValid: .notYetValid
      case errSSLHostNameMismatch: .otherName
      case errSSLProtocol: .notSecure
      default: .other("TLS failed with status \(status)")
      }
    }
  }
#endif
