import Devices
import Terminal
import Testing

@testable import DeviceVerbs

@Suite struct DeviceRowsTests {
  /// A token is shown to nobody who did not ask for it.
  @Test func tokensAreShownOnlyWhenAsked() throws {
    let token = "aabbccddeeff0011"
    let binding = try Given.binding(
      token: token, topic: "com.example.live", environment: .sandbox)
    var devices = UserDevices()
    devices.bound = [
      BoundDevice(binding: binding, boundAt: 1_767_225_600_000),
      BoundDevice(binding: binding, boundAt: nil),
    ]
    let plain = DeviceRows(devices, showsTokens: false)
    #expect(!plain.json.serialized().contains(token))
    #expect(!plain.table.text(width: nil).contains(token))
    #expect(plain.json.serialized().contains(#""bound_at":1767225600000"#))
    #expect(plain.table.text(width: nil).contains("2026-01-01T00:00:00"))
    #expect(plain.table.text(width: nil).contains("not known"))
    let open = DeviceRows(devices, showsTokens: true)
    #expect(open.json.serialized().contains(token))
    #expect(open.table.text(width: nil).contains(token))
  }
}
