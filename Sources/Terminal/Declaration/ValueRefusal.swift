/// Why a value was refused: half a sentence that follows the option's name.
package struct ValueRefusal: Error, Sendable, Equatable {
  package let reason: String
  package init(_ reason: String) { self.reason = reason }
}
