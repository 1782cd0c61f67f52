import Transport

/// What a node says of a command that it did not do because its slot is, or is going, elsewhere.
package enum ClusterRedirect: Equatable {
  /// The slot is the other node's, for good. No endpoint: a node whose name is not known.
  case moved(slot: Int, to: Endpoint?)
  /// This key is the other node's already, while its slot is being moved.
  case ask(Endpoint?)
  /// Of several keys some are here and some there.
  case tryAgain

  /// Nil: an error like any other. `answering` is who said it: an empty host means that one.
  package init?(_ error: RedisErrorReply, from answering: Endpoint) {
    switch error.kind {
    case .tryAgain: self = .tryAgain
    case .moved, .ask:
      // `MOVED 3999 127.0.0.1:6381`; an IPv6 address has no brackets.
      let words = error.message.split(separator: " ")
      guard words.count >= 3, let slot = Int(words[1]), (0..<RedisSlot.count).contains(slot),
        let colon = words[2].lastIndex(of: ":"),
        let port = Int(words[2][words[2].index(after: colon)...]), (1...65_535).contains(port)
      else { return nil }
      let host = String(words[2][..<colon])
      let endpoint =
        host == "?"
        ? nil : Endpoint(host: host.isEmpty ? answering.host : host, port: port)
      self = error.kind == .moved ? .moved(slot: slot, to: endpoint) : .ask(endpoint)
    default: return nil
    }
  }
}
