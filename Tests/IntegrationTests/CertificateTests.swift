import APNsSimulator
import Assembly
import Deliver
import Glibc
import Pipeline
import Settings
import TestBed
import Testing

/// Workers that show Apple a certificate, and no provider token.
@Suite(.serialized) struct CertificateTests {
  private func files(_ bed: WorkerBed, _ path: String) throws -> CertificateCredentials {
    var settings = Settings.defaults
    settings.apns.caFile = bed.address.authorityFile
    settings.apns.certificateFile = path
    return try CertificateCredentials(settings)
  }

  private func start(_ bed: WorkerBed, _ files: CertificateCredentials) async throws -> Worker {
    try await bed.startWorker {
      $0.credentials = AppCredentials(files.credentials)
      $0.lookAtCredentials = { files.look().map { [PlatformCredentialChange(.apns, $0)] } ?? [] }
      $0.credentialsExpireAt = { files.expiresAt }
    }
  }

  /// As whoever renews it should.
  private func put(_ pem: String, _ bed: WorkerBed) throws {
    try bed.directory.write(pem, to: "next.pem")
    rename(bed.directory.file("next.pem"), bed.directory.file("apns.pem"))
  }

  /// No request says who we are.
  @Test func aWorkerWithACertificateNeedsNoKey() async throws {
    let bed = try await WorkerBed()
    let worker = try await start(bed, files(bed, bed.address.clientCertificateFile))
    let tokens = (0..<500).map { paddedHex($0) }
    try await bed.follow("s1", tokens: tokens)
    try await bed.ready()
    try await bed.emit("e1")
    let status = try await bed.finished("e1")
    #expect(status.accepted == tokens.count && status.isBalanced)
    let summary = await bed.simulator.summary()
    #expect(summary.providerTokens == 0 && summary.byReason.isEmpty && summary.duplicates == 0)
    #expect(await worker.stop())
  }

  @Test func aCertificateIsChangedInTheMiddleOfAFanOut() async throws {
    var script = SimulatorScript()
    script.latency = .milliseconds(20)
    script.streams = 10
    let authority = try BedAuthority()
    let bed = try await WorkerBed(script: script, authority: authority)
    try put(authority.certificate(), bed)
    let files = try files(bed, bed.directory.file("apns.pem"))
    let worker = try await start(bed, files)
    let tokens = (0..<4000).map { paddedHex($0) }
    try await bed.follow("s1", tokens: tokens)
    try await bed.ready()
    try await bed.emit("e1")
    let before = try await bed.until("the fan-out is under way") {
      let summary = await bed.simulator.summary()
      return summary.accepted > 200 ? summary : nil
    }
    #expect(before.accepted < tokens.count)
    try put(authority.certificate(), bed)
    _ = files.look()
    let status = try await bed.finished("e1")
    #expect(status.accepted == tokens.count && status.isBalanced)
    let summary = await bed.simulator.summary()
    #expect(summary.byReason.isEmpty && summary.duplicates == 0)
    // A connection shows the certificate that it was made with, so there are others.
    #expect(summary.connections > before.connections)
    // Half of one is not used.
    try put(String(authority.certificate().dropLast(100)), bed)
    _ = try await bed.until("the broken certificate is refused") {
      bed.sink.lines.contains { $0.contains("have changed and cannot be used") } ? true : nil
    }
    try await bed.follow("s2", tokens: (5000..<5100).map { paddedHex($0) })
    try await bed.emit("e2", streamer: "s2")
    #expect(try await bed.finished("e2").accepted == 100)
    #expect(await worker.stop())
  }

  /// Nothing is sent, nothing is lost, and everybody who asks is told why.
  @Test func anExpiredCertificateLosesNothing() async throws {
    let authority = try BedAuthority()
    let bed = try await WorkerBed(authority: authority)
    try put(authority.certificate(days: -2), bed)
    let worker = try await start(bed, files(bed, bed.directory.file("apns.pem")))
    let tokens = (0..<100).map { paddedHex($0) }
    try await bed.follow("s1", tokens: tokens)
    try await bed.ready()
    let unready = await worker.health().first { $0.name == "credentials" }
    #expect(unready?.trouble == "the certificate has expired")
    try await bed.emit("e1")
    _ = try await bed.until("the obstacle is known") {
      let trouble = await worker.health().first { $0.name == "credentials" }?.trouble ?? ""
      return trouble.contains("production: the certificate has expired (certificate for ")
        ? true : nil
    }
    #expect(bed.sink.lines.contains { $0.contains("the credentials for APNs have expired") })
    #expect(await bed.simulator.summary().requests == 0)
    try put(authority.certificate(), bed)
    let status = try await bed.finished("e1")
    #expect(status.accepted == tokens.count && status.isBalanced && status.rejected.isEmpty)
    #expect(await bed.simulator.summary().duplicates == 0)
    _ = try await bed.until("all is well again") {
      await worker.health().first { $0.name == "credentials" }?.trouble == nil ? true : nil
    }
    #expect(await worker.stop())
  }

  /// The simulator's is for the other environment.
  @Test func aCertificateThatAppleRefusesIsNamed() async throws {
    let bed = try await WorkerBed()
    let worker = try await start(bed, files(bed, bed.address.misplacedCertificateFile))
    try await bed.follow("s1", tokens: (0..<20).map { paddedHex($0) })
    try await bed.ready()
    try await bed.emit("e1")
    _ = try await bed.until("the obstacle is known") {
      let trouble = await worker.health().first { $0.name == "credentials" }?.trouble ?? ""
      return trouble.contains("BadCertificateEnvironment") ? true : nil
    }
    #expect(try await bed.status("e1")?.rejected.isEmpty == true)
    await worker.stop()
  }
}
