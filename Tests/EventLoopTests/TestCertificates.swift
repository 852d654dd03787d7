import TemporaryFolders

@testable import LockstepEventLoop

/// Certificates of an authority that only these tests trust, valid for a hundred years. Their key
/// is not secret. Made by openssl.
enum TestCertificates {
  /// For localhost and 127.0.0.1.
  static func server(in folder: TemporaryFolder) throws -> ServerCertificate {
    try show(good, in: folder)
    return try ServerCertificate(
      certificate: folder.path("server.pem"), key: folder.path("server.key"))
  }

  /// Writes the certificate that a server uses from its next load on.
  static func show(_ certificate: String, in folder: TemporaryFolder) throws {
    try folder.write(Array(certificate.utf8), to: "server.pem")
    try folder.write(Array(key.utf8), to: "server.key")
  }

  static func trust() throws -> Trust {
    try Trust(authorities: Array(TestAuthority.certificate.utf8))
  }

  static let otherAuthority = """
    -----BEGIN CERTIFICATE-----
    MIIBbDCCARKgAwIBAgICEAEwCgYIKoZIzj0EAwIwHDEaMBgGA1UEAwwRQW5vdGhl
    ciBhdXRob3JpdHkwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBwx
    GjAYBgNVBAMMEUFub3RoZXIgYXV0aG9yaXR5MFkwEwYHKoZIzj0CAQYIKoZIzj0D
    AQcDQgAENMET858IjuB7XeUUxI0OaSOHnhavsBlBTVcrIUTK06kyFPP0G3hvFClw
    Xjlw7kwdFZwz2u+yP1yUTjtlnr20FKNCMEAwDwYDVR0TAQH/BAUwAwEB/zAOBgNV
    HQ8BAf8EBAMCAgQwHQYDVR0OBBYEFL0e64ZDBAHVpdX98zR0uJVJPiqAMAoGCCqG
    SM49BAMCA0gAMEUCICeHFNbfn7tLTQ7rJVMHM1Idv/3MIQcPfhmSG4POc5hlAiEA
    g//E1wg1oChWlNUIfePHeNZcoKeNSDWiG+NfirUuo94=
    -----END CERTIFICATE-----

    """

  static let key = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgc+zHPbty/8VkpyzY
    nRm8Tn07SX2XPS91IAx1pjzZM7qhRANCAATOi3V0BG3MfAYyDgM20o+mDwg7YI1N
    gox+1GkpoCw4CSsNQQ9MFhQyQ8kvsg412v81z5AN+E1Cw/e8wu8sELt8
    -----END PRIVATE KEY-----

    """

  static let good = """
    -----BEGIN CERTIFICATE-----
    MIIBfDCCASOgAwIBAgICEAIwCgYIKoZIzj0EAwIwGTEXMBUGA1UEAwwOVGVzdCBh
    dXRob3JpdHkwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQ
    BgNVBAMMCWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABM6LdXQE
    bcx8BjIOAzbSj6YPCDtgjU2CjH7UaSmgLDgJKw1BD0wWFDJDyS+yDjXa/zXPkA34
    TULD97zC7ywQu3yjXjBcMBoGA1UdEQQTMBGCCWxvY2FsaG9zdIcEfwAAATAdBgNV
    HQ4EFgQUZChGvTL3HCIcBSPdGjzLJIhz5UkwHwYDVR0jBBgwFoAUXYSlEjEDsGTO
    jadTx2vAc5PHHOEwCgYIKoZIzj0EAwIDRwAwRAIgAXXw4xzDp74612e4tW4yLWvd
    obRvAY0pO6h2a9sgy74CIDeDO5lsB+Wc31BbJMNmwH7mliJ3hWRfuRO+kZEOUPwR
    -----END CERTIFICATE-----

    """

  static let otherName = """
    -----BEGIN CERTIFICATE-----
    MIIBezCCASGgAwIBAgICEAMwCgYIKoZIzj0EAwIwGTEXMBUGA1UEAwwOVGVzdCBh
    dXRob3JpdHkwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQ
    BgNVBAMMCWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABM6LdXQE
    bcx8BjIOAzbSj6YPCDtgjU2CjH7UaSmgLDgJKw1BD0wWFDJDyS+yDjXa/zXPkA34
    TULD97zC7ywQu3yjXDBaMBgGA1UdEQQRMA+CDW90aGVyLmV4YW1wbGUwHQYDVR0O
    BBYEFGQoRr0y9xwiHAUj3Ro8yySIc+VJMB8GA1UdIwQYMBaAFF2EpRIxA7Bkzo2n
    U8drwHOTxxzhMAoGCCqGSM49BAMCA0gAMEUCIQDFXhuA37ngBpSAygNMY5L4Optc
    F32vOeiUX9HKmWoagQIgY2ca7O/KT1bCQRnEeckOaz4YuUfkW+TBxbJ02lVTAOo=
    -----END CERTIFICATE-----

    """

  static let expired = """
    -----BEGIN CERTIFICATE-----
    MIIBfDCCASGgAwIBAgICEAQwCgYIKoZIzj0EAwIwGTEXMBUGA1UEAwwOVGVzdCBh
    dXRob3JpdHkwHhcNMjAwMTAxMDAwMDAwWhcNMjEwMTAxMDAwMDAwWjAUMRIwEAYD
    VQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATOi3V0BG3M
    fAYyDgM20o+mDwg7YI1Ngox+1GkpoCw4CSsNQQ9MFhQyQ8kvsg412v81z5AN+E1C
    w/e8wu8sELt8o14wXDAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwHQYDVR0O
    BBYEFGQoRr0y9xwiHAUj3Ro8yySIc+VJMB8GA1UdIwQYMBaAFF2EpRIxA7Bkzo2n
    U8drwHOTxxzhMAoGCCqGSM49BAMCA0kAMEYCIQDv+82EMXqzIIlFUJoVkIHBKZr+
    O7pmfoztkdJg7v71fgIhANGpkeShbaP5ICtEYtPA1hBmOmXTunWLu3ZD5Nt3tJm7
    -----END CERTIFICATE-----

    """

  /// For ::1, and its own authority.
  static let ipv6 = """
    -----BEGIN CERTIFICATE-----
    MIIBdjCCARugAwIBAgICEAQwCgYIKoZIzj0EAwIwGjEYMBYGA1UEAwwPQW4gSVB2
    NiBhZGRyZXNzMCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAaMRgw
    FgYDVQQDDA9BbiBJUHY2IGFkZHJlc3MwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC
    AATOi3V0BG3MfAYyDgM20o+mDwg7YI1Ngox+1GkpoCw4CSsNQQ9MFhQyQ8kvsg41
    2v81z5AN+E1Cw/e8wu8sELt8o08wTTAbBgNVHREEFDAShxAAAAAAAAAAAAAAAAAA
    AAABMB0GA1UdDgQWBBRkKEa9MvccIhwFI90aPMskiHPlSTAPBgNVHRMBAf8EBTAD
    AQH/MAoGCCqGSM49BAMCA0kAMEYCIQCKeLs8Q1eAIAUqPNfpxVVv2qLCzLWZs59S
    /4HVMm4wBgIhAIoDxVaSORdOc7gEuGpqmx91//IhkqMiaHFFD67fU+D4
    -----END CERTIFICATE-----

    """

  static let otherKey = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgiAnQQt/d7hujrreA
    NFg2hkoH94VL/WjqEKXV5+NlqZyhRANCAAQ0wRPznwiO4Htd5RTEjQ5pI4eeFq+w
    GUFNVyshRMrTqTIU8/QbeG8UKXBeOXDuTB0VnDPa77I/XJROO2WevbQU
    -----END PRIVATE KEY-----

    """
}
