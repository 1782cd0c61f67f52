/// Which of Apple's two services a token belongs to.
package enum APNsEnvironment: UInt8, Sendable, Equatable, CaseIterable {
  case production
  case sandbox

  package var name: String {
    switch self {
    case .production: "production"
    case .sandbox: "sandbox"
    }
  }
}
