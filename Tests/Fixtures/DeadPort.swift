import Processes

/// A port of 127.0.0.1 where nobody listens for as long as this process lives: one that is only
/// found free is soon another test's server.
package enum DeadPort {
  private static let reserved = Result { try ReservedPort() }

  package static var number: Int { get throws { try reserved.get().number } }
}
