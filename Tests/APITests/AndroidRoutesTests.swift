import JSON
import Testing

@testable import API

@Suite struct AndroidRoutesTests {
  private static let body = #"{"topic":"com.example.live"}"#
  private static let path = "/v1/users/u1/devices/fcm/dQw4%3AAPA91b_x-Y"

  @Test func aTokenOfFirebaseIsBoundListedAndTakenAway() async throws {
    try await APIBed.run { bed in
      let answer = try bed.ask("PUT", Self.path, Self.body, as: .appServer)
      #expect(answer.status == 200 && answer["new"] == true)
      let device = answer["device"]?.object
      #expect(device?["platform"] == "fcm" && device?["token"] == "dQw4:APA91b_x-Y")
      #expect(device?["topic"] == "com.example.live" && device?["environment"] == nil)
      let listed = try bed.ask("GET", "/v1/users/u1/devices", as: .readOnly)["devices"]?.array
      #expect(listed?.first?.object?["platform"] == "fcm")
      #expect(listed?.first?.object?["token"] == "dQw4:APA…")
      #expect(try bed.ask("DELETE", Self.path)["removed"] == 1)
      #expect(try bed.ask("DELETE", Self.path)["removed"] == 0)
    }
  }

  @Test func aNewTokenReplacesTheOld() async throws {
    try await APIBed.run { bed in
      _ = try bed.ask("PUT", Self.path, Self.body)
      let new = #"{"topic":"com.example.live","replaces":"dQw4:APA91b_x-Y"}"#
      #expect(try bed.ask("PUT", "/v1/users/u1/devices/fcm/new", new)["replaced"] == true)
      let devices = try bed.ask("GET", "/v1/users/u1/devices", as: .appServer)["devices"]?.array
      #expect(devices?.map { $0.object?["token"] } == ["new"])
    }
  }

  /// Apple's path takes Apple's tokens alone.
  @Test func thereIsNoEnvironmentAndNoOtherPlatformsToken() async throws {
    try await APIBed.run { bed in
      let sandbox = #"{"topic":"com.example.live","environment":"sandbox"}"#
      let refused = try bed.ask("PUT", Self.path, sandbox)
      #expect(refused.status == 422)
      #expect(try bed.ask("DELETE", Self.path + "?environment=sandbox").status == 400)
      #expect(try bed.ask("PUT", "/v1/users/u1/devices/dQw4%3Ax", Self.body).status == 422)
      #expect(try bed.ask("PUT", "/v1/users/u1/devices/fcm/a%7Bb", Self.body).status == 422)
    }
  }
}
