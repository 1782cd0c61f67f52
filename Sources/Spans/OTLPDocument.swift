import Model
import Text

/// Spans as a request of OTLP over HTTP in JSON (`ExportTraceServiceRequest`): ids in hexadecimal,
/// numbers of 64 bits as strings, enumerations as numbers (OTLP 1.x, "JSON Protobuf Encoding").
package struct OTLPDocument: Sendable {
  private let resource: String
  private let scope: String

  /// - Parameters:
  ///   - attributes: of the process.
  ///   - version: of the program.
  package init(attributes: [Span.Attribute], version: String) {
    resource = #"{"attributes":\#(Self.list(attributes))}"#
    scope = #"{"name":"fanfare","version":\#(JSONString.quoted(version))}"#
  }

  package func text(of spans: [Span]) -> String {
    let list = spans.map(Self.text).joined(separator: ",")
    return #"{"resourceSpans":[{"resource":\#(resource),"#
      + #""scopeSpans":[{"scope":\#(scope),"spans":[\#(list)]}]}]}"#
  }

  private static func text(of span: Span) -> String {
    var members = [
      #""traceId":"\#(span.traceID)""#, #""spanId":"\#(HexText.of(span.id))""#,
    ]
    if let parent = span.parentID { members.append(#""parentSpanId":"\#(HexText.of(parent))""#) }
    members += [
      #""name":\#(JSONString.quoted(span.name))"#, #""kind":\#(span.kind.rawValue)"#,
      #""startTimeUnixNano":"\#(nanoseconds(span.startedAt))""#,
      #""endTimeUnixNano":"\#(nanoseconds(span.endedAt))""#,
      #""attributes":\#(list(span.attributes))"#,
    ]
    // STATUS_CODE_ERROR; of a span that did not fail it is not set.
    if let failure = span.failure {
      members.append(#""status":{"code":2,"message":\#(JSONString.quoted(failure))}"#)
    }
    return "{\(members.joined(separator: ","))}"
  }

  /// As text: what is later than the year 2262 is more than a number of 64 bits holds.
  private static func nanoseconds(_ milliseconds: Int64) -> String {
    milliseconds == 0 ? "0" : "\(milliseconds)000000"
  }

  private static func list(_ attributes: [Span.Attribute]) -> String {
    let items = attributes.map { attribute in
      let value =
        switch attribute.value {
        case .text(let text): #"{"stringValue":\#(JSONString.quoted(text))}"#
        case .integer(let number): #"{"intValue":"\#(number)"}"#
        case .bool(let flag): #"{"boolValue":\#(flag)}"#
        }
      return #"{"key":\#(JSONString.quoted(attribute.key)),"value":\#(value)}"#
    }
    return "[\(items.joined(separator: ","))]"
  }
}
