import APNs
import LocalStack
import Model
import Processes
import ServerProcesses
import TLS
import Telemetry

/// The common part of all platforms' requests, and Apple's: the sender and h2load both send
/// it, so that they are compared on the same work: the same headers, bodies of the same size, and
/// paths that differ.
package enum BenchTraffic {
  package static let connections = 2
  package static let streamsPerConnection = 500
  /// One on each connection: what a process costs that sends nothing to speak of.
  static let idleRequests = connections
  package static let pushType = "alert"
  package static let priority = 10
  static let topic = LocalStack.app
  package static let collapseID = "live-s42"
  package static let expirySeconds: Int64 = 3_600

  /// Apple allows one stream until it has seen a valid provider token. h2load does not wait to
  /// hear that, and would count what is refused as failed.
  package static let simulatorOptions = ["--first-streams", "1000", "--streams", "1000"]

  /// The go-live push in English, with a number where the name stands.
  package static let payload = NumberedPayload(
    #"{"aps":{"alert":{"title":"Aiko is live","body":"Hi "#,
    #", tune in now: Speedrun night"},"sound":"default","thread-id":"live-s42"},"#
      + #""stream":{"id":"b-991","streamer":"s42"}}"#)

  /// The digits of a token that all have; 16 more differ.
  private static let tokenStart = "9c1a5e0f42d7b8361e9ad4c05b7f2863d1408ce6a97b3f52"
  static let distinctDigits = 16

  package static func token(_ number: Int) -> String {
    tokenStart + SenderTraffic.tokenEnd(number)
  }

  /// A batch has as many bindings as pushes, as batches of a worker have.
  static func traffic() throws(LocalRunError) -> SenderTraffic {
    let binding = try binding(.production, token: token(0))
    return SenderTraffic(
      Array(repeating: binding, count: SenderBatches.batchPushes), distinctDigits: distinctDigits,
      payload: payload)
  }

  static func binding(
    _ destination: Destination, token: String
  ) throws(LocalRunError) -> Binding {
    guard let binding = Binding(destination: destination, topic: topic, token: token) else {
      throw LocalRunError(.failed, "a token of the bench is none of \(destination.name)")
    }
    return binding
  }

  package static func providerTokens(
    _ simulator: SimulatorProcess
  ) throws(LocalRunError) -> ProviderTokenSource {
    let keyFile = try simulator.text("key_file")
    guard let pem = ScratchDirectory.read(keyFile) else {
      throw LocalRunError(.failed, "\(keyFile) cannot be read")
    }
    let key: ES256Key
    do {
      key = try ES256Key(pem: pem)
    } catch {
      throw LocalRunError(.failed, "\(keyFile): \(error)")
    }
    let providerKey = ProviderKey(
      keyID: try simulator.text("key_id"), teamID: try simulator.text("team_id"),
      sign: { try key.sign($0) })
    return ProviderTokenSource(
      key: providerKey, lifetime: .seconds(50 * 60),
      monotonic: { MonotonicClock.nowNanoseconds() })
  }

  /// The value of the `authorization` header.
  private static func authorization(
    _ simulator: SimulatorProcess
  ) throws(LocalRunError) -> String {
    do {
      let token = try providerTokens(simulator).token(now: WallClock.nowMilliseconds())
      return String(decoding: token.authorization.bytes, as: UTF8.self)
    } catch let failure as LocalRunError {
      throw failure
    } catch {
      throw LocalRunError(.failed, "\(error)")
    }
  }

  static func request(_ simulator: SimulatorProcess) throws(LocalRunError) -> LoadRequest {
    let authorization = try authorization(simulator)
    return LoadRequest(body: payload.bytes, paths: .distinct { "/3/device/\(token($0))" }) {
      let expiration = WallClock.nowMilliseconds() / 1_000 + expirySeconds
      return [
        ("authorization", authorization), ("apns-id", "123e4567-e89b-42d3-a456-426614174000"),
        ("apns-topic", topic), ("apns-push-type", pushType), ("apns-priority", "\(priority)"),
        ("apns-expiration", "\(expiration)"), ("apns-collapse-id", collapseID),
      ]
    }
  }
}
