// The part of CryptoKit that Lockstep uses.
@_exported import Foundation

public struct SymmetricKey: ContiguousBytes, Sendable {
  public init(data: some ContiguousBytes) {}
}

public struct SharedSecret: ContiguousBytes, Sendable {
  public func withUnsafeBytes<Result>(
    _ body: (UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result { try body(UnsafeRawBufferPointer(start: nil, count: 0)) }
}

public enum P256: Sendable {
  public enum Signing: Sendable {
    public struct PublicKey: Sendable {
      init() {}
      public init(x963Representation bytes: some ContiguousBytes) throws {}
      public var x963Representation: Data { Data() }
      public func isValidSignature(_ signature: ECDSASignature, for data: some DataProtocol) -> Bool
      {
        false
      }
    }

    public struct PrivateKey: Sendable {
      public init(rawRepresentation data: some ContiguousBytes) throws {}
      public var rawRepresentation: Data { Data() }
      public var publicKey: PublicKey { PublicKey() }
      public func signature(for data: some DataProtocol) throws -> ECDSASignature {
        try ECDSASignature(rawRepresentation: [UInt8]())
      }
    }

    public struct ECDSASignature: ContiguousBytes, Sendable {
      public init(rawRepresentation data: some DataProtocol) throws {}
      public var rawRepresentation: Data { Data() }
    }
  }

  public enum KeyAgreement: Sendable {
    public struct PublicKey: Sendable {
      public init(x963Representation bytes: some ContiguousBytes) throws {}
    }

    public struct PrivateKey: Sendable {
      public init(rawRepresentation data: some ContiguousBytes) throws {}
      public func sharedSecretFromKeyAgreement(with share: PublicKey) throws -> SharedSecret {
        SharedSecret()
      }
    }
  }
}

public enum Curve25519: Sendable {
  public enum KeyAgreement: Sendable {
    public struct PublicKey: Sendable {
      init() {}
      public init(rawRepresentation data: some ContiguousBytes) throws {}
      public var rawRepresentation: Data { Data() }
    }

    public struct PrivateKey: Sendable {
      public init(rawRepresentation data: some ContiguousBytes) throws {}
      public var publicKey: PublicKey { PublicKey() }
      public func sharedSecretFromKeyAgreement(with share: PublicKey) throws -> SharedSecret {
        SharedSecret()
      }
    }
  }
}

public enum AES: Sendable {
  public enum GCM: Sendable {
    public struct Nonce: ContiguousBytes, Sendable {
      public init(data: some DataProtocol) throws {}
    }

    public struct SealedBox: Sendable {
      public init(
        nonce: Nonce, ciphertext: some DataProtocol, tag: some DataProtocol
      ) throws {}
      public var ciphertext: Data { Data() }
      public var tag: Data { Data() }
    }

    public static func seal(
      _ message: some DataProtocol, using key: SymmetricKey, nonce: Nonce? = nil
    ) throws -> SealedBox {
      try SealedBox(nonce: Nonce(data: [UInt8]()), ciphertext: [UInt8](), tag: [UInt8]())
    }

    public static func open(_ sealedBox: SealedBox, using key: SymmetricKey) throws -> Data {
      Data()
    }
  }
}
