import Text

extension SettingTable {
  static let outcomes: [SettingKey] = [
    .choice(
      "outcomes.recipients", \.outcomes.recipients, default: .none,
      "Which outcomes of single pushes are written to kafka.topics.outcomes beside those of "
        + "fan-outs. none: no outcomes; sampled: those of a share of the users; all: those of "
        + "every push, which costs a record of some 350 bytes for each."),
    .text(
      "outcomes.sample", \.outcomes.sample, default: "1%", .share,
      "The share of the users with `sampled`, from 0% to 100%. They are the same users in every "
        + "event and on every worker."),
  ]

  static let traces: [SettingKey] = [
    .text(
      "traces.endpoint", \.traces.endpoint, example: "http://collector:4318/v1/traces",
      .webAddress,
      "The collector that spans are sent to, as OTLP over HTTP in JSON. Without it no spans are "
        + "made, and only the trace's id is written to the log. Over https:// the collector must "
        + "speak HTTP/2."),
    .text(
      "traces.sample", \.traces.sample, default: "1%", .share,
      "The share of the events without a `traceparent` that are traced, from 0% to 100%. An event "
        + "with one is traced if its producer samples it."),
    .secret(
      "traces.headers", \.traces.headers,
      "Headers for the collector, such as `authorization=Bearer …`; several are separated by "
        + "commas. A value may be percent-encoded."),
    .secretFile(
      "traces.headers_file", of: "traces.headers", example: "/run/secrets/collector-headers",
      "A file that holds the headers, up to 4 KiB. It is read at the start."),
    .path(
      "traces.ca_file", \.traces.caFile, example: "/etc/fanfare/collector-ca.pem",
      "PEM certificates to trust instead of the system's."),
    .map(
      "traces.attributes", \.traces.attributes, TraceAttributes.complaint,
      "Attributes of the process in every span, such as `deployment.environment.name`. "
        + "service.name is fanfare, service.instance.id is worker.id, unless they are set here."),
  ]
}

/// Which attributes of the process a span may have.
enum TraceAttributes {
  private static let maximumBytes = 256

  static func complaint(name: String, value: String) -> SettingComplaint? {
    let isName = name.utf8.allSatisfy { byte in
      byte.isASCIIWord || byte == 0x2E || byte == 0x5F || byte == 0x2D
    }
    guard isName, (1...maximumBytes).contains(name.utf8.count) else {
      return SettingComplaint(
        "\(Shown.value(name)) is no attribute",
        hint: "names look like `deployment.environment.name`")
    }
    let isText = value.utf8.count <= maximumBytes && value.utf8.allSatisfy { $0 >= 0x20 }
    return isText
      ? nil : SettingComplaint("`\(name)` must be text of at most \(maximumBytes) bytes")
  }
}

/// A share of all, as `1%` or `0.25%`.
package enum Share {
  /// 0...1; nil for what is no such text.
  package static func parse(_ text: String) -> Double? {
    let digits = text.utf8.dropLast()
    let isNumber = digits.allSatisfy { $0.isASCIIDigit || $0 == 0x2E }
    guard text.utf8.last == UInt8(ascii: "%"), isNumber, digits.first?.isASCIIDigit == true,
      let number = Double(String(text.dropLast())), number <= 100
    else { return nil }
    return number / 100
  }
}
