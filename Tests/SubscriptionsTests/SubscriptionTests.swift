import Testing
import Text

@testable import Subscriptions

@Suite struct SubscriptionKeysTests {
  private static let point =
    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
  private static let secret = "BTBZMqHH6r4Tts7J_aSIgg"

  private static func problem(_ p256dh: String, _ auth: String) -> SubscriptionKeys.Problem? {
    do throws(SubscriptionKeys.Problem) {
      _ = try SubscriptionKeys(p256dh: p256dh, auth: auth)
      return nil
    } catch {
      return error
    }
  }

  @Test func readsBothAlphabetsWithPaddingAndWithout() throws {
    let keys = try SubscriptionKeys(p256dh: Self.point, auth: Self.secret)
    #expect(keys.bytes.count == 81 && keys.publicKey.first == 4)
    #expect(Base64URL.encode(Array(keys.publicKey)) == Self.point)
    #expect(Base64URL.encode(Array(keys.secret)) == Self.secret)
    func standard(_ text: String) -> String {
      String(text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
    }
    for (point, secret) in [
      (Self.point + "=", Self.secret + "=="), (standard(Self.point), standard(Self.secret)),
      (standard(Self.point) + "=", standard(Self.secret) + "=="),
    ] {
      #expect(try SubscriptionKeys(p256dh: point, auth: secret) == keys)
    }
  }

  @Test(
    arguments: [
      ("", secret, .publicKeyLength),
      ("!" + point.dropFirst(), secret, .publicKeyText),
      (point + "===", secret, .publicKeyText),
      (String(point.dropLast(4)), secret, .publicKeyLength),
      ("C" + point.dropFirst(), secret, .publicKeyForm),
      (point.dropLast(2) + "ww", secret, .publicKeyPoint),
      (point, "", .secretLength), (point, "BTBZMqHH6r4Tts7J_aSI", .secretLength),
      (point, "BTBZMqHH6r4Tts7J_aSIgggg", .secretLength), (point, "BTBZ MqHH", .secretText),
      (point, "BTBZMqHH6r4Tts7J_aSIgh", .secretText),
    ] as [(String, String, SubscriptionKeys.Problem)])
  func refusesWhatIsNoKey(p256dh: String, auth: String, problem: SubscriptionKeys.Problem) {
    #expect(Self.problem(p256dh, auth) == problem)
  }
}

@Suite struct PushEndpointTests {
  private static func problem(
    _ text: String, _ rules: EndpointRules = EndpointRules()
  ) -> PushEndpoint.Problem? {
    do throws(PushEndpoint.Problem) {
      _ = try PushEndpoint(text, rules: rules)
      return nil
    } catch {
      return error
    }
  }

  /// Path and query go on byte for byte.
  @Test(arguments: [
    ("https://fcm.googleapis.com", "/fcm/send/c1KrmpTuRm4:APA91bE"),
    ("https://jmt17.google.com", "/fcm/send/x"),
    ("https://updates.push.services.mozilla.com", "/wpush/v2/gAAAAA%2Bx"),
    ("https://web.push.apple.com", "/QGuQyavXutnM~!$&'()*,;=:@"),
    ("https://wns2-by3p.notify.windows.com", "/w/?token=BQYAAAD%2fx%3d%3d"),
  ])
  func takesTheBrowsersServices(origin: String, target: String) throws {
    let endpoint = try PushEndpoint(origin + target)
    #expect(endpoint.origin == origin && endpoint.target == target && endpoint.port == 443)
    #expect("https://" + endpoint.host == origin)
    let text = Array((origin + target).utf8)
    #expect(text.withUnsafeBytes { PushEndpoint.pathOffset(in: $0) } == origin.utf8.count)
  }

  @Test(
    arguments: [
      ("", .scheme), ("http://web.push.apple.com/x", .scheme),
      ("HTTPS://web.push.apple.com/x", .scheme),
      ("https:/web.push.apple.com/x", .scheme), (" https://web.push.apple.com/x", .scheme),
      ("https://web.push.apple.com/x y", .characters),
      ("https://web.push.apple.com/\r\nx", .characters),
      ("https://web.push.apple.com/\u{0}", .characters),
      ("https://web.push.apple.com/é", .characters),
      ("https://web.push.apple.com/\\x", .characters),
      ("https://web.push.apple.com/{x}", .characters),
      ("https://web.push.apple.com/\"", .characters),
      ("https://web.push.apple.com/\u{7F}", .characters),
      ("https://web.push.apple.com/x#y", .fragment), ("https://web.push.apple.com#@h/x", .fragment),
      ("https://me@web.push.apple.com/x", .userInformation),
      ("https://web.push.apple.com:x@h.example/x", .userInformation),
      ("https://web.push.apple.com:8443/x", .port), ("https://web.push.apple.com:/x", .port),
      ("https://web.push.apple.com:0443/x", .port), ("https://web.push.apple.com:+443/x", .port),
      ("https://127.0.0.1/x", .address), ("https://[::1]/x", .address),
      ("https://127.1/x", .address),
      ("https://2130706433/x", .address), ("https://0x7f000001/x", .address),
      ("https://a.b.0x1/x", .address), ("https:///x", .hostName),
      ("https://.apple.com/x", .hostName),
      ("https://web.push.apple.com./x", .hostName), ("https://Web.push.apple.com/x", .hostName),
      ("https://a_b.push.apple.com/x", .hostName), ("https://-a.push.apple.com/x", .hostName),
      ("https://a%2e.push.apple.com/x", .hostName), ("https://localhost/x", .localName),
      ("https://redis/x", .localName), ("https://printer.local/x", .localName),
      ("https://metadata.google.internal/x", .localName), ("https://a.localhost/x", .localName),
      ("https://router.home.arpa/x", .localName), ("https://web.push.apple.com", .path),
      ("https://web.push.apple.com?x", .path), ("https://push.example.com/x", .unknownHost),
      ("https://evilpush.apple.com/x", .unknownHost),
      ("https://web.push.apple.com.example/x", .unknownHost),
    ] as [(String, PushEndpoint.Problem)])
  func refusesWhatCouldLeadElsewhere(text: String, problem: PushEndpoint.Problem) {
    #expect(Self.problem(text) == problem)
  }

  @Test func isAtMostAsLongAsAToken() {
    let start = "https://web.push.apple.com/"
    let longest = start + String(repeating: "x", count: 2048 - start.utf8.count)
    #expect(Self.problem(longest) == nil)
    #expect(Self.problem(longest + "x") == .tooLong)
    let label = String(repeating: "a", count: 63)
    #expect(Self.problem("https://\(label).push.apple.com/x") == nil)
    #expect(Self.problem("https://\(label)a.push.apple.com/x") == .hostName)
    let long = Array(repeating: label, count: 4).joined(separator: ".")
    #expect(Self.problem("https://\(long).push.apple.com/x") == .hostName)
  }

  @Test func otherHostsAndPortsAreAChoice() throws {
    let open = EndpointRules(hosts: .open, ports: [8443])
    #expect(Self.problem("https://push.example.com/x", open) == nil)
    #expect(Self.problem("https://push.example.com:8444/x", open) == .port)
    #expect(Self.problem("https://10.0.0.1/x", open) == .address)
    #expect(Self.problem("https://redis/x", open) == .localName)
    #expect(
      try PushEndpoint("https://push.example.com:8443/x", rules: open).origin
        == "https://push.example.com:8443")
    #expect(
      try PushEndpoint("https://push.example.com:443/x", rules: open).origin
        == "https://push.example.com")
    let ours = EndpointRules(hosts: .suffixes(["example.com"]))
    #expect(Self.problem("https://example.com/x", ours) == nil)
    #expect(Self.problem("https://a.b.example.com/x", ours) == nil)
    #expect(Self.problem("https://anexample.com/x", ours) == .unknownHost)
  }
}

@Suite struct AddressRulesTests {
  @Test(arguments: [
    "0.0.0.0", "0.255.255.255", "10.0.0.1", "10.255.255.255", "100.64.0.0", "100.127.255.255",
    "100.100.100.200", "127.0.0.1", "127.255.255.255", "169.254.169.254", "172.16.0.0",
    "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.168.0.1", "192.168.255.255", "198.18.0.0",
    "198.19.255.255", "198.51.100.7", "203.0.113.7", "224.0.0.1", "239.255.255.255", "240.0.0.1",
    "255.255.255.255",
  ])
  func refusesIPv4OutsideTheInternet(text: String) throws {
    let address = try ipv4(text)
    #expect(AddressRules.refuses(address))
    // Nor by way of IPv6.
    #expect(AddressRules.refuses([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF] + address))
    #expect(AddressRules.refuses([0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0] + address))
  }

  @Test(arguments: [
    "1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
    "128.0.0.1", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.1",
    "192.0.3.1", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "198.51.99.1",
    "198.51.101.1", "203.0.112.1", "203.0.114.1", "223.255.255.255", "142.250.185.74",
  ])
  func takesIPv4OfTheInternet(text: String) throws {
    let address = try ipv4(text)
    #expect(!AddressRules.refuses(address))
    #expect(!AddressRules.refuses([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF] + address))
    #expect(!AddressRules.refuses([0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0] + address))
  }

  @Test(
    arguments: [
      ([], true), ([0, 0], true),  // ::, and all that begins with it
      ([0, 0x64, 0xFF, 0x9B, 0, 1], true),  // NAT64 of a local network
      ([0x01, 0], true), ([0x20, 0x01, 0, 0], true), ([0x20, 0x01, 0x01, 0xFF], true),
      ([0x20, 0x01, 0x02], false), ([0x20, 0x01, 0x0D, 0xB7], false),
      ([0x20, 0x01, 0x0D, 0xB8, 1], true), ([0x20, 0x01, 0x0D, 0xB9], false),
      ([0x20, 0x02], true), ([0x20, 0x03], false), ([0x2A, 0x00, 0x14, 0x50], false),
      ([0x3F, 0xFE], false), ([0x3F, 0xFF, 0x0F], true), ([0x3F, 0xFF, 0x10], false),
      ([0x40], true), ([0x1F, 0xFF], true), ([0xFC], true), ([0xFD, 0x12], true),
      ([0xFE, 0x80], true), ([0xFE, 0xC0], true), ([0xFF, 0x02], true),
    ] as [([UInt8], Bool)])
  func takesIPv6OfTheInternetAlone(beginning: [UInt8], isRefused: Bool) {
    let address = beginning + [UInt8](repeating: 0, count: 15 - beginning.count) + [1]
    #expect(AddressRules.refuses(address) == isRefused)
  }

  @Test func refusesWhatIsNoAddress() {
    for count in [0, 3, 5, 15, 17] {
      #expect(AddressRules.refuses([UInt8](repeating: 0x2A, count: count)))
    }
  }

  private func ipv4(_ text: String) throws -> [UInt8] {
    let bytes = text.split(separator: ".").compactMap { UInt8($0) }
    try #require(bytes.count == 4)
    return bytes
  }
}
