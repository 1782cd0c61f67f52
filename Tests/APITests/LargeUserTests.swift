import JSON
import Testing

@testable import API

/// Users with more than we write, and those who would make them.
@Suite struct LargeUserTests {
  private static let device = #"{"topic":"a.b"}"#

  /// Writes as others may: past every door.
  private static func fill(_ bed: APIBed, devices: Int = 0, fields: Int = 0) throws {
    _ = try bed.redis.server.cli(
      "EVAL",
      """
      for i = 1, tonumber(ARGV[1]) do
        local member = string.format('apns:production:a.b:%08x', i)
        redis.call('SADD', KEYS[1], member)
        redis.call('HSET', KEYS[2], member, '1')
        redis.call('SET', string.format('ffd:{t:%08x}', i), 'u1')
      end
      for i = 1, tonumber(ARGV[2]) do redis.call('HSET', KEYS[3], 'f' .. i, 'v') end
      """, "3", "ffd:{u:u1}:bindings", "ffd:{u:u1}:bound", "ffd:{u:u1}:profile", "\(devices)",
      "\(fields)")
  }

  @Test func whatIsTooMuchForOneAnswerIsCountedAndNotRead() async throws {
    try await APIBed.run { bed in
      try Self.fill(bed, devices: 20_000, fields: 20_000)
      for target in ["", "/devices", "/profile"] {
        let answer = try bed.ask("GET", "/v1/users/u1\(target)", as: .readOnly)
        #expect(answer.status == 413 && answer.problem == "too-large")
        #expect(answer.detail.contains("20000 elements"), "\(answer.detail)")
      }
      // One long value does as much harm as many short ones.
      _ = try bed.redis.server.cli("SETRANGE", "long", "5000000", "x")
      _ = try bed.redis.server.cli(
        "EVAL", "return redis.call('HSET', KEYS[1], 'f', redis.call('GET', 'long'))", "1",
        "ffd:{u:u2}:profile")
      #expect(try bed.ask("GET", "/v1/users/u2/profile").status == 413)
    }
  }

  @Test func suchAUserIsForgottenInPieces() async throws {
    try await APIBed.run { bed in
      try Self.fill(bed, devices: 2_500, fields: 3_000)
      let answer = try bed.ask("DELETE", "/v1/users/u1")
      #expect(answer.status == 200 && answer["complete"] == true)
      let erased = answer["erased"]?.object
      #expect(erased?["devices"] == 2_500 && erased?["tokens"] == 2_500)
      #expect(erased?["profile_fields"] == 3_000)
      let left = try bed.redis.server.cli("KEYS", "ffd:{[ut]:*")
      #expect(
        !left.contains("{u:u1}:b") && !left.contains("}\n") && !left.hasSuffix("}"), "\(left)")
    }
  }

  @Test func aUserHasABoundedNumberOfDevices() async throws {
    try await APIBed.run { bed in
      try Self.fill(bed, devices: 1_000)
      let more = try bed.ask("PUT", "/v1/users/u1/devices/ffff", Self.device)
      #expect(more.status == 413 && more.detail.contains("1001 devices"), "\(more.detail)")
      #expect(try bed.ask("PUT", "/v1/users/u1/devices/00000001", Self.device)["new"] == false)
      let other = try bed.ask(
        "PUT", "/v1/users/u1/devices/ffff", #"{"topic":"a.b","replaces":"00000001"}"#)
      #expect(other.status == 200 && other["replaced"] == true)
      let rows = """
        {"user":"u2","devices":[{"token":"aaaa","topic":"a.b"}]}
        {"user":"u1","devices":[{"token":"aaab","topic":"a.b"}],"follows":["s1"]}
        {"user":"u1","devices":[{"token":"ffff","topic":"a.b"}]}
        """
      let answer = try bed.ask(
        "POST", "/v1/imports", rows, headers: ["Content-Type": "application/x-ndjson"])
      #expect(answer["refused"] == 1 && answer["users"] == 2 && answer["devices"] == 2)
      let refusal = answer["refusals"]?.array?.first?.object
      #expect(refusal?["line"] == 2)
      #expect(refusal?["reason"]?.string?.contains("1001 devices") == true)
    }
  }

  @Test func aProfileHasABoundedNumberOfFields() async throws {
    try await APIBed.run { bed in
      try Self.fill(bed, fields: 32)
      let profile = "/v1/users/u1/profile"
      let more = try bed.ask("PATCH", profile, #"{"g":"v"}"#)
      #expect(more.status == 413 && more.detail.contains("33 fields"), "\(more.detail)")
      #expect(try bed.ask("PATCH", profile, #"{"f1":"w"}"#).status == 200)
      #expect(try bed.ask("PATCH", profile, #"{"f1":null,"g":"v"}"#).status == 200)
      let answer = try bed.ask(
        "POST", "/v1/imports", #"{"user":"u1","profile":{"h":"v"}}"#,
        headers: ["Content-Type": "application/x-ndjson"])
      #expect(answer["refused"] == 1)
      // Others have written more: it may become fewer.
      try Self.fill(bed, fields: 40)
      #expect(try bed.ask("PATCH", profile, #"{"f2":null}"#).status == 200)
    }
  }

  /// Names are counted before they are compared: this took half a minute.
  @Test func manyNamesAreRefusedBeforeTheyAreLookedUp() async throws {
    try await APIBed.run { bed in
      let names = (0..<90_000).map { #""n\#($0)":1"# }.joined(separator: ",")
      let row = #"{"user":"u1","profile":{\#(names)}}"#
      let answer = try bed.ask(
        "POST", "/v1/imports", row, headers: ["Content-Type": "application/x-ndjson"])
      #expect(answer["refused"] == 1)
      let reason = answer["refusals"]?.array?.first?.object?["reason"]?.string ?? ""
      #expect(reason.contains("more than 30000 values"), "\(reason)")
      let few = (0..<4_000).map { #""n\#($0)":"""# }.joined(separator: ",")
      let patch = try bed.ask("PATCH", "/v1/users/u1/profile", "{\(few)}")
      #expect(patch.status == 422 && patch.detail.contains("at most 32 fields"), "\(patch.detail)")
    }
  }

  /// A row's devices are counted together, whenever each was bound.
  @Test func devicesOfManyTimesAreCountedTogether() async throws {
    try await APIBed.run { bed in
      let devices = (1...1_001).map {
        #"{"token":"\#(String(0x10000 + $0, radix: 16))0","topic":"a.b","bound_at":\#($0)}"#
      }
      let answer = try bed.ask(
        "POST", "/v1/imports", #"{"user":"u1","devices":[\#(devices.joined(separator: ","))]}"#,
        headers: ["Content-Type": "application/x-ndjson"])
      #expect(answer["refused"] == 1, "\(answer.body)")
    }
  }
}
