import Text

/// The value of a field. There is no case for raw tokens: a `TokenLabel` is the loggable form of
/// one.
package enum LogValue: Sendable, Equatable {
  case text(String)
  case integer(Int)
  case double(Double)
  case bool(Bool)
  case token(TokenLabel)
}

extension LogValue: ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral
{
  package init(stringLiteral value: String) { self = .text(value) }
  package init(integerLiteral value: Int) { self = .integer(value) }
  package init(floatLiteral value: Double) { self = .double(value) }
  package init(booleanLiteral value: Bool) { self = .bool(value) }
}

/// Fields of a line, in the order written.
package typealias LogFields = NamedValues<LogValue>
