import Devices
import Model
import Telemetry
import Terminal

/// A user's devices for people and for scripts. A token is a secret of its user: it is shown only
/// to whoever asks for it.
struct DeviceRows {
  static let tokens = Option(flag: "tokens", help: "Also show the tokens")

  private let devices: UserDevices
  private let showsTokens: Bool

  init(_ devices: UserDevices, showsTokens: Bool) {
    self.devices = devices
    self.showsTokens = showsTokens
  }

  var json: JSONOutput {
    let bound = devices.bound.map { device -> JSONOutput in
      var row = Self.row(device.binding, showsTokens)
      row["state"] = "bound"
      row["bound_at"] = device.boundAt.map { .integer(Int($0)) } ?? .null
      return .object(row)
    }
    let setAside = devices.setAside.map { device -> JSONOutput in
      var row = Self.row(device.binding, showsTokens)
      row["state"] = "set_aside"
      row["reason"] = .text(device.reason)
      row["set_aside_at"] = device.setAsideAt.map { .integer(Int($0)) } ?? .null
      return .object(row)
    }
    return .array(bound + setAside)
  }

  private static func row(_ binding: Binding, _ showsToken: Bool) -> Terminal.JSONObject {
    var row: Terminal.JSONObject = [
      "platform": .text(binding.destination.platform.name), "topic": .text(binding.topic),
    ]
    if let environment = binding.destination.environment { row["environment"] = .text(environment) }
    if showsToken { row["token"] = .text(binding.token) }
    return row
  }

  func write(of user: String, _ invocation: Invocation) {
    if devices.bound.isEmpty, devices.setAside.isEmpty {
      invocation.errors.line(TextLayout.printable("\(user) has no device"))
    } else {
      table.write(to: invocation.output)
    }
    if devices.unreadable > 0 {
      invocation.errors.line("\(Figures.grouped(devices.unreadable)) entries are no devices")
    }
  }

  var table: Table {
    var table = Table(
      [.init("ENVIRONMENT"), .init("TOPIC"), .init("STATE"), .init("SINCE")]
        + (showsTokens ? [.init("TOKEN")] : []))
    for device in devices.bound {
      table.add(cells(device.binding, "bound", since: device.boundAt))
    }
    for device in devices.setAside {
      table.add(cells(device.binding, "set aside: \(device.reason)", since: device.setAsideAt))
    }
    return table
  }

  private func cells(_ binding: Binding, _ state: String, since: Int64?) -> [String] {
    [
      binding.destination.name, binding.topic, state,
      since.map { WallClock.rfc3339($0) } ?? "not known",
    ] + (showsTokens ? [binding.token] : [])
  }
}
