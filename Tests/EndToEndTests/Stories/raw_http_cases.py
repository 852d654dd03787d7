"""Requests as raw bytes, each with the section of the RFC that defines the result.

A case has the bytes to send and the expected result: the statuses of all answers in their order,
and whether the connection stays open. `EVIL` is a request that another parser might find in the
same bytes; if a case contains it, its answer (a 404 that no other request gets) must not be among
the answers.
"""

import json
from dataclasses import dataclass

DEVICE = json.dumps({"deviceName": "raw", "platform": "test", "appVersion": "1"}).encode()
EVIL = b"GET /evil HTTP/1.1\r\nHost: localhost\r\n\r\n"


@dataclass(frozen=True)
class Case:
    section: str
    name: str
    bytes: bytes
    statuses: tuple
    stays_open: bool
    # Texts that the last answer must contain, in its head or body, in lower case.
    holds: tuple = ()
    # True if the client ends its stream after the bytes.
    ends: bool = False


def lines(*fields, line=b"GET /v1/time HTTP/1.1", body=b""):
    return b"\r\n".join([line, *fields, b"", b""]) + body


def get(*fields, target=b"/v1/time"):
    return lines(b"Host: localhost", *fields, line=b"GET " + target + b" HTTP/1.1")


def post(*fields, body=b"", version=b"1.1"):
    return lines(b"Host: localhost", b"Content-Type: application/json", *fields,
                 line=b"POST /v1/accounts HTTP/" + version, body=body)


def sized(body, *fields):
    return post(b"Content-Length: %d" % len(body), *fields, body=body)


def chunked(body, *fields):
    return post(b"Transfer-Encoding: chunked", *fields, body=body)


def chunks(*parts):
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)


CASES = []


def answers(section, name, raw, *statuses, holds=()):
    """A case that is answered completely, after which the connection stays open."""
    CASES.append(Case(section, name, raw, statuses, True, holds))


def ends(section, name, raw, *statuses, holds=(), ends=False):
    """A case after whose last answer the connection closes."""
    CASES.append(Case(section, name, raw, statuses, False, holds, ends))


# MARK: RFC 9112 section 2: messages and their lines

answers("9112 2.1", "the plainest request", get(), 200)
answers("9112 2.2", "one empty line before a request is passed over", b"\r\n" + get(), 200)
ends("9112 2.2", "two empty lines are not", b"\r\n\r\n" + get(), 400)
ends("9112 2.2", "a bare LF ends no request line", b"GET /v1/time HTTP/1.1\nHost: localhost\r\n\r\n", 400)
ends("9112 2.2", "a bare LF ends no field", b"GET /v1/time HTTP/1.1\r\nHost: localhost\nX: y\r\n\r\n", 400)
ends("9112 2.2", "a bare LF ends no head", b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\n\n" + EVIL, 400)
ends("9112 2.2", "a bare CR in the request line", b"GET /v1/time\rX HTTP/1.1\r\nHost: localhost\r\n\r\n", 400)
ends("9112 2.2", "a bare CR in a field's value", get(b"X: a\rY: b"), 400)
ends("9112 2.2", "a bare CR before a line's end", get(b"X: a\r"), 400)
ends("9112 2.2", "blanks between request line and fields",
     b"GET /v1/time HTTP/1.1\r\n Host: localhost\r\n\r\n", 400)
ends("9112 2.2", "a NUL in the request line", get(target=b"/v1/\x00time"), 400)
ends("9112 2.2", "a byte order mark before a request", b"\xef\xbb\xbf" + get(), 400)
ends("9112 2.3", "a major version that is not ours", lines(b"Host: localhost", line=b"GET /v1/time HTTP/2.0"), 505)
ends("9112 2.3", "the preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505)
ends("9112 2.3", "the version's letters are capitals", lines(b"Host: localhost", line=b"GET /v1/time http/1.1"), 400)
ends("9112 2.3", "a version of two digits", lines(b"Host: localhost", line=b"GET /v1/time HTTP/1.10"), 400)
ends("9112 2.3", "a version without a point", lines(b"Host: localhost", line=b"GET /v1/time HTTP/11"), 400)
ends("9112 2.3", "another protocol's name", lines(b"Host: localhost", line=b"GET /v1/time RTSP/1.0"), 400)
ends("9112 2.3", "no version at all, as in HTTP/0.9", b"GET /v1/time\r\n\r\n", 400)
answers("9110 2.5", "a later minor version is read as ours",
        lines(b"Host: localhost", line=b"GET /v1/time HTTP/1.2"), 200)

# MARK: RFC 9112 section 3: the request line

ends("9112 3", "two spaces in the request line", lines(b"Host: localhost", line=b"GET  /v1/time HTTP/1.1"), 400)
ends("9112 3", "a tab in place of a space", lines(b"Host: localhost", line=b"GET\t/v1/time\tHTTP/1.1"), 400)
ends("9112 3", "a space behind the version", lines(b"Host: localhost", line=b"GET /v1/time HTTP/1.1 "), 400)
ends("9112 3", "a space before the method", lines(b"Host: localhost", line=b" GET /v1/time HTTP/1.1"), 400)
ends("9112 3", "a space in the target", lines(b"Host: localhost", line=b"GET /v1/time x HTTP/1.1"), 400)
ends("9112 3", "no target", lines(b"Host: localhost", line=b"GET HTTP/1.1"), 400)
ends("9112 3", "only a method", lines(b"Host: localhost", line=b"GET"), 400)
ends("9112 3", "a target longer than a line may be", get(target=b"/" + b"a" * 9_000), 414)
ends("9112 3.1", "a method that is no token", lines(b"Host: localhost", line=b"G(T /v1/time HTTP/1.1"), 400)
ends("9112 3.1", "a method with a byte above 127", lines(b"Host: localhost", line=b"G\xc3T /v1/time HTTP/1.1"), 400)
answers("9110 9.1", "methods know upper and lower case",
        lines(b"Host: localhost", line=b"get /v1/time HTTP/1.1"), 405, holds=(b"allow: get",))
answers("9110 9.1", "a method nobody has heard of",
        lines(b"Host: localhost", line=b"BREW /v1/time HTTP/1.1"), 405, holds=(b"allow: get",))
answers("9112 3.2.2", "the absolute form", get(target=b"http://localhost/v1/time"), 200)
answers("9112 3.2.2", "the absolute form goes before Host", get(target=b"http://other.example/v1/time"), 421)
answers("9112 3.2.2", "the scheme's case does not matter", get(target=b"HtTp://localhost/v1/time"), 200)
ends("9112 3.2.2", "an absolute form without a host", get(target=b"http:///v1/time"), 400)
ends("9112 3.2.2", "a URL of another scheme", get(target=b"ftp://r/v1/time"), 400)
ends("9112 3.2.2", "a user in the absolute form", get(target=b"http://me@r/v1/time"), 400)
ends("9112 3.2.3", "the authority form is for proxies",
     lines(b"Host: localhost", line=b"CONNECT r:80 HTTP/1.1"), 400)
ends("9112 3.2.4", "the asterisk is for OPTIONS", get(target=b"*"), 400)
ends("9112 3.2", "a fragment is never sent", get(target=b"/v1/time#x"), 400)
ends("9112 3.2", "a target with a backslash", get(target=b"/v1\\time"), 400)
ends("9112 3.2", "a target with a quote", get(target=b'/v1/"time"'), 400)
ends("9112 3.2", "a target with raw UTF-8", get(target="/v1/zeit/ü".encode()), 400)
ends("9112 3.2", "no Host", lines(), 400)
ends("9112 3.2", "two Hosts", lines(b"Host: localhost", b"Host: localhost"), 400)
ends("9112 3.2", "two Hosts that differ", lines(b"Host: localhost", b"host: evil"), 400)
ends("9112 3.2", "a Host with a space", lines(b"Host: localhost evil"), 400)
ends("9112 3.2", "a Host with a path", lines(b"Host: localhost/evil"), 400)
ends("9112 3.2", "a Host with a user", lines(b"Host: me@r"), 400)
for value in (b"r:xx", b"r:80:80", b"[::1", b"::1", b"[::1]x", b"[r]", b"r]", b"r%zz", b"[::1]:-1"):
    ends("9112 3.2", f"a Host of {value.decode()}", lines(b"Host: " + value), 400)
for value in (b"127.0.0.1", b"[::1]:80", b"localhost:"):
    answers("9112 3.2", f"a Host of {value.decode()}", lines(b"Host: " + value), 200)
answers("9112 3.2", "an empty Host", lines(b"Host:"), 200)
ends("9112 3.2", "HTTP/1.0 needs no Host", lines(line=b"GET /v1/time HTTP/1.0"), 200)
ends("9112 3.2", "but two are too many there too",
     lines(b"Host: a", b"Host: b", line=b"GET /v1/time HTTP/1.0"), 400)

# MARK: RFC 9112 section 5: fields

ends("9112 5.1", "a space before the colon", get(b"X : y"), 400)
ends("9112 5.1", "a tab before the colon", get(b"X\t: y"), 400)
ends("9112 5.1", "a space before the colon of a length",
     post(b"Content-Length : 3", body=b"abc" + EVIL), 400)
ends("9112 5.1", "a space before the colon of a coding",
     post(b"Transfer-Encoding : chunked", body=b"0\r\n\r\n" + EVIL), 400)
ends("9112 5", "a field without a colon", get(b"X"), 400)
ends("9112 5", "a field without a name", get(b": y"), 400)
ends("9112 5", "a name with a space in it", get(b"X Y: z"), 400)
ends("9110 5.1", "a name with a parenthesis", get(b"X(Y: z"), 400)
ends("9110 5.1", "a name with a byte above 127", get("Ü: z".encode()), 400)
ends("9110 5.1", "a name with a NUL", get(b"X\x00: z"), 400)
ends("9110 5.5", "a value with a NUL", get(b"X: a\x00b"), 400)
ends("9110 5.5", "a value with a DEL", get(b"X: a\x7fb"), 400)
ends("9110 5.5", "a value with a control character", get(b"X: a\x0bb"), 400)
answers("9110 5.5", "a value with bytes above 127", get(b"X: \xff\xfe"), 200)
answers("9110 5.5", "a value with a tab", get(b"X: a\tb"), 200)
answers("9110 5.5", "an empty value", get(b"X:"), 200)
answers("9112 5.1", "blanks around a value", get(b"X: \t y \t "), 200)
ends("9112 5.2", "a folded field", get(b"X: a", b" b"), 400)
ends("9112 5.2", "a field folded with a tab", get(b"X: a", b"\tb"), 400)
ends("9112 5.2", "a folded length", post(b"Content-Length:", b" 3", body=b"abc" + EVIL), 400)
ends("9112 5.2", "a folded coding",
     post(b"Transfer-Encoding:", b" chunked", body=b"0\r\n\r\n" + EVIL), 400)
ends("6585 5", "more fields than are taken", get(*[b"X: y"] * 101), 431)
ends("6585 5", "a field larger than is taken", get(b"X: " + b"y" * 17_000), 431)
ends("6585 5", "fields that are too large together", get(*[b"X: " + b"y" * 400] * 60), 431)

# MARK: RFC 9112 section 6: length of the body

answers("9112 6.2", "a body by its length", sized(DEVICE), 201)
answers("9112 6.2", "a length with zeros before it",
        post(b"Content-Length: 000%d" % len(DEVICE), body=DEVICE), 201)
answers("9112 6.2", "blanks around a length", post(b"Content-Length: \t%d \t" % len(DEVICE), body=DEVICE), 201)
answers("9112 6.3", "a POST without a body", post(), 400, holds=(b"badjson",))
answers("9110 9.3.1", "a body that a GET has is passed over",
        lines(b"Host: localhost", b"Content-Length: %d" % len(EVIL), body=EVIL), 200)
for value in [b"-1", b"+3", b"0x3", b"3,3", b"3, 3", b"3,4", b"3 3", b"3e0", b"3.0", b"", b"three",
              "３".encode(), b"3;x", b"\xb3", b"9" * 30, b"18446744073709551619"]:
    ends("9112 6.3", f"a length of {value.decode('latin-1')!r}",
         post(b"Content-Length: " + value, body=b"abc" + EVIL), 400)
ends("9112 6.3", "two lengths", post(b"Content-Length: 3", b"Content-Length: 4", body=b"abc" + EVIL), 400)
ends("9112 6.3", "the same length twice",
     post(b"Content-Length: 3", b"Content-Length: 3", body=b"abc" + EVIL), 400)
ends("9110 15.5.14", "a length beyond what the call takes", post(b"Content-Length: 99999999"), 413)
ends("9110 15.5.14", "a length beyond all memory", post(b"Content-Length: 999999999999999999"), 413)
ends("9112 6.1", "a length and a coding",
     post(b"Content-Length: 5", b"Transfer-Encoding: chunked", body=b"0\r\n\r\n" + EVIL), 400)
ends("9112 6.1", "a coding and a length",
     post(b"Transfer-Encoding: chunked", b"Content-Length: %d" % (5 + len(EVIL)),
          body=b"0\r\n\r\n" + EVIL), 400)
ends("9112 6.1", "a coding in HTTP/1.0",
     post(b"Transfer-Encoding: chunked", body=b"0\r\n\r\n" + EVIL, version=b"1.0"), 400)
for value in [b"gzip", b"gzip, chunked", b"identity", b"chunked, identity", b"chunked, chunked",
              b"xchunked", b"chunked;q=1", b"\"chunked\"", b"", b"chunked,", b"'chunked'", b"chunked\xa0",
              b"cow"]:
    ends("9112 6.1", f"a coding of {value.decode('latin-1')!r}",
         post(b"Transfer-Encoding: " + value, body=b"0\r\n\r\n" + EVIL), 501)
ends("9112 6.1", "a control character before the coding",
     post(b"Transfer-Encoding:\x0bchunked", body=b"0\r\n\r\n" + EVIL), 400)
ends("9112 6.1", "two codings",
     post(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked", body=b"0\r\n\r\n" + EVIL), 501)
ends("9112 6.1", "two codings that differ",
     post(b"Transfer-Encoding: chunked", b"Transfer-Encoding: x", body=b"0\r\n\r\n" + EVIL), 501)
ends("9112 8", "a body that ends too soon", post(b"Content-Length: 50", body=b"{"), ends=True)
ends("9112 8", "a head that ends too soon", b"GET /v1/time HTTP/1.1\r\nHost: ", ends=True)

# MARK: RFC 9112 section 7: chunks

answers("9112 7.1", "a body in one chunk", chunked(chunks(DEVICE, b"")), 201)
answers("9112 7.1", "a byte a chunk", chunked(chunks(*[DEVICE[n:n + 1] for n in range(len(DEVICE))], b"")), 201)
answers("9112 7", "the coding's case does not matter",
        post(b"Transfer-Encoding: ChUnKeD", body=chunks(DEVICE, b"")), 201)
answers("9112 7.1", "a size in capital digits",
        chunked(b"%X\r\n%s\r\n0\r\n\r\n" % (len(DEVICE), DEVICE)), 201)
answers("9112 7.1", "a size with zeros before it",
        chunked(b"000%x\r\n%s\r\n000\r\n\r\n" % (len(DEVICE), DEVICE)), 201)
answers("9112 7.1.1", "an extension is passed over",
        chunked(b"%x;a=b;c\r\n%s\r\n0;d=\"e\"\r\n\r\n" % (len(DEVICE), DEVICE)), 201)
answers("9112 7.1.2", "trailers are passed over",
        chunked(chunks(DEVICE) + b"0\r\nX: y\r\nContent-Length: 9\r\nTransfer-Encoding: gzip\r\n\r\n"), 201)
for value in [b"", b" ", b"-5", b"+5", b"0x5", b"g", b"5 5", b" 5", b"fffffffffffffffff",
              b"10000000000000000", b"8000000000000005", "５".encode(), b"5\x00", b"5,5", b"5\r"]:
    ends("9112 7.1", f"a chunk's size of {value.decode('latin-1')!r}",
         chunked(value + b"\r\nabcde\r\n0\r\n\r\n" + EVIL), 400)
ends("9112 7.1", "a bare LF behind a size", chunked(b"5\nabcde\r\n0\r\n\r\n" + EVIL), 400)
ends("9112 7.1", "a bare LF behind a chunk", chunked(b"5\r\nabcde\n0\r\n\r\n" + EVIL), 400)
ends("9112 7.1", "a chunk longer than its size", chunked(b"3\r\nabcde\r\n0\r\n\r\n" + EVIL), 400)
ends("9112 7.1", "a chunk shorter than its size", chunked(b"7\r\nabcde\r\n0\r\n\r\n" + EVIL), 400)
ends("9112 7.1", "a size larger than the call takes", chunked(b"ffffff\r\n"), 413)
ends("9112 7.1", "chunks that are too large together", chunked(chunks(*[b"a" * 4_096] * 5)), 413)
ends("9112 7.1.1", "an extension without end", chunked(b"5;" + b"a" * 20_000), 431)
ends("9112 7.1.1", "a bare LF in an extension",
     chunked(b"5;a\nb\r\nabcde\r\n0\r\n\r\n" + EVIL), 400)
ends("9112 7.1.2", "a folded trailer", chunked(b"0\r\nX: y\r\n z\r\n\r\n" + EVIL), 400)
ends("9112 7.1.2", "a trailer without a colon", chunked(b"0\r\nGET /evil HTTP/1.1\r\n\r\n"), 400)
ends("9112 7.1.2", "more trailers than are taken", chunked(b"0\r\n" + b"X: y\r\n" * 5_000), 431)
ends("9112 8", "chunks that end too soon", chunked(b"5\r\nab"), ends=True)

# MARK: RFC 9112 section 9: the connection

answers("9112 9.3.2", "requests that come together are answered in order",
        get() + get(target=b"/nothing") + get(), 200, 404, 200)
ends("9112 9.6", "nothing is read behind close", get(b"Connection: close") + EVIL, 200,
     holds=(b"connection: close",))
ends("9112 9.6", "close among other options", get(b"Connection: x, Close ,y") + EVIL, 200)
ends("9112 9.3", "HTTP/1.0 closes", lines(line=b"GET /v1/time HTTP/1.0") + EVIL, 200)
answers("9112 9.3", "unless it asks to stay",
        lines(b"Connection: keep-alive", line=b"GET /v1/time HTTP/1.0"), 200)
answers("9112 9.3.2", "a request behind a body", sized(DEVICE) + get(), 201, 200)
answers("9112 9.3.2", "a request behind chunks", chunked(chunks(DEVICE, b"")) + get(), 201, 200)
ends("9112 9.3.2", "what was whole is answered before what is broken", get() + b"\x16\x03\x01", 200, 400)
ends("9112 9.3.2", "a smuggled request behind a broken one", get(b"X : y") + EVIL, 400)

# MARK: RFC 9110: methods and fields

answers("9110 9.3.2", "HEAD is GET without a body", lines(b"Host: localhost", line=b"HEAD /v1/time HTTP/1.1"), 200)
answers("9110 9.3.8", "TRACE echoes nothing", lines(b"Host: localhost", b"X: secret", line=b"TRACE /v1/time HTTP/1.1"), 405)
answers("9110 9.3.7", "OPTIONS tells what a path takes",
        lines(b"Host: localhost", line=b"OPTIONS /v1/time HTTP/1.1"), 204, holds=(b"allow: get, head, options",))
answers("9110 10.1.1", "leave to send a body is given",
        sized(DEVICE, b"Expect: 100-continue"), 100, 201)
answers("9110 10.1.1", "leave is not asked by who sends nothing", get(b"Expect: 100-continue"), 200)
ends("9110 10.1.1", "another expectation is not met", get(b"Expect: 200-maybe"), 417)
answers("9110 7.8", "an upgrade to another protocol is passed over",
        get(b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABk"), 200)
answers("9110 8.3", "a body of another kind",
        lines(b"Host: localhost", b"Content-Type: text/plain", b"Content-Length: 2",
              line=b"POST /v1/accounts HTTP/1.1", body=b"{}"), 415)
answers("9110 8.4", "a body that is compressed", sized(DEVICE, b"Content-Encoding: gzip"), 415)
answers("9110 14.2", "a range of what has none is passed over", get(b"Range: bytes=0-1"), 200)
answers("9110 11.6.2", "two tokens are none",
        get(b"Authorization: Bearer a", b"Authorization: Bearer b", target=b"/v1/devices"), 401)
answers("6750 2.3", "a token in the query is none", get(target=b"/v1/devices?access_token=a"), 401)

# MARK: RFC 3986: names in a path

for target, section in [
    (b"/v1/x/../time", "5.2.4"), (b"/v1/./time", "5.2.4"), (b"/../../etc/passwd", "5.2.4"),
    (b"/v1/%2e%2e/time", "2.3"), (b"//v1/time", "3.3"), (b"/v1//time", "3.3"), (b"/v1/time/", "3.3"),
    (b"/v1%2Ftime", "2.2"), (b"/v1/time;x=1", "3.3"), (b"/V1/TIME", "6.2.2.1"), (b"/v1/%74ime%2f", "2.4"),
    (b"/v1/..%2ftime", "2.4"),
]:
    answers("3986 " + section, f"{target.decode()} is not resolved", get(target=target), 404)
answers("3986 2.3", "an escaped letter is the letter", get(target=b"/v1/%74im%65"), 200)
answers("3986 3.4", "a query nobody asked for", get(target=b"/v1/time?a=b&c"), 200)
for target in [b"%", b"%2", b"%zz", b"%%", b"%C0%AF", b"%ED%A0%80", b"%FF", b"%C3", b"%F4%90%80%80"]:
    ends("3986 2.1", f"a path of {target.decode()}", get(target=b"/v1/zones/" + target), 400)
    ends("3986 2.1", f"a query of {target.decode()}", get(target=b"/v1/time?x=" + target), 400)

# MARK: RFC 8259: the body

for section, body in [
    ("2", b""), ("2", b"{"), ("2", b"{}}"), ("2", b"{} {}"), ("2", b"null"), ("2", b"[]"), ("4", b"{\"a\" 1}"),
    ("4", b"{\"a\":1,}"), ("4", b"{\"deviceName\":\"a\",\"deviceName\":\"b\"}"),
    ("4", b"{\"deviceName\":\"a\",\"device\\u004eame\":\"b\"}"), ("4", b"{a:1}"), ("6", b"{\"a\":01}"),
    ("6", b"{\"a\":+1}"), ("6", b"{\"a\":1.}"), ("6", b"{\"a\":.5}"), ("6", b"{\"a\":NaN}"),
    ("6", b"{\"a\":0x1}"), ("7", b"{\"a\":\"\n\"}"), ("7", b"{\"a\":\"\\x\"}"), ("7", b"{\"a\":\"\\u12\"}"),
    ("8.1", b"\xef\xbb\xbf{}"), ("8.1", b"{\"a\":\"\xff\"}"), ("8.1", b"{\"a\":\"\xc0\xaf\"}"),
    ("8.1", b"{\"a\":\"\xed\xa0\x80\"}"), ("8.2", b"{\"a\":\"\\ud800\"}"), ("8.2", b"{\"a\":\"\\udc00\\ud800\"}"),
    ("9", b"[" * 15_000), ("9", b"{\"a\":" * 3_000), ("2", b"{\"a\":tru}"), ("2", b"\x00"), ("2", b"// {}"),
]:
    answers("8259 " + section, f"a body of {body[:50].decode('latin-1')!r}", sized(body), 400)

# MARK: RFC 6455: the WebSocket's request

SOCKET = (b"Upgrade: websocket", b"Connection: Upgrade", b"Sec-WebSocket-Version: 13",
          b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")


def socket(*fields, line=b"GET /v1/socket HTTP/1.1", body=b""):
    return lines(b"Host: localhost", *fields, line=line, body=body)


answers("6455 4.2.1", "a socket that is not asked for", socket(), 426, holds=(b"sec-websocket-version: 13",))
answers("6455 4.2.1", "a socket of another version",
        socket(*SOCKET[:2], b"Sec-WebSocket-Version: 8", SOCKET[3]), 426,
        holds=(b"sec-websocket-version: 13",))
answers("6455 4.2.1", "two versions", socket(*SOCKET, b"Sec-WebSocket-Version: 13"), 426)
answers("6455 4.2.1", "two keys", socket(*SOCKET, SOCKET[3]), 400)
answers("6455 4.2.1", "a key that is not 16 bytes", socket(*SOCKET[:3], b"Sec-WebSocket-Key: AAAA"), 400)
answers("6455 4.2.1", "a socket by POST", socket(*SOCKET, line=b"POST /v1/socket HTTP/1.1"), 405)
ends("6455 4.2.1", "a socket in HTTP/1.0", socket(*SOCKET, line=b"GET /v1/socket HTTP/1.0"), 426)
answers("6455 4.2.1", "a socket with a body",
        socket(*SOCKET, b"Content-Length: %d" % len(EVIL), body=EVIL), 400)
ends("6455 5.1", "a request behind the upgrade is no frame", socket(*SOCKET, body=EVIL), 101)
