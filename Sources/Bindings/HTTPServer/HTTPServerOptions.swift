import Glibc

/// Where a server listens, and what a client may take of it.
package struct HTTPServerOptions: Sendable {
  /// A name or an address.
  package var host = "127.0.0.1"
  /// 0: a free one.
  package var port = 0
  /// When another comes, the one goes that has been quiet for longest, of the client that has the
  /// most. Where each waits for our answer, who comes waits for the first of these.
  package var maximumConnections = 64
  /// Answers that go on (`HTTPStateStream`): a further one is refused with 503. They keep their
  /// connections, so that there must be fewer than `maximumConnections`.
  package var maximumStreams = 32
  /// The request line and all headers of one request.
  package var maximumHeadBytes = 16 << 10
  package var maximumBodyBytes = 1 << 20
  /// All bodies together that are there or coming: who would need more is told to come again. nil:
  /// what all connections may have.
  package var maximumBodiesBytes: Int?
  /// Clients must speak TLS 1.2 or 1.3, and see this certificate. nil: plain HTTP.
  package var identity: HTTPServerIdentity?
  /// For a handshake of TLS; and from the first byte of a request to the end of its response,
  /// whatever the client sends meanwhile. Of a stream: for a client that reads nothing.
  package var exchangeTimeout: Duration = .seconds(10)
  /// For a connection on which no byte of a request has come. Load balancers keep theirs for 60 s
  /// and longer, and send the next request on one that we may be closing: the longest that is usual
  /// by default is ours to outlive.
  package var idleTimeout: Duration = .seconds(90)
  /// For so long, and so many bytes, a client that was answered in the middle of its body may go on
  /// sending, unheard: many read no answer before they have sent all.
  package var lingerTimeout: Duration = .seconds(30)
  package var lingerBytes = 1 << 30
  /// Makes the server's own answer of a status and a reason.
  package var refusal: @Sendable (_ status: Int, _ reason: String) -> HTTPResponse = {
    .text($0, $1)
  }
  /// Ms since 1970, for the `Date` of responses.
  package var wallClock: @Sendable () -> Int64

  /// Others of this process may be started at its port, on loops of their own: the kernel shares
  /// out who comes.
  package var sharesPort = false

  package init(wallClock: @escaping @Sendable () -> Int64) { self.wallClock = wallClock }

  /// Of a connection besides: what came behind a request (16 KiB), what waits for the socket
  /// (64 KiB), and with TLS its records there and back, encrypted and not.
  private var connectionBytes: Int { identity == nil ? 80 << 10 : 224 << 10 }

  /// The most that clients can make such a server keep, with answers of so many bytes: a head is
  /// kept as bytes and as texts. A stream keeps two states, one that is read and the newest.
  package func maximumMemoryBytes(answerBytes: Int) -> Int {
    maximumConnections * (4 * maximumHeadBytes + answerBytes + connectionBytes)
      + 2 * (maximumBodiesBytes ?? maximumConnections * maximumBodyBytes)
  }
}

/// A server's certificate and key for TLS.
package struct HTTPServerIdentity: Sendable, Equatable {
  /// The certificate and those between it and the authority's, in PEM.
  package let certificates: String
  /// The certificate's key, in PEM and without a passphrase.
  package let privateKey: String

  package init(certificates: String, privateKey: String) {
    self.certificates = certificates
    self.privateKey = privateKey
  }
}
