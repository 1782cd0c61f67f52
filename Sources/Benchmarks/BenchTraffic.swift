import APNs
import Deliver
import Processes
import ServerProcesses
import TLS
import Telemetry
import Text

/// The request that the sender and h2load both send, so that they are compared on the same work:
/// the same headers, bodies of the same size, and paths that differ.
package enum BenchTraffic {
  package static let connections = 2
  package static let streamsPerConnection = 500
  /// One on each connection: what a process costs that sends nothing to speak of.
  static let idleRequests = connections
  package static let pushType = "alert"
  package static let priority = 10
  package static let collapseID = "live-s42"
  package static let expirySeconds: Int64 = 3_600

  /// Apple allows one stream until it has seen a valid provider token. h2load does not wait to
  /// hear that, and would count what is refused as failed.
  package static let simulatorOptions = ["--first-streams", "1000", "--streams", "1000"]

  /// The go-live push in English, with a number where the name stands.
  package static let payload =
    payloadStart + Array(repeating: 0x30, count: numberDigits) + payloadEnd
  static let numberDigits = 8
  /// Where in `payload` the number stands.
  static let numberOffset = payloadStart.count
  private static let payloadStart = Array(
    #"{"aps":{"alert":{"title":"Aiko is live","body":"Hi "#.utf8)
  private static let payloadEnd = Array(
    (#", tune in now: Speedrun night"},"sound":"default","thread-id":"live-s42"},"#
      + #""stream":{"id":"b-991","streamer":"s42"}}"#).utf8)

  package static let tokenDigits = 64
  /// The last digits of a token; the others are the same for all.
  static let distinctDigits = 16
  static let tokenStart = "9c1a5e0f42d7b8361e9ad4c05b7f2863d1408ce6a97b3f52"

  /// One-to-one, so that distinct numbers give distinct tokens.
  static func tokenEnd(_ number: Int) -> UInt64 {
    SplitMix64.value(of: UInt64(truncatingIfNeeded: number))
  }

  package static func token(_ number: Int) -> String {
    tokenStart + Hexadecimal.text(tokenEnd(number), digits: distinctDigits)
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
  package static func authorization(_ simulator: SimulatorProcess) throws(LocalRunError) -> String {
    do {
      let token = try providerTokens(simulator).token(now: WallClock.nowMilliseconds())
      return String(decoding: token.authorization.bytes, as: UTF8.self)
    } catch let failure as LocalRunError {
      throw failure
    } catch {
      throw LocalRunError(.failed, "\(error)")
    }
  }
}
