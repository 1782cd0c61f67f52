import Model

/// One of Apple's services, as a flag names it.
package enum EnvironmentChoice: String, CaseIterable, Sendable {
  case production, sandbox

  package var model: Destination { self == .production ? .production : .sandbox }
}
