import JSON
import Testing

@testable import API

@Suite struct DeviceRoutesTests {
  private static let body = #"{"topic":"com.example.live"}"#

  private static func tokens(_ bed: APIBed, _ user: String) throws -> [String] {
    let answer = try bed.ask("GET", "/v1/users/\(user)/devices", as: .appServer)
    #expect(answer.status == 200)
    return answer["devices"]?.array?.compactMap { $0.object?["token"]?.string } ?? []
  }

  @Test func aDeviceIsBoundListedAndTakenAway() async throws {
    try await APIBed.run { bed in
      let device = "/v1/users/u1/devices/00ab"
      let first = try bed.ask("PUT", device, Self.body, as: .appServer)
      #expect(first.status == 200)
      #expect(first["new"] == true)
      #expect(try bed.ask("PUT", device, Self.body)["new"] == false)
      #expect(try Self.tokens(bed, "u1") == ["00ab"])
      #expect(
        try await bed.redis.run { try await $0.ask("SMEMBERS", "ffd:{u:u1}:bindings") } == nil)
      #expect(try bed.ask("DELETE", device)["removed"] == 1)
      #expect(try bed.ask("DELETE", device)["removed"] == 0)
      #expect(try Self.tokens(bed, "u1").isEmpty)
    }
  }

  @Test func whoMayOnlyLookSeesNoWholeToken() async throws {
    try await APIBed.run { bed in
      let token = String(repeating: "a1", count: 32)
      _ = try bed.ask("PUT", "/v1/users/u1/devices/\(token)", Self.body)
      for target in ["/v1/users/u1/devices", "/v1/users/u1"] {
        let seen = try bed.ask("GET", target, as: .readOnly)["devices"]?.array
        #expect(seen?.first?.object?["token"] == "a1a1a1a1…")
        let whole = try bed.ask("GET", target, as: .appServer)["devices"]?.array
        #expect(whole?.first?.object?["token"]?.string == token)
      }
    }
  }

  @Test func aTokenIsTakenAsAPhonePrintsIt() async throws {
    try await APIBed.run { bed in
      let answer = try bed.ask("PUT", "/v1/users/u1/devices/%3CAABB%20ccdd%3E", Self.body)
      #expect(answer["device"]?.object?["token"] == "aabbccdd")
      #expect(try bed.ask("DELETE", "/v1/users/u1/devices/AABBCCDD")["removed"] == 1)
    }
  }

  /// A backend that sends later what it has kept takes nothing from whoever logged in since.
  @Test func whatIsToldTooLateTakesNothing() async throws {
    try await APIBed.run { bed in
      _ = try bed.ask("PUT", "/v1/users/second/devices/00ab", Self.body)
      func late(_ milliseconds: Int64, _ more: String = "") throws -> APIBed.Answer {
        let body = #"{"topic":"com.example.live","bound_at_ms":\#(milliseconds)\#(more)}"#
        return try bed.ask("PUT", "/v1/users/first/devices/00ab", body)
      }
      for more in ["", #","replaces":"00cd""#] {
        #expect(try late(1_795_247_999_000, more).problem == "conflict")
      }
      #expect(try Self.tokens(bed, "second") == ["00ab"] && Self.tokens(bed, "first").isEmpty)
      #expect(try late(1_795_248_000_000).status == 200)
      #expect(try Self.tokens(bed, "second").isEmpty && Self.tokens(bed, "first") == ["00ab"])
    }
  }

  @Test func aTokenThatAnotherBindsLeavesTheFirst() async throws {
    try await APIBed.run { bed in
      _ = try bed.ask("PUT", "/v1/users/first/devices/00ab", Self.body)
      _ = try bed.ask("PUT", "/v1/users/second/devices/00ab", Self.body)
      #expect(try Self.tokens(bed, "first").isEmpty)
      #expect(try Self.tokens(bed, "second") == ["00ab"])
    }
  }

  @Test func anOldTokenIsReplaced() async throws {
    try await APIBed.run { bed in
      _ = try bed.ask("PUT", "/v1/users/u1/devices/00ab", Self.body)
      let new = #"{"topic":"com.example.live","replaces":"00AB"}"#
      #expect(try bed.ask("PUT", "/v1/users/u1/devices/00cd", new)["replaced"] == true)
      #expect(try Self.tokens(bed, "u1") == ["00cd"])
      #expect(try bed.ask("PUT", "/v1/users/u1/devices/00cd", new)["replaced"] == false)
      #expect(try Self.tokens(bed, "u1") == ["00cd"])
    }
  }

  private static let boundAtRule =
    "bound_at_ms must be milliseconds since 1970, of a time since push exists"

  @Test(arguments: [
    ("/v1/users/u1/devices/zz", #"{"topic":"com.example.live"}"#, "token must be"),
    ("/v1/users/u1/devices/00ab", "{}", "topic is missing"),
    ("/v1/users/u1/devices/00ab", #"{"topic":"a b"}"#, "topic must be"),
    ("/v1/users/u1/devices/00ab", #"{"topic":"a","environment":"test"}"#, "environment must be"),
    ("/v1/users/u1/devices/00ab", #"{"topic":"a","replaces":"x"}"#, "replaces must be"),
    ("/v1/users/u1/devices/00ab", #"{"topic":"a","bound_at_ms":"x"}"#, "bound_at_ms is"),
    (
      "/v1/users/u1/devices/00ab", #"{"topic":"a","bound_at_ms":1700000000}"#,
      "\(boundAtRule): 1700000000 ms is 1970-01-20: give milliseconds"
    ),
    (
      "/v1/users/u1/devices/00ab", #"{"topic":"a","bound_at_ms":0}"#,
      "\(boundAtRule): 0 ms is 1970-01-01"
    ),
    (
      "/v1/users/u1/devices/00ab", #"{"topic":"a","bound_at_ms":1700000000000000}"#,
      "\(boundAtRule): 1700000000000000 ms is 55840-11-08"
    ),
    ("/v1/users/u1/devices/00ab", #"{"topic":"a","topci":"b"}"#, "the body has an unknown member"),
    ("/v1/users/a%7Bb/devices/00ab", #"{"topic":"a"}"#, "user must be"),
  ])
  func whatIsWrongIsSaid(_ target: String, _ body: String, _ reason: String) async throws {
    try await APIBed.run { bed in
      let answer = try bed.ask("PUT", target, body)
      #expect(answer.status == 422)
      #expect(answer.problem == "invalid")
      #expect(answer.detail.hasPrefix(reason), "\(answer.detail)")
    }
  }

  @Test func profilesAreMerged() async throws {
    try await APIBed.run { bed in
      let profile = "/v1/users/u1/profile"
      _ = try bed.ask("PATCH", profile, #"{"locale":"ja","badge":3,"muted":false,"name":"A"}"#)
      let answer = try bed.ask("PATCH", profile, #"{"name":null,"tz":"Asia/Tokyo"}"#)
      #expect(
        answer["profile"]
          == .object(
            JSONObject([("badge", "3"), ("locale", "ja"), ("muted", "0"), ("tz", "Asia/Tokyo")])))
      for wrong in [
        #"{"badge":-1}"#, #"{"muted":"x"}"#, #"{"tz":3}"#, #"{"quiet":"late"}"#,
        #"{"tz":"Asia/Tokio"}"#, #"{"locale":"jp"}"#, #"{"muted_streamers":["a\nb"]}"#,
        #"{"muted_streamers":[""]}"#,
      ] {
        #expect(try bed.ask("PATCH", profile, wrong).status == 422, "\(wrong)")
      }
    }
  }

  @Test func followsAreCounted() async throws {
    try await APIBed.run { bed in
      #expect(try bed.ask("PUT", "/v1/users/u1/follows/s1")["new"] == true)
      #expect(try bed.ask("PUT", "/v1/users/u1/follows/s1", #"{"muted":true}"#)["new"] == false)
      let audience = try bed.ask("GET", "/v1/audiences/s1?sample=5")
      #expect(audience["followers"] == 1)
      #expect(audience["sample"] == .array(["u1"]))
      #expect(
        try bed.ask("GET", "/v1/users/u1/profile")["profile"]?.object?["muted_streamers"] == "s1")
      #expect(try bed.ask("DELETE", "/v1/users/u1/follows/s1")["removed"] == true)
      #expect(try bed.ask("GET", "/v1/audiences/s1")["followers"] == 0)
    }
  }

  @Test func whoIsForgottenLeavesNothing() async throws {
    try await APIBed.run { bed in
      _ = try bed.ask("PUT", "/v1/users/u1/devices/00ab", Self.body)
      _ = try bed.ask("PATCH", "/v1/users/u1/profile", #"{"locale":"ja"}"#)
      _ = try bed.ask("PUT", "/v1/users/u1/follows/s1")
      let answer = try bed.ask("DELETE", "/v1/users/u1?everywhere=true")
      #expect(answer["complete"] == true)
      #expect(answer["erased"]?.object?["follows"] == 1)
      #expect(answer["erased"]?.object?["devices"] == 1)
      #expect(try bed.ask("GET", "/v1/users/u1").status == 404)
      #expect(try bed.ask("GET", "/v1/audiences/s1")["followers"] == 0)
    }
  }

  /// A comma and a mark behind it are one character, and two ids.
  @Test func streamersAreToldApartByTheirCommas() async throws {
    try await APIBed.run { bed in
      for streamer in ["s1", "s2", "%EF%B8%8Fs3"] {
        _ = try bed.ask("PUT", "/v1/users/u1/follows/\(streamer)")
      }
      let answer = try bed.ask("DELETE", "/v1/users/u1?follows=s1,%EF%B8%8Fs3,s2")
      #expect(answer["erased"]?.object?["follows"] == 3, "\(answer.body)")
    }
  }
}
