/// One counter of a fan-out's hash.
package struct FanOutFigure: Sendable, Equatable {
  package let name: String
  package let count: Int
}
