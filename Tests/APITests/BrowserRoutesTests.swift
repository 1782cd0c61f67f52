import JSON
import Testing

@testable import API

@Suite struct BrowserRoutesTests {
  private static let host = "https%3A%2F%2Fupdates.push.services.mozilla.com"
  private static let path = "/v1/users/u1/devices/webpush/\(host)%2Fwpush%2Fv2%2FgAAA"
  private static let p256dh =
    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"

  private static func body(auth: String = "BTBZMqHH6r4Tts7J_aSIgg", _ more: String = "") -> String {
    #"{"topic":"com.example.live","keys":{"p256dh":"\#(p256dh)","auth":"\#(auth)"}\#(more)}"#
  }

  @Test func aSubscriptionIsBoundListedAndTakenAway() async throws {
    try await APIBed.run { bed in
      let answer = try bed.ask("PUT", Self.path, Self.body(), as: .appServer)
      #expect(answer.status == 200 && answer["new"] == true)
      let device = answer["device"]?.object
      #expect(device?["platform"] == "webpush" && device?["topic"] == "com.example.live")
      #expect(device?["token"] == "https://updates.push.services.mozilla.com/wpush/v2/gAAA")
      let new = Self.body(auth: "DGv6ra1nlYgDCS1FRnbzlw")
      #expect(try bed.ask("PUT", Self.path, new).status == 200)
      let listed = try bed.ask("GET", "/v1/users/u1/devices", as: .readOnly)["devices"]?.array
      #expect(listed?.count == 1)
      #expect(
        listed?.first?.object?["token"] == "updates.push.services.mozilla.com/…2/gAAA")
      #expect(try bed.ask("DELETE", Self.path)["removed"] == 1)
      #expect(try bed.ask("DELETE", Self.path)["removed"] == 0)
    }
  }

  @Test func aNewEndpointReplacesTheOld() async throws {
    try await APIBed.run { bed in
      _ = try bed.ask("PUT", Self.path, Self.body())
      let old = "https://updates.push.services.mozilla.com/wpush/v2/gAAA"
      let body = Self.body(auth: "DGv6ra1nlYgDCS1FRnbzlw", #","replaces":"\#(old)""#)
      #expect(try bed.ask("PUT", Self.path + "2", body)["replaced"] == true)
      let devices = try bed.ask("GET", "/v1/users/u1/devices", as: .appServer)["devices"]?.array
      #expect(devices?.map { $0.object?["token"] } == [.string(old + "2")])
    }
  }

  @Test(arguments: [
    "https%3A%2F%2F10.0.0.1%2Fx", "http%3A%2F%2Fweb.push.apple.com%2Fx",
    "https%3A%2F%2Fexample.com%2Fx", "https%3A%2F%2Fweb.push.apple.com%3A8443%2Fx",
    "https%3A%2F%2Flocalhost%2Fx", "https%3A%2F%2Fu%40web.push.apple.com%2Fx",
    "https%3A%2F%2Fweb.push.apple.com.evil.example%2Fx",
  ])
  func anEndpointThatNobodyMaySendToIsRefused(endpoint: String) async throws {
    try await APIBed.run { bed in
      let path = "/v1/users/u1/devices/webpush/" + endpoint
      let answer = try bed.ask("PUT", path, Self.body())
      #expect(answer.status == 422)
    }
  }

  /// Also of a host that is allowed no longer.
  @Test func whatIsNoEndpointIsNotUnbound() async throws {
    try await APIBed.run { bed in
      let path = "/v1/users/u1/devices/webpush/"
      for token in [
        "000000000000", "https%3A%2F%2F", "https%3A%2F%2Fa.example", "http%3A%2F%2Fa%2Fb",
      ] {
        let answer = try bed.ask("DELETE", path + token)
        #expect(answer.status == 422 || answer.status == 400, "\(token)")
      }
      let gone = try bed.ask("DELETE", path + "https%3A%2F%2Fa.example%2Fx")
      #expect(gone.status == 200 && gone["removed"] == 0)
    }
  }

  @Test func keysMustBeKeys() async throws {
    try await APIBed.run { bed in
      for body in [
        Self.body(auth: "short"), Self.body(#","environment":"production""#),
        Self.body(#","vapid_key":"unknown""#), #"{"topic":"com.example.live"}"#,
        #"{"topic":"com.example.live","keys":{"p256dh":"x","auth":"y","more":1}}"#,
      ] {
        let answer = try bed.ask("PUT", Self.path, body)
        #expect(answer.status == 422, "\(body)")
      }
    }
  }
}
