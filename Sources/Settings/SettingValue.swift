import JSON
import Text

/// A value of one key, after reading.
package enum SettingValue: Sendable, Equatable {
  case text(String)
  case integer(Int)
  case duration(Duration)
  case bool(Bool)
  case list([String])
  case map([String: String])
}
