import Kafka
import ServerProcesses
import TestBed
import Testing

/// A broker that wants TLS and a login, which the embedded one cannot ask for.
@Suite(
  .serialized, .enabled(if: RealKafka.home != nil, "FANFARE_KAFKA_HOME names no Apache Kafka"))
struct SecuredKafkaTests {
  /// Events, segments, commits and the group go over it; the second worker gets its part.
  @Test func workersShareAnEventOverTLSWithALogin() async throws {
    let bed = try await WorkerBed(kafka: try RealKafka(wantsLogin: true))
    let giant = try await Crowd.large("giant", followers: 20_000, in: bed)
    let fleet = Fleet(bed)
    try await fleet.start(["w1", "w2"])
    try await bed.emit(giant.event, streamer: giant.streamer)
    let status = try await bed.finished(giant.event)
    #expect(status.accepted == giant.pushes)
    let audit = try await Audit.take(of: [giant], in: bed)
    #expect(audit.lost == 0 && audit.duplicates == 0)
    #expect(await fleet.stop("w1") == 0)
    #expect(await fleet.stop("w2") == 0)
  }

  @Test func whatIsWrongIsNamed() throws {
    let kafka = try RealKafka(wantsLogin: true)
    let login = try #require(kafka.login)
    var right = KafkaOptions(bootstrapServers: kafka.bootstrapServers)
    right.securityProtocol = .saslTLS
    right.saslMechanism = "PLAIN"
    right.username = login.username
    right.password = login.password
    right.caFile = login.caFile
    try kafka.createTopics([("t", 1)], as: right)

    func failure(_ change: (inout KafkaOptions) -> Void) -> KafkaError? {
      var options = right
      change(&options)
      do throws(KafkaError) {
        _ = try KafkaAdmin(options, log: { _ in }).metadata(topics: ["t"], timeout: .seconds(6))
        return nil
      } catch {
        return error
      }
    }
    #expect(failure { _ in } == nil)
    let password = try #require(failure { $0.password = "wrong" })
    #expect(password.code == .authentication, "\(password)")
    #expect(!"\(password)".contains("wrong"))
    let user = try #require(failure { $0.username = "nobody" })
    #expect(user.code == .authentication, "\(user)")
    let mechanism = try #require(failure { $0.saslMechanism = "SCRAM-SHA-256" })
    #expect(mechanism.code == .authentication, "\(mechanism)")
    let authority = try #require(failure { $0.caFile = nil })
    #expect(authority.code == .unreachable, "\(authority)")
    #expect("\(authority)".contains("ca_file"), "\(authority)")
    let clear = try #require(failure { $0.securityProtocol = .saslPlaintext })
    #expect(clear.code == .unreachable, "\(clear)")
    #expect("\(clear)".contains("security protocol"), "\(clear)")
  }
}
