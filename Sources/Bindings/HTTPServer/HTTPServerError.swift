/// Why a server cannot listen.
package struct HTTPServerError: Error, Sendable, Equatable, CustomStringConvertible {
  package let description: String
}
