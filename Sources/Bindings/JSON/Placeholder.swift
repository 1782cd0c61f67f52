package enum JSONValue { case null
  package static func parse(_ b: [UInt8], maximumBytes: Int, maximumDepth: Int) throws -> JSONValue { .null }
  package subscript(_ n: String) -> JSONValue? { nil }
  package var stringValue: String? { nil }
  package var integerValue: Int64? { nil } }
