import TLS

/// The rights that a client's certificate gives ("Establishing a certificate-based connection to
/// APNs"): requests need no provider token, and go to the certificate's topics only.
struct ClientProof {
  /// Nil: it is in order.
  let fault: RequestFault?
  /// For requests that name none; a certificate for several has none ("Sending notification
  /// requests to APNs").
  let defaultTopic: [UInt8]?
  private let topics: [[UInt8]]

  init(_ peer: PeerCertificate, isDevelopment: Bool) {
    let contents = peer.contents
    // A certificate without either mark is for both.
    let isMarked = contents.isForSandbox || contents.isForProduction
    let isForHere = isDevelopment ? contents.isForSandbox : contents.isForProduction
    if !peer.isInOrder {
      fault = .badCertificate
    } else if isMarked && !isForHere {
      fault = .badCertificateEnvironment
    } else {
      fault = nil
    }
    topics = contents.servedTopics.map { Array($0.utf8) }
    defaultTopic = topics.count == 1 ? topics[0] : nil
  }

  /// - Parameter topic: as it came, with the suffix of the push type.
  func allows(_ topic: UnsafeRawBufferPointer) -> Bool {
    topics.contains { topic.elementsEqualBytes($0) }
  }
}
