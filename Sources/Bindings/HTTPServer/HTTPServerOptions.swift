/// Where a server listens, and what a client may take of it.
package struct HTTPServerOptions: Sendable {
  /// A name or an address.
  package var host = "127.0.0.1"
  /// 0: a free one.
  package var port = 0
  /// When another comes, the one goes that has been quiet for longest, of the client that has the
  /// most. Where each waits for our answer, who comes waits for the first of these.
  package var maximumConnections = 64
  /// The request line and all headers of one request.
  package var maximumHeadBytes = 16 << 10
  package var maximumBodyBytes = 1 << 20
  /// All bodies together that are there or coming: who would need more is told to come again. nil:
  /// what all connections may have.
  package var maximumBodiesBytes: Int?
  /// Clients must speak TLS 1.2 or 1.3, and see this certificate. nil: plain HTTP.
  package var identity: HTTPServerIdentity?
  /// From the first byte that a connection might send, or from the end of its last response, to the
  /// end of the next response. libmicrohttpd itself bounds inactivity only: a client that sends a
  /// byte each second would keep its connection for ever.
  package var exchangeTimeout: Duration = .seconds(10)
  /// What the server itself answers with: a status, and why.
  package var refusal: @Sendable (_ status: Int, _ reason: String) -> HTTPResponse = {
    .text($0, $1)
  }

  /// Others of this process may be started at its port, on loops of their own: the kernel shares
  /// out who comes.
  package var sharesPort = false

  package init() {}

  /// What clients can make such a server keep, with answers of so many bytes: a head is there as it
  /// came and once more as texts, an answer as ours and as libmicrohttpd's.
  package func maximumMemoryBytes(answerBytes: Int) -> Int {
    maximumConnections * (4 * maximumHeadBytes + 2 * answerBytes)
      + 2 * (maximumBodiesBytes ?? maximumConnections * maximumBodyBytes)
  }
}
