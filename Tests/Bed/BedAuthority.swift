import TLS

/// Who signs the certificates of a simulator and of its clients.
package struct BedAuthority: Sendable {
  let authority: ThrowAwayAuthority

  package init() throws { authority = try ThrowAwayAuthority(hosts: ["localhost", "127.0.0.1"]) }

  /// A certificate with its key, PEM.
  /// - Parameter days: until it ends; below 0 it has ended.
  package func certificate(of topic: String = WorkerBed.app, days: Int = 365) throws -> String {
    try authority.client(subjectID: topic, topics: nil, days: days)
  }
}
