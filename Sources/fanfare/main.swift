import Deliver
import EventLoop
import Glibc
import Model
import TLS
import Transport

let port = Int(CommandLine.arguments[1])!
let ca = CommandLine.arguments[2]
let total = Int(CommandLine.arguments[3])!
let conns = Int(CommandLine.arguments[4])!
let streams = Int(CommandLine.arguments[5])!

func wall() -> Int64 {
  var t = timespec()
  clock_gettime(CLOCK_REALTIME, &t)
  return Int64(t.tv_sec) * 1000 + Int64(t.tv_nsec / 1_000_000)
}
func cpu() -> Double {
  var u = rusage()
  getrusage(RUSAGE_SELF, &u)
  return Double(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6
    + Double(u.ru_utime.tv_usec + u.ru_stime.tv_usec)
}
let loop = EventLoop(name: "lane")
let tls = try TLSClientContext(caFile: ca, alpn: ["h2"])
let key = try ES256Key.generate()
let body = Array(
  ("{\"aps\":{\"alert\":{\"title\":\"Aiko is live\",\"body\":\"Hi there, come and watch Speedrun night right now\"},\"sound\":\"default\",\"badge\":3,\"thread-id\":\"live-s42\"},\"stream\":{\"id\":\"b-991\",\"streamer\":\"s42\"},\"n\":\"" + String(repeating: "x", count: 40) + "\"}").utf8)
print("body", body.count)
let (e, c) = try await LoopActor(loop).run { _ in
  var options = DeliverOptions(wallClock: wall) { print($0) }
  options.routes = [.production: APNsRoute(endpoint: Endpoint(host: "127.0.0.1", port: port), tls: tls)]
  options.connectionsPerRoute = conns
  options.streamsPerConnection = streams
  let source = ProviderTokenSource(
    keyID: "ABCDEFGHIJ", teamID: "ABCDEFGHIJ", lifetime: .seconds(3000),
    base64URL: { Base64URL.encode($0) }, sign: { try key.sign($0) })
  let stage = DeliverStage(options: options, tokens: source, loop: loop)
  stage.start()
  while stage.openConnections < conns { await loop.wait(.milliseconds(1)) }
  let tally = SegmentTally()
  let headers = PushHeaders(
    pushType: .alert, priority: 10, topic: "com.example.live", collapseID: "live-s42", expiration: 1_999_999_999,
    expiresAt: wall() + 900_000)
  let page = RecipientPage(fieldNames: [])
  let start = cpu()
  let t0 = wall()
  var n = 0
  while n < total {
    let batch = PushBatch(event: "e1", headers: headers, tally: tally)
    page.bytes.removeAll()
    for _ in 0..<600 where n < total {
      let user = page.bytes.append(utf8: "user-\(n)")
      var token = [UInt8](repeating: 0x61, count: 64)
      var v = n &* 2_654_435_761
      for i in 0..<64 { token[i] = Array("0123456789abcdef".utf8)[(v >> (i % 16)) & 15]; v = v &+ n &* 31 }
      page.bytes.append(utf8: "apns:production:com.example.live:")
      page.bytes.append(token)
      let member = ByteSlice(offset: Int(user.offset) + Int(user.count), count: 97)
      let payload = batch.bytes.append(body)
      batch.append(
        recipient: .init(user: user, firstBinding: 0, bindingCount: 1),
        binding: .init(member: member, token: member.last(64), environment: .production), of: page,
        payload: payload)
      n += 1
    }
    batch.seal()
    await stage.admit(batch)
  }
  while tally.settled < total { await loop.wait(.milliseconds(1)) }
  let used = cpu() - start
  print("accepted", tally.accepted, "settled", tally.settled, "rej", tally.rejections)
  return (Double(wall() - t0), used)
}
print("us/push cpu", c / Double(total), "wall rate", Double(total) / e * 1000)
