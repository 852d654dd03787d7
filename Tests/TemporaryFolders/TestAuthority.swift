/// Authority that only tests trust, valid for a hundred years. It signs the certificates of
/// EventLoopTests.
package enum TestAuthority {
  /// PEM, made by openssl.
  package static let certificate = """
    -----BEGIN CERTIFICATE-----
    MIIBZjCCAQygAwIBAgICEAAwCgYIKoZIzj0EAwIwGTEXMBUGA1UEAwwOVGVzdCBh
    dXRob3JpdHkwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBkxFzAV
    BgNVBAMMDlRlc3QgYXV0aG9yaXR5MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
    Mc3IzJB2BJ7Nr9Dx1wg4fjEiW56zEKzR/xh3CMb0ddqSy6+4obZM/nJYP9S3ssos
    q1u0czUnQ0sdjqqoX2VyHqNCMEAwDwYDVR0TAQH/BAUwAwEB/zAOBgNVHQ8BAf8E
    BAMCAgQwHQYDVR0OBBYEFF2EpRIxA7Bkzo2nU8drwHOTxxzhMAoGCCqGSM49BAMC
    A0gAMEUCIQCVXT/x4qERzb+FWBFDUwv3x2Fm8lmtM+gRQLsZbZs2IQIgLK/vh4RH
    vNg1Ky6IEyY19af2H708znVF9JhwiQh9rwE=
    -----END CERTIFICATE-----

    """
}
