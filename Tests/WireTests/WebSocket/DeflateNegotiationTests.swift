import LockstepModel
import Testing

@testable import LockstepWire

/// RFC 7692 section 7.1, offer by offer.
struct DeflateNegotiationTests {
  private func headers(_ fields: [String]) -> HTTPHeaders {
    var headers = HTTPHeaders()
    for field in fields { headers.append("Sec-WebSocket-Extensions", field) }
    return headers
  }

  private func answer(
    _ fields: String..., policy: DeflatePolicy = .shared
  ) throws -> (terms: DeflateTerms, field: String)? {
    try DeflateNegotiation.answer(to: headers(fields), policy)
  }

  private static let plain =
    "permessage-deflate; server_no_context_takeover; client_no_context_takeover"

  /// Answers of a relay with one window of 12 bits and no context; nil: it declines.
  private static let answers: [(String, String?)] = [
    ("permessage-deflate", plain),
    ("permessage-deflate; client_max_window_bits", plain),
    ("permessage-deflate; client_max_window_bits=9", plain),
    ("permessage-deflate; client_no_context_takeover; server_no_context_takeover", plain),
    ("permessage-deflate; server_max_window_bits=12", plain + "; server_max_window_bits=12"),
    ("permessage-deflate; server_max_window_bits=\"15\"", plain + "; server_max_window_bits=12"),
    ("permessage-deflate; server_max_window_bits=11", nil),
    ("permessage-deflate; server_max_window_bits=8", nil),
    (
      "permessage-deflate; server_max_window_bits=10, permessage-deflate; client_max_window_bits",
      plain
    ),
    ("x-webkit-deflate-frame, permessage-deflate", plain),
    ("x-webkit-deflate-frame", nil),
    ("Permessage-Deflate", nil), ("", nil),
    ("permessage-deflate; server_max_window_bits", nil),
    ("permessage-deflate; server_max_window_bits=7", nil),
    ("permessage-deflate; server_max_window_bits=16", nil),
    ("permessage-deflate; server_max_window_bits=012", nil),
    ("permessage-deflate; server_max_window_bits=+12", nil),
    ("permessage-deflate; client_max_window_bits=16", nil),
    ("permessage-deflate; client_max_window_bits=x", nil),
    ("permessage-deflate; server_no_context_takeover=1", nil),
    ("permessage-deflate; client_no_context_takeover=true", nil),
    ("permessage-deflate; unknown", nil),
    ("permessage-deflate; server_max_window_bits=12; x=1", nil),
    ("permessage-deflate; client_max_window_bits; client_max_window_bits=10", nil),
    ("permessage-deflate; server_no_context_takeover; server_no_context_takeover", nil),
    ("permessage-deflate; unknown, permessage-deflate", plain),
  ]

  @Test(arguments: answers)
  func aRelayAnswersEachOffer(offer: String, expected: String?) throws {
    let agreed = try answer(offer)
    #expect(agreed?.field == expected)
    if let agreed {
      #expect(
        agreed.terms
          == DeflateTerms(
            sending: .init(windowBits: 12, keepsContext: false), receivesContext: false))
    }
  }

  @Test func offersMayStandInSeveralFields() throws {
    #expect(try answer("a", "permessage-deflate; x", "permessage-deflate")?.field == Self.plain)
    #expect(try DeflateNegotiation.answer(to: HTTPHeaders(), .shared) == nil)
  }

  @Test(arguments: ["permessage-deflate;", "permessage-deflate; a=\"", "permessage deflate"])
  func aMalformedFieldIsRefused(_ field: String) {
    #expect(
      refusal { () throws(Refusal) in
        _ = try DeflateNegotiation.answer(to: headers([field]), .shared)
      }?.code == .badRequest)
  }

  @Test func aServerThatKeepsContextsKeepsThemUnlessAsked() throws {
    let policy = DeflatePolicy(windowBits: 9...12, keepsContext: true)
    let cases: [(String, String, DeflateTerms)] = [
      ("", "", .init(sending: .init(windowBits: 12, keepsContext: true), receivesContext: true)),
      (
        "; server_no_context_takeover; server_max_window_bits=9",
        "; server_no_context_takeover; server_max_window_bits=9",
        .init(sending: .init(windowBits: 9, keepsContext: false), receivesContext: true)
      ),
      (
        "; client_no_context_takeover; server_max_window_bits=15",
        "; client_no_context_takeover; server_max_window_bits=12",
        .init(sending: .init(windowBits: 12, keepsContext: true), receivesContext: false)
      ),
    ]
    for (offer, expected, terms) in cases {
      let agreed = try answer("permessage-deflate" + offer, policy: policy)
      #expect(agreed?.field == "permessage-deflate" + expected)
      #expect(agreed?.terms == terms)
    }
    #expect(try answer("permessage-deflate; server_max_window_bits=8", policy: policy) == nil)
  }

  // MARK: client

  private enum Verdict: Equatable {
    case agreed(DeflateTerms?)
    case refused(RefusalCode)
  }

  private func check(_ fields: [String], _ offer: DeflateOffer) -> Verdict {
    do throws(Refusal) {
      return .agreed(try DeflateNegotiation.check(headers(fields), offer))
    } catch {
      return .refused(error.code)
    }
  }

  @Test func aClientTakesWhatItOffered() {
    let agent = DeflateOffer.withoutContext
    #expect(
      agent.field
        == "permessage-deflate; client_no_context_takeover; server_no_context_takeover")
    #expect(check([], agent) == .agreed(nil))
    let terms = DeflateTerms(
      sending: .init(windowBits: 12, keepsContext: false), receivesContext: false)
    for good in ["", "; client_no_context_takeover", "; server_max_window_bits=10"] {
      let field = "permessage-deflate; server_no_context_takeover" + good
      #expect(check([field], agent) == .agreed(terms))
    }
    for bad in [
      "", "; client_no_context_takeover", "; server_no_context_takeover; client_max_window_bits=12",
      "; server_no_context_takeover=1", "; server_no_context_takeover; server_max_window_bits",
      "; server_no_context_takeover; x", "; server_no_context_takeover; server_max_window_bits=16",
      ";", "; server_no_context_takeover; server_no_context_takeover",
    ] {
      #expect(check(["permessage-deflate" + bad], agent) == .refused(.internalError))
    }
    let good = "permessage-deflate; server_no_context_takeover"
    for fields in [["x"], [good, good], [good + ", x"], ["x, " + good]] {
      #expect(check(fields, agent) == .refused(.internalError))
    }
  }

  @Test func aServerMayLimitTheWindowOfAClientThatSaysSo() {
    let offer = DeflateOffer(keepsServerContext: true, letsServerLimitWindow: true)
    #expect(
      offer.field == "permessage-deflate; client_no_context_takeover; client_max_window_bits")
    let answers: [(String, DeflateTerms.Sending?)] = [
      ("15", .init(windowBits: 12, keepsContext: false)),
      ("9", .init(windowBits: 9, keepsContext: false)), ("8", nil),
    ]
    for (bits, sending) in answers {
      #expect(
        check(["permessage-deflate; client_max_window_bits=\(bits)"], offer)
          == .agreed(DeflateTerms(sending: sending, receivesContext: true)))
    }
    #expect(
      check(["permessage-deflate; client_max_window_bits"], offer) == .refused(.internalError))
  }
}
