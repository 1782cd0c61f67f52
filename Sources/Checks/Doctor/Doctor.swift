import APNs
import Assembly
import Deliver
import EventLoop
import Settings
import SingleRequests
import Text
import Transport

/// A part of what `fanfare doctor` looks at; all of them run at the same time.
package enum DoctorPart: String, Sendable, CaseIterable {
  /// The configuration and the files that it names.
  case files
  /// This machine, or this container.
  case host
  case dns, tls, kafka, redis, apns, fcm
}

/// Everything that can be wrong on this machine and in the services that a process talks to.
package struct Doctor: Sendable {
  private let report: SettingsReport
  private let process: CheckedProcess
  private let timeout: Duration
  private let wallClock: @Sendable () -> Int64
  private let host: HostFacts
  private let names: NameResolver

  /// - Parameters:
  ///   - report: what was read of the configuration.
  ///   - process: whose it is.
  ///   - timeout: how long each question may take; a part asks several.
  ///   - wallClock: ms since 1970.
  ///   - host: what this machine gives.
  ///   - names: looks up the names of servers.
  package init(
    _ report: SettingsReport, for process: CheckedProcess, timeout: Duration,
    wallClock: @escaping @Sendable () -> Int64, host: HostFacts, names: NameResolver = .system
  ) {
    self.report = report
    self.process = process
    self.timeout = timeout
    self.wallClock = wallClock
    self.host = host
    self.names = names
  }

  /// - Parameters:
  ///   - parts: those to look at.
  ///   - file: where the configuration was read.
  /// - Returns: what was found, in the order of the parts.
  package func run(_ parts: [DoctorPart], file: String?) async -> CheckList {
    await withTaskGroup(of: (part: DoctorPart, list: CheckList).self) { group in
      for part in Set(parts) { group.addTask { (part, await look(at: part, file: file)) } }
      var found: [DoctorPart: CheckList] = [:]
      for await result in group { found[result.part] = result.list }
      return DoctorPart.allCases.reduce(into: CheckList(deniesWarnings: false)) { all, part in
        if let list = found[part] { all.append(list) }
      }
    }
  }

  private func look(at part: DoctorPart, file: String?) async -> CheckList {
    var list = CheckList(deniesWarnings: false)
    switch part {
    case .files: _ = Checks.files(report, for: process, file: file, now: wallClock(), &list)
    case .host: HostChecks.run(report.read, for: process, host, &list)
    case .dns: await lookAtNames(&list)
    case .tls: await lookAtHandshakes(&list)
    case .kafka: list.append(await kafka())
    case .redis: await lookAtRedis(&list)
    case .apns: await lookAtApple(&list)
    case .fcm: await lookAtFCM(&list)
    }
    return list
  }

  // MARK: servers

  /// Nil, and a word of it, where the settings do not say them.
  private func servers(_ id: String, _ list: inout CheckList) -> [CheckedServer]? {
    do {
      return try CheckedServer.all(report.read, for: process)
    } catch {
      // `files` says what is wrong.
      list.skipped(id, "not looked at while the configuration is wrong")
      return nil
    }
  }

  private func lookAtNames(_ list: inout CheckList) async {
    guard let servers = servers("dns.names", &list) else { return }
    await DNSChecks.run(servers, names: names, timeout: timeout, &list)
  }

  private func lookAtHandshakes(_ list: inout CheckList) async {
    guard let servers = servers("tls.handshake", &list) else { return }
    await TLSChecks.run(servers, report.read, timeout: timeout, now: wallClock(), &list)
  }

  // MARK: services

  /// On a thread of its own: librdkafka blocks.
  private func kafka() async -> CheckList {
    await EventLoop.temporary("kafka") { (_: isolated LoopActor, _: EventLoop) async -> CheckList in
      var list = CheckList(deniesWarnings: false)
      guard !KafkaChecks.topics(of: process, report.read).isEmpty,
        Checks.mayConnect("kafka", report, &list)
      else { return list }
      KafkaChecks.run(
        report.read, for: process, timeout: timeout,
        examination: KafkaExamination(report.read, for: process), &list)
      return list
    }
  }

  private func lookAtRedis(_ list: inout CheckList) async {
    guard process.asksRedis, Checks.mayConnect("redis", report, &list) else { return }
    list.append(
      await RedisChecks.run(
        report.read, for: process, timeout: timeout, deniesWarnings: false,
        examination: RedisExamination(wallClock: wallClock)))
  }

  private func lookAtApple(_ list: inout CheckList) async {
    guard process.asksApple, Checks.mayConnect("apns", report, &list) else { return }
    // `files` says what it finds of these.
    var unsaid = CheckList(deniesWarnings: false)
    let credentials = FileChecks.credentials(report, now: wallClock(), &unsaid)
    guard !CredentialGroup.all(report.read).isEmpty else { return }
    list.append(
      await APNsChecks.run(
        report.read, credentials, timeout: timeout, deniesWarnings: false, now: wallClock(),
        wallClock: wallClock))
  }

  private func lookAtFCM(_ list: inout CheckList) async {
    guard process.asksApple, report.read.fcm.isConfigured,
      Checks.mayConnect("fcm", report, &list)
    else { return }
    list.append(await FCMChecks.run(report.read, timeout: timeout, deniesWarnings: false))
    guard let route = try? Assembly.deliverRoutes(report.read)[.fcm] else { return }
    // Without a token FCM says no more than that, and the time.
    let question = AppleRequest(
      path: "/v1/projects/-/messages:send", fields: [.init("content-type", "application/json")],
      body: "{}")
    let asked = wallClock()
    let answer = await SingleRequest.ask(question, on: route, authorization: nil, timeout: timeout)
    ClockJudge(id: "fcm.clock", name: "\(route.endpoint)").judge(
      date: answer.field("date"), asked: asked, answered: wallClock(), &list)
  }
}
