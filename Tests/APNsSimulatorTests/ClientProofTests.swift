import Foundation
import TLS
import Testing

@testable import APNsSimulator

/// Clients that show a certificate.
@Suite struct ClientProofTests {
  private func reason(_ reply: Reply) -> String { "\(reply.status) \(reply.text)" }

  private func own(_ bench: Bench) throws -> String {
    try String(contentsOfFile: bench.address.clientCertificateFile, encoding: .utf8)
  }

  @Test func aCertificateStandsForTheToken() async throws {
    try await withSimulator(changed { $0.topics = ["com.example.live", "com.example.other"] }) {
      _, bench in
      let client = try await bench.connect(certificate: self.own(bench))
      #expect(try await client.send(Request(), authorization: nil).status == 200)
      // It has proven itself before its first request.
      #expect(client.streamLimit == 1000)
      #expect(try await client.send(Request(), authorization: "bearer abc").status == 200)
      var other = Request(token: String(repeating: "cd", count: 32))
      other.set("apns-topic", "com.example.other")
      #expect(try await client.send(other, authorization: nil).status == 200)
      // Who shows none needs a token as ever.
      let plain = try await bench.connect()
      let refused = try await plain.send(Request(), authorization: nil)
      #expect(self.reason(refused) == "403 {\"reason\":\"MissingProviderToken\"}")
    }
  }

  @Test func aTopicThatTheCertificateDoesNotNameIsDisallowed() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect(certificate: self.own(bench))
      var request = Request()
      request.set("apns-topic", "com.example.strange")
      let refused = try await client.send(request, authorization: nil)
      #expect(self.reason(refused) == "400 {\"reason\":\"TopicDisallowed\"}")
    }
  }

  @Test func aCertificateOfAnotherAuthorityIsBad() async throws {
    try await withSimulator { _, bench in
      let strange = try ThrowAwayAuthority(hosts: ["localhost"])
        .client(subjectID: "com.example.live", topics: nil)
      let client = try await bench.connect(certificate: strange)
      let refused = try await client.send(Request(), authorization: nil)
      #expect(self.reason(refused) == "403 {\"reason\":\"BadCertificate\"}")
      #expect(client.streamLimit == 1)
    }
  }

  @Test(arguments: [
    (true, false, nil), (true, true, nil), (false, false, RequestFault.badCertificateEnvironment),
    (false, true, nil),
  ])
  func aCertificateForTheSandboxIsOfNoUseInProduction(
    isForProduction: Bool, isDevelopment: Bool, fault: RequestFault?
  ) throws {
    let pem = try ThrowAwayAuthority(hosts: ["localhost"]).client(
      subjectID: "com.example.live", topics: nil, isForProduction: isForProduction)
    let contents = try ClientCertificate(file: Array(pem.utf8), passphrase: nil).contents
    let proof = ClientProof(
      PeerCertificate(contents: contents, isInOrder: true), isDevelopment: isDevelopment)
    #expect(proof.fault == fault)
    let broken = ClientProof(
      PeerCertificate(contents: contents, isInOrder: false), isDevelopment: isDevelopment)
    #expect(broken.fault == .badCertificate)
    for (topic, isAllowed) in [
      ("com.example.live", true), ("com.example.live.voip", false), ("com.example", false),
    ] {
      let allows = Array(topic.utf8).withUnsafeBytes { proof.allows($0) }
      #expect(allows == isAllowed)
    }
  }
}
