import Model

/// A part of a trace that has ended, as OpenTelemetry has it. Its texts and attributes are bounded
/// by those who make it: it names no user and no token.
package struct Span: Sendable, Equatable {
  /// Numbers of OTLP (`SpanKind`).
  package enum Kind: Int, Sendable {
    case `internal` = 1
    case client = 3
    case producer = 4
    case consumer = 5
  }

  package enum Value: Sendable, Equatable {
    case text(String)
    case integer(Int)
    case bool(Bool)
  }

  package struct Attribute: Sendable, Equatable {
    package let key: String
    package let value: Value

    package init(_ key: String, _ value: Value) {
      self.key = key
      self.value = value
    }
  }

  package let name: String
  package let kind: Kind
  package let traceID: TraceID
  package let id: UInt64
  /// nil: the root of its trace.
  package let parentID: UInt64?
  /// Ms since 1970.
  package let startedAt: Int64
  package let endedAt: Int64
  package let attributes: [Attribute]
  /// Why it failed, in words; nil: it did not.
  package let failure: String?

  /// - Parameter endedAt: not before `startedAt`; where clocks say so, the span has no length.
  package init(
    _ name: String, _ kind: Kind, of traceID: TraceID, id: UInt64, parent: UInt64?,
    from startedAt: Int64, to endedAt: Int64, _ attributes: [Attribute], failure: String? = nil
  ) {
    self.name = name
    self.kind = kind
    self.traceID = traceID
    self.id = id
    parentID = parent
    self.startedAt = max(0, startedAt)
    self.endedAt = max(self.startedAt, endedAt)
    self.attributes = attributes
    self.failure = failure
  }
}
